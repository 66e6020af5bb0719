"""What other services cost: questions of proxies and services, and tokens for services.

A question is measured beside a guarded view of the same user, in the process and over HTTP. A token
is measured beside PyJWT, which signs the same claims by the same key.
"""

import io
import itertools
import json
import logging
import shutil
import statistics

import jwt
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.load.bench import measure, print_table
from tests.load.bench.requests import request, view
from tests.load.bench.served import ROUNDS, requests_per_second
from tests.load.bench.sites import Site
from tests.support.service_keys import ISSUER, REPORTS, new_key, pem_of, write_key
from tests.support.sites import serving, spawned
from wsgiauth import User
from wsgiauth.features.services.introspection import INTROSPECT
from wsgiauth.testing import api_key

PEOPLE = 10_000
SOME = 1_000  # tokens for services, and API keys
VIEW, POSTED = "a guarded view", "the same, sent a form"
ALGORITHMS = ("ES256", "EdDSA", "RS256")
FORM = "application/x-www-form-urlencoded"
FORWARDED = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/"}


class Services:
    """A site with tokens for services, and a service that can ask about tokens."""

    def __init__(self, folder, algorithm="ES256"):
        self.key = new_key(algorithm)
        settings = {
            "FORWARD_AUTH": True,
            "SERVICE_KEYS": str(write_key(folder / algorithm, pem_of(self.key))),
            "SERVICES": (REPORTS,),
            "PUBLIC_URL": ISSUER,
        }
        self.site = Site(f"sqlite:///{folder}/{algorithm}.db", view, PEOPLE, **settings)
        asking = User.objects.get(id=PEOPLE)
        asking.grant(INTROSPECT)
        self.credentials = api_key(self.site.app, asking, [INTROSPECT])["Authorization"]

    def post(self, path, body, content_type, authorization):
        (answer,) = request(
            self.site.app,
            path,
            REQUEST_METHOD="POST",
            CONTENT_TYPE=content_type,
            CONTENT_LENGTH=str(len(body)),
            HTTP_ACCEPT="*/*",
            HTTP_AUTHORIZATION=authorization,
            **{"wsgi.input": io.BytesIO(body)},
        )
        return answer

    def ask(self, token):
        return self.post("/auth/introspect", b"token=" + token.encode(), FORM, self.credentials)

    def token_by(self, credential, scope="bench.read"):
        """Return a token for a service, which an API key or a session gets."""
        body = json.dumps({"audience": REPORTS, "scope": scope}).encode()
        answer = self.post("/auth/token", body, "application/json", f"Bearer {credential}")
        return json.loads(answer)["access_token"]


def questions(folder):
    """Return what a question costs, by what is asked."""
    services = Services(folder)
    tokens, keys = services.site.tokens(PEOPLE), services.site.keys(SOME)
    of_services = [services.token_by(token) for token in tokens[:SOME]]
    viewed, checked = itertools.cycle(tokens), itertools.cycle(tokens)

    def cookie(token, path="/", **headers):
        request(services.site.app, path, HTTP_COOKIE=f"wsgiauth={token}", **headers)

    def asking(about, answer):
        for token in about:
            assert services.ask(token).startswith(answer)
        again = itertools.cycle(about)
        return lambda: services.ask(next(again))

    forwarded = {f"HTTP_{name.replace('-', '_').upper()}": FORWARDED[name] for name in FORWARDED}
    for token in tokens:
        cookie(token)
    active = b'{"active":true'
    actions = {
        VIEW: lambda: cookie(next(viewed)),
        "/auth/check": lambda: cookie(next(checked), "/auth/check", **forwarded),
        "/auth/introspect, an access token": asking(tokens, active),
        "/auth/introspect, an API key": asking(keys, active),
        "/auth/introspect, a service token": asking(of_services, active),
        "/auth/introspect, garbage": asking(["garbage"], b'{"active":false'),
    }
    return measure(actions, rounds=41, calls=200)


def issuing(folder):
    """Return what a token for a service costs, by algorithm and by who makes it."""
    actions = {}
    for algorithm in ALGORITHMS:
        services = Services(folder, algorithm)
        sessions = itertools.cycle(services.site.tokens(PEOPLE))
        claims = jwt.decode(services.token_by(next(sessions)), options={"verify_signature": False})
        key = load_pem_private_key(pem_of(services.key), password=None)

        def issue(services=services, sessions=sessions):
            services.token_by(next(sessions))

        def encode(claims=claims, key=key, algorithm=algorithm):
            jwt.encode(claims, key, algorithm)

        actions[algorithm, "ours"], actions[algorithm, "PyJWT"] = issue, encode
    return measure(actions, rounds=21, calls=50)


def serve(folder, pipe):
    """Serve the site until told otherwise."""
    logging.disable()
    services = Services(folder)
    token = services.site.tokens(1)[0]
    with serving(services.site.app) as address:
        pipe.send((address, services.credentials, token, services.token_by(token)))
        pipe.recv()


def over_http(folder):
    """Return requests a second over HTTP, by what is asked; each is a median.

    A view and /auth/check are asked over a new connection each, as nginx does, and because waitress
    closes a connection after a 204.
    """
    counted = {}
    with spawned(serve, folder) as (_, (address, service, token, of_service)):
        cookie = {"Cookie": f"wsgiauth={token}"}
        asking = {"Authorization": service, "Content-Type": FORM}
        once, asked = {"Connection": "close"}, f"{address}/auth/introspect"
        cases = {
            VIEW: (address, cookie | once, None),
            "/auth/check": (f"{address}/auth/check", cookie | FORWARDED | once, None),
            POSTED: (address, {"Authorization": f"Bearer {token}"}, f"token={token}"),
            "/auth/introspect, an access token": (asked, asking, f"token={token}"),
            "/auth/introspect, a service token": (asked, asking, f"token={of_service}"),
        }
        for _ in range(ROUNDS):
            for name, (url, headers, body) in cases.items():
                lines = [f"{each}: {value}" for each, value in headers.items()]
                rate = requests_per_second(url, 1, *lines, script=_script(folder, body))
                counted.setdefault(name, []).append(rate)
    return {name: statistics.median(rates) for name, rates in counted.items()}


def _script(folder, body):
    """Return the options of wrk that send a body."""
    if body is None:
        return ()
    script = folder / "post.lua"
    script.write_text(f'wrk.method = "POST"\nwrk.body = "{body}"\n')
    return ("-s", str(script))


def report(folder):
    """Print the tables."""
    costs = questions(folder)
    print(f"\nA question, in µs, with {PEOPLE} users and sessions; token seen before")
    rows = ((name, cost, cost / costs[VIEW]) for name, cost in costs.items())
    print_table(("question", "µs", "of the view"), *rows)
    (folder / "issuing").mkdir()
    made = issuing(folder / "issuing")
    print("\nA token for a service: the whole request to /auth/token, and jwt.encode alone, in µs")
    print_table(
        ("algorithm", "/auth/token", "jwt.encode", "times"),
        *(
            (
                each,
                made[each, "ours"],
                made[each, "PyJWT"],
                made[each, "ours"] / made[each, "PyJWT"],
            )
            for each in ALGORITHMS
        ),
    )
    if shutil.which("wrk") is None:
        print("\nwrk is not installed: questions over HTTP are left out")
        return
    (folder / "served").mkdir()
    rates = over_http(folder / "served")
    print("\nQuestions a second over HTTP, one at a time, and the time relative to a view")
    floors = {name: POSTED if "introspect" in name else VIEW for name in rates}
    rows = ((name, rate, rates[floors[name]] / rate) for name, rate in rates.items())
    print_table(("question", "a second", "time, of the view"), *rows)
