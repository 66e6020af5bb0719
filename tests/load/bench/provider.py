"""What logins to other apps cost: the redirect of a known consent, and requests for tokens.

The redirect is measured over HTTP beside a guarded view, which answers with a name: as it is, and
with the same query, which the server has to read, too. /auth/sessions is a page for logged-in
users. Token requests are measured in the process, by processor time, because the commit waits for
the disk.
"""

import io
import json
import logging
import shutil
import statistics
import time
from base64 import b64encode
from collections import deque
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.load.bench import measure, print_table
from tests.load.bench.requests import ENVIRON, request, view
from tests.load.bench.served import ROUNDS, requests_per_second
from tests.load.bench.sites import Site
from tests.support.oauth_apps import AUTHORIZE, CALLBACK, ISSUER, TOKEN, VERIFIER, App, code_in
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.sites import serving, spawned
from wsgiauth import User, storage
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.tables import Client

PEOPLE = 10_000
ALGORITHM = "ES256"
FORM = "application/x-www-form-urlencoded"
VIEW, SAME = "a guarded view", "the same, with the query of the app"
PAGE, REDIRECT = "/auth/sessions", "/auth/authorize, a known consent"
CODE, REFRESH = "a code", "a refresh token"
CALLS, TURNS = 20, 21


class Provider:
    """A site whose users have allowed an app to know who they are."""

    def __init__(self, folder):
        self.key = new_key(ALGORITHM)
        settings = {
            "OAUTH_SERVER": True,
            "PUBLIC_URL": ISSUER,
            "SERVICE_KEYS": str(write_key(folder / ALGORITHM, pem_of(self.key))),
        }
        self.site = Site(f"sqlite:///{folder}/provider.db", view, PEOPLE, **settings)
        self.app = App(self.site.app)
        self.path = self.app.url()
        self._basic = b64encode(f"{self.app.id}:{self.app.secret}".encode()).decode()
        with storage.context.using(self.site.app.database):
            client, now = Client.get(), time.time()
            for user in User.select().where(User.id <= CALLS * TURNS):
                grants.allow(client, user, ["openid", "profile", "email"], now)

    def sessions(self):
        """Return tokens of the sessions of the users with a consent."""
        return self.site.tokens(PEOPLE)[: CALLS * TURNS]

    def code(self, session):
        """Return a code from the redirect that a session gets."""
        locations = []

        def start_response(status, headers, exc_info=None):
            locations.append(dict(headers)["Location"])

        query = {"QUERY_STRING": self.path.partition("?")[2], "PATH_INFO": AUTHORIZE}
        self.site.app(ENVIRON | query | {"HTTP_COOKIE": f"wsgiauth={session}"}, start_response)
        return code_in(locations[0])

    def exchange(self, **fields):
        """Return the tokens for a code or a refresh token."""
        body = urlencode(fields).encode()
        (answer,) = request(
            self.site.app,
            TOKEN,
            REQUEST_METHOD="POST",
            CONTENT_TYPE=FORM,
            CONTENT_LENGTH=str(len(body)),
            HTTP_AUTHORIZATION=f"Basic {self._basic}",
            **{"wsgi.input": io.BytesIO(body)},
        )
        return json.loads(answer)

    def exchange_code(self, code):
        """Return the tokens for a code."""
        pkce = {"redirect_uri": CALLBACK, "code_verifier": VERIFIER}
        return self.exchange(grant_type="authorization_code", code=code, **pkce)


def issuing(folder):
    """Return the processor time of token requests, and of signing two tokens by PyJWT."""
    provider = Provider(folder)
    sessions = provider.sessions()
    tokens = [provider.exchange_code(provider.code(each)) for each in sessions[:CALLS]]
    refresh_tokens = deque(each["refresh_token"] for each in tokens)
    claims = [
        jwt.decode(tokens[0][each], options={"verify_signature": False})
        for each in ("access_token", "id_token")
    ]
    key = load_pem_private_key(pem_of(provider.key), password=None)
    codes = iter([provider.code(each) for each in sessions])  # valid for a minute

    def refresh():
        token = refresh_tokens.popleft()
        answer = provider.exchange(grant_type="refresh_token", refresh_token=token)
        refresh_tokens.append(answer["refresh_token"])

    actions = {
        CODE: lambda: provider.exchange_code(next(codes)),
        REFRESH: refresh,
        "jwt.encode, twice": lambda: [jwt.encode(each, key, ALGORITHM) for each in claims],
    }
    return measure(actions, rounds=TURNS, calls=CALLS, clock=time.process_time)


def serve(folder, pipe):
    """Serve the site until told otherwise."""
    logging.disable()
    provider = Provider(folder)
    with serving(provider.site.app) as address:
        pipe.send((address, provider.path, provider.sessions()[0]))
        pipe.recv()


def over_http(folder):
    """Return requests a second over one connection, by what is asked; each is a median."""
    counted = {}
    with spawned(serve, folder) as (_, (address, path, session)):
        query = path.partition("?")[2]
        cases = {VIEW: "/", SAME: f"/?{query}", PAGE: PAGE, REDIRECT: path}
        for _ in range(ROUNDS):
            for name, asked in cases.items():
                rate = requests_per_second(f"{address}{asked}", 1, f"Cookie: wsgiauth={session}")
                counted.setdefault(name, []).append(rate)
    return {name: statistics.median(rates) for name, rates in counted.items()}


def report(folder):
    """Print the tables."""
    for each in ("issuing", "served"):
        (folder / each).mkdir()
    costs = issuing(folder / "issuing")
    print(f"\nA request for tokens ({ALGORITHM}) in the process: processor time in µs")
    print_table(("request", "µs"), *costs.items())
    if shutil.which("wrk") is None:
        print("\nwrk is not installed: the redirect is left out")
        return
    rates = over_http(folder / "served")
    print("\nRequests a second over HTTP, one at a time, and the time relative to a view")
    rows = ((name, rate, rates[VIEW] / rate) for name, rate in rates.items())
    print_table(("request", "a second", "time, of the view"), *rows)
