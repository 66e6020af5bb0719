"""What a request costs in the process: wsgiauth beside nothing, its floor, and its peers."""

import hmac
import itertools
import json
import sqlite3
import time
from binascii import a2b_base64
from dataclasses import replace
from wsgiref.util import setup_testing_defaults

import jwt

from tests.load.bench import measure, print_table
from tests.load.bench.sites import Site
from tests.load.peers import Peer, check, peers
from tests.support.sites import SECRET_KEY
from wsgiauth import AuthMiddleware, login_required
from wsgiauth.feature import Feature

PEOPLE = 10_000
ENVIRON = {  # as waitress fills it for a browser
    "REMOTE_ADDR": "127.0.0.1",
    "REMOTE_PORT": "50000",
    "REQUEST_METHOD": "GET",
    "REQUEST_URI": "/",
    "SCRIPT_NAME": "",
    "PATH_INFO": "/",
    "QUERY_STRING": "",
    "HTTP_USER_AGENT": "Mozilla/5.0 (X11; Linux x86_64)",
    "HTTP_ACCEPT": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "HTTP_ACCEPT_LANGUAGE": "en",
    "HTTP_ACCEPT_ENCODING": "gzip, deflate, br",
    "HTTP_CONNECTION": "keep-alive",
    "HTTP_SEC_FETCH_SITE": "none",
    "wsgi.input_terminated": True,
}
setup_testing_defaults(ENVIRON)

FLOOR = "floor: HMAC, json.loads, SELECT"
SECOND = "the same, of a second site"
WITH_FEATURES = "the same, with ten empty features"
EMPTY = tuple(Feature(name=f"empty{number}") for number in range(10))

# What is asked of the database on every request.
SELECT = """
    SELECT u.id, u.username FROM wsgiauth_user u JOIN wsgiauth_session s ON s.user_id = u.id
    WHERE s.id = ? AND s.expires_at > ? AND s.stamp = u.security_stamp AND u.is_active
"""


def nothing(environ, start_response):
    """Answer nothing, as fast as can be."""
    return ()


@login_required
def view(environ, start_response):
    """Answer as the peers do."""
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    return [environ["wsgiauth.user"].username.encode()]


def floor(path):
    """Return what verifies a token and finds its user with the standard library alone."""
    key, from_url = SECRET_KEY.encode(), bytes.maketrans(b"-_", b"+/")
    cursor = sqlite3.connect(path).cursor()

    def find(token):
        signed, _, signature = token.encode().rpartition(b".")
        expected = hmac.digest(key, signed, "sha256")
        if not hmac.compare_digest(a2b_base64(signature.translate(from_url) + b"=="), expected):
            return None
        payload = signed.partition(b".")[2].translate(from_url)
        claims = json.loads(a2b_base64(payload + b"=="))
        now = int(time.time())
        if claims["exp"] <= now:
            return None
        return cursor.execute(SELECT, (claims["jti"], now)).fetchone()

    return find


def by_hand(path):
    """Return an application that does the work of the floor, and nothing else."""
    find = floor(path)

    def app(environ, start_response):
        assert find(environ["HTTP_AUTHORIZATION"][7:]) is not None
        return ()

    return app


def identifying(site):
    """Return what identifying a caller costs, by who calls; and its floors.

    Args:
        site: A site of which every second login moves while it is used, and the others are fixed.
    """
    issued = site.tokens(PEOPLE)
    moving, tokens = issued[::2], issued[1::2]
    for token in tokens:
        assert floor(site.path)(token) is not None
    seen, again, wider, verified, decoded, cookies, profiles = map(itertools.cycle, [tokens] * 7)
    second = AuthMiddleware(nothing, site.settings)
    wide = AuthMiddleware(nothing, replace(site.settings, FEATURES=EMPTY))
    kept_alive = itertools.cycle(moving)
    never_seen = site.never_seen(PEOPLE)
    made = site.keys(PEOPLE // 10)
    for key in made:  # writes that it was used
        request(site.app, HTTP_AUTHORIZATION=f"Bearer {key}")
    api_keys = itertools.cycle(made)
    garbage = (f"{token[:-8]}{number:08}" for number, token in enumerate(itertools.cycle(tokens)))
    bare = by_hand(site.path)

    def bearer(token, path="/", app=site.app):
        request(app, path, HTTP_AUTHORIZATION=f"Bearer {token}")

    def cookie(token):
        request(site.app, HTTP_COOKIE=f"wsgiauth={token}")

    for token in issued:
        for each in (site.app, second, wide):
            bearer(token, app=each)
    actions = {
        "no middleware": lambda: request(nothing),
        "anonymous": lambda: request(site.app),
        "bearer, seen before": lambda: bearer(next(seen)),
        SECOND: lambda: bearer(next(again), app=second),
        WITH_FEATURES: lambda: bearer(next(wider), app=wide),
        "bearer, never seen": lambda: bearer(next(never_seen)),
        "API key": lambda: bearer(next(api_keys)),
        "cookie, seen before": lambda: cookie(next(cookies)),
        "the same, of a login that moves": lambda: cookie(next(kept_alive)),
        "garbage token": lambda: bearer(next(garbage)),
        "/auth/me": lambda: bearer(next(profiles), "/auth/me"),
        FLOOR: lambda: bearer(next(verified), app=bare),
        "jwt.decode": lambda: jwt.decode(next(decoded), SECRET_KEY, algorithms=["HS256"]),
    }
    return measure(actions, rounds=41, calls=200)


def request(app, path="/", **headers):
    """Send a request to an application and return the answer."""
    return app({**ENVIRON, "PATH_INFO": path, **headers}, _start_response)


def _start_response(status, headers, exc_info=None):
    return len


class Ours(Peer):
    """A guarded view behind wsgiauth, asked as the peers are."""

    def __init__(self, site):
        self._app = site.app
        tokens = site.tokens(PEOPLE)
        self.token = tokens[0]
        self.tokens = site.never_seen(PEOPLE)
        for token in tokens:
            assert self.request(token).status == 200


def beside_peers(folder):
    """Return what a request for a guarded view costs, by peer: token seen before, and never."""
    all_peers = peers(folder, PEOPLE, PEOPLE)
    for peer in all_peers.values():
        check(peer)
    all_peers["wsgiauth"] = Ours(Site(f"sqlite:///{folder}/view.db", view, PEOPLE))
    actions = {}
    for name, peer in all_peers.items():
        actions[name, "seen"] = lambda peer=peer: peer.request(peer.token)
        actions[name, "never"] = lambda peer=peer: peer.request(next(peer.tokens))
    medians = measure(actions, rounds=31, calls=50)
    return {name: (medians[name, "seen"], medians[name, "never"]) for name in all_peers}


def report(folder):
    """Print both tables; return the rows for the figure."""
    costs = identifying(Site(f"sqlite:///{folder}/identify.db", nothing, PEOPLE, idle=3600))
    base = costs[FLOOR]
    print(f"\nA request, in µs, on SQLite with {PEOPLE} users and sessions")
    print_table(
        ("caller", "µs", "of the floor"),
        *((name, cost, cost / base) for name, cost in costs.items()),
    )
    print(f"\nanonymous adds {costs['anonymous'] - costs['no middleware']:.2f} µs")
    compared = beside_peers(folder)
    ours = compared["wsgiauth"]
    print("\nA request for a guarded view, in µs, and how many times wsgiauth's")
    print_table(
        ("stack", "seen before", "times", "never seen", "times"),
        *(
            (name, seen, seen / ours[0], never, never / ours[1])
            for name, (seen, never) in sorted(compared.items(), key=lambda row: row[1])
        ),
    )
    return costs, compared
