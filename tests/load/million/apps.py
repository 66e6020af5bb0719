"""100,000 apps with 1,000,000 grants, beside a hundredth: `python -m tests.load.million.apps`.

On SQLite, PostgreSQL and MariaDB, or those that are named. Beside the times, each statement must
find its rows by an index, in the plan that the large database makes for it.
"""

import logging
import random
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from hashlib import md5
from itertools import chain, count
from json import loads
from pathlib import Path
from urllib.parse import urlencode

from tests.load.bench.sites import Site, session_id
from tests.load.million.comparing import compare_all
from tests.load.million.plans import TABLES, scanned
from tests.load.million.requests import as_user
from tests.load.million.site import Asked
from tests.support.oauth_apps import (
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    DEVICE_GRANT,
    ISSUER,
    REGISTER,
    TOKEN,
    USERINFO,
    VERIFIER,
    challenge_of,
    code_in,
)
from tests.support.own_databases import own_database
from tests.support.service_keys import write_key
from tests.support.sites import BROWSER, SECRET_KEY, echo
from tests.support.statements import recording
from wsgiauth import AuthMiddleware, Settings, User, storage
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client, Consent, Grant
from wsgiauth.features.services.introspection import INTROSPECT
from wsgiauth.storage.schema import migrate
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.testing import api_key

DRIVERS = {"sqlite": "sqlite", "postgresql": "postgres", "mariadb": "mysql"}
SMALL, LARGE = 1_000, 100_000  # users, and as many clients
EACH = 10  # consents and grants of each user
REGISTERED = 5_000  # clients that registered themselves, at any size: their number is limited
REMOVED = 100  # clients that only `client remove` uses
PURGED = 1_000
SCOPES = "email openid profile"
DAY = 86_400  # seconds

# The columns of the rows, which end with the values below; the others have their defaults.
OF_CLIENT = (
    "id",
    "redirect_uris",
    "created_at",
    "expires_at",
    "name",
    "name_key",
    "scopes",
    "is_public",
)
CLIENT = ("Wiki", "wiki", SCOPES, True)
OF_CONSENT = ("user_id", "client_id", "scopes", "created_at")
OF_GRANT = (
    *("id", "client_id", "user_id", "session_id", "expires_at", "sid", "stamp", "scopes"),
    *("resource", "is_offline", "generation", "refreshed_at", "authenticated_at", "methods"),
    "created_at",
)
GRANT = ("sid", 0, SCOPES, "", False, 1, 0, 0, "pwd", 0)


class Apps(Asked):
    """A site with apps that its users have allowed.

    Args:
        settings: Of a filled database.
        number: How many users and clients it has.
        unused: The numbers of its grants that no request has used, in any order.
    """

    def __init__(self, settings, number, unused):
        super().__init__(AuthMiddleware(echo, settings))
        self.number, self._unused = number, unused
        with self.using():
            service = User.get_by_id(number)
            service.grant(INTROSPECT)
            self.service = api_key(self.app, service, [INTROSPECT])["Authorization"]

    def user(self):
        """Return the number of any user, whose grants are not among the unused ones."""
        return self.chance.randrange(1, self.number // 2)

    def session(self, user):
        """Return the token of the session of a user."""
        return self.site.tokens.issue(user, session_id(user), int(time.time()) + 1000)

    def allowed(self, user):
        """Return the id of a client that a user has allowed."""
        return client_id((user * EACH + self.chance.randrange(EACH)) % self.number)

    def refresh_token(self):
        """Return a refresh token of a grant that was not used yet, and the id of its client."""
        grant = next(self._unused)
        tokens = self.site.require(OAuthServer).refresh_tokens
        return tokens.issue(grant_id(grant), 1), client_id(grant % self.number)

    def post(self, path, **fields):
        """Send a form of a program; return the seconds that it takes, and the answer."""
        return self.ask("POST", path, urlencode(fields).encode())

    def redirect(self, user, client):
        """Return the seconds that the redirect of a known consent takes, and its URL."""
        cookie = f"wsgiauth={self.session(user)}"
        url = url_of(AUTHORIZE, client)
        seconds, headers, _ = self.ask_for_headers("GET", url, status=(303,), HTTP_COOKIE=cookie)
        return seconds, headers["Location"]

    def tokens(self):
        """Return the seconds that the exchange of a code takes, and the tokens."""
        user = self.user()
        client = self.allowed(user)
        code = code_in(self.redirect(user, client)[1])
        pkce = {"redirect_uri": CALLBACK, "code_verifier": VERIFIER}
        form = {"grant_type": "authorization_code", "client_id": client, "code": code, **pkce}
        return self.post(TOKEN, **form)


def client_id(number):
    return md5(b"client %d" % number, usedforsecurity=False).hexdigest()[:20]


def grant_id(number):
    return md5(b"grant %d" % number, usedforsecurity=False).hexdigest()[:22]


def url_of(path, client):
    query = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": CALLBACK,
        "scope": SCOPES,
        "state": "state",
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
    }
    return f"{path}?{urlencode(query)}"


def fill(database, number):
    """Insert clients, and the consents and grants of the users."""
    end = int(time.time()) + 14 * DAY
    pairs = [(n // EACH, client_id(n % number)) for n in range(EACH, (number + 1) * EACH)]
    removed = range(number, number + REMOVED)
    pairs += [(number - n, client_id(each)) for each in removed for n in range(EACH)]
    of_operators = ((client_id(n), CALLBACK, 0, None, *CLIENT) for n in range(removed.stop))
    registered = ((f"registered{n}", CALLBACK, 0, end - n, *CLIENT) for n in range(REGISTERED))
    _insert(database, Client, OF_CLIENT, chain(of_operators, registered))
    _insert(database, Consent, OF_CONSENT, ((*pair, SCOPES, 0) for pair in pairs))
    rows = (
        (grant_id(n), client, user, session_id(user), end + n % DAY, *GRANT)
        for n, (user, client) in enumerate(pairs, EACH)
    )
    _insert(database, Grant, OF_GRANT, rows)


def _insert(database, model, columns, rows):
    """Insert rows, with the defaults of the columns that they lack."""
    lacking = {
        field.column_name: default
        for field, default in model._meta.defaults.items()
        if field.column_name not in columns
    }
    names = (*columns, *lacking)
    places = ", ".join([database.param] * len(names))  # alone, PyMySQL sends many rows at once
    sql = f"INSERT INTO {model._meta.table_name} ({', '.join(names)}) VALUES ({places})"  # noqa: S608
    with database.atomic():
        database.cursor().executemany(sql, [(*row, *lacking.values()) for row in rows])


def authorize(site):
    user = site.user()
    return site.redirect(user, site.allowed(user))[0]


def consent(site):
    user = site.user()
    path = url_of(CONSENT, client_id((user * EACH + EACH) % site.number))
    sent = {"decision": "allow", "scope": SCOPES}
    return site.ask("POST", path, sent, **as_user(site.session(user)))[0]


def refresh(site):
    token, client = site.refresh_token()
    form = {"grant_type": "refresh_token", "client_id": client, "refresh_token": token}
    return site.post(TOKEN, **form)[0]


def revoke_token(site):
    token, client = site.refresh_token()
    return site.post("/auth/oauth/revoke", client_id=client, token=token)[0]


def introspect(site):
    body = urlencode({"token": site.refresh_token()[0]}).encode()
    seconds, answer = site.ask("POST", "/auth/introspect", body, HTTP_AUTHORIZATION=site.service)
    if b'"active":true' not in answer:
        raise RuntimeError(answer)
    return seconds


def userinfo(site):
    return site.ask("GET", USERINFO, **as_user(loads(site.tokens()[1])["access_token"]))[0]


def list_apps(site):
    token = site.session(site.user())
    return site.ask("GET", "/auth/apps", **as_user(token), HTTP_ACCEPT=BROWSER["Accept"])[0]


def revoke_app(site):
    user = site.user()
    sent = {"revoke": site.allowed(user)}
    return site.ask("POST", "/auth/apps", sent, (200, 404), **as_user(site.session(user)))[0]


def device(site):
    """Begin and allow a device, and let it have its tokens."""
    user = site.user()
    client = site.allowed(user)
    begun, codes = site.post("/auth/oauth/device", client_id=client, scope="openid")
    codes = loads(codes)
    sent = {"user_code": codes["user_code"], "decision": "allow", "scope": "openid"}
    allowed = site.ask("POST", "/auth/device", sent, **as_user(site.session(user)))[0]
    form = {"client_id": client, "device_code": codes["device_code"]}
    return begun + allowed + site.post(TOKEN, grant_type=DEVICE_GRANT, **form)[0]


def register(site):
    return site.ask("POST", REGISTER, {"redirect_uris": [CALLBACK]}, (201,))[0]


def remove_client(site):
    """Remove a client with its consents and grants, as a command does."""
    with site.using():
        client = Client.get_by_id(client_id(site.number + next(_removed[site.number])))
        begun = time.perf_counter()
        clients.remove(client)
        return time.perf_counter() - begun


def count_users(site):
    with site.using():
        client = Client(id=site.allowed(site.user()))
        begun = time.perf_counter()
        clients.count_users(client)
        return time.perf_counter() - begun


def purge(site):
    """Purge expired grants, and clients that have registered themselves."""
    with site.using():
        numbers = range(PURGED)
        rows = [(f"expired{n}", CALLBACK, 0, 1, *CLIENT) for n in numbers]
        _insert(site.database, Client, OF_CLIENT, rows)
        grants = ((f"expired{n}", f"expired{n}", 1, None, 1, *GRANT) for n in numbers)
        _insert(site.database, Grant, OF_GRANT, grants)
        begun = time.perf_counter()
        found = purge_expired(Grant, time.time()), purge_expired(Client, time.time())
        seconds = time.perf_counter() - begun
        if found != (PURGED, PURGED):
            raise RuntimeError(f"{found} rows were purged")
    return seconds


_removed = defaultdict(count)  # how many clients were removed, by the size
MEASURED = {
    "/auth/authorize, a known consent": authorize,
    "/auth/consent": consent,
    "/auth/oauth/token, a code": lambda site: site.tokens()[0],
    "/auth/oauth/token, a refresh token": refresh,
    "/auth/userinfo": userinfo,
    "/auth/introspect": introspect,
    "/auth/oauth/revoke": revoke_token,
    "/auth/apps": list_apps,
    "/auth/apps, an app revoked": revoke_app,
    "a device, from its code to its tokens": device,
    "/auth/oauth/register": register,
    "client remove": remove_client,
    "the users of a client": count_users,
    "purge of 1,000 grants and 1,000 clients": purge,
}


def main(kinds):
    logging.disable(logging.CRITICAL)
    return 0 if min([measure(kind) for kind in kinds]) else 1


def measure(kind):
    """Print plans and times on a kind of database; return whether all are as they should be."""
    _removed.clear()
    with ExitStack() as opened:
        small, large = (opened.enter_context(filled(kind, number)) for number in (SMALL, LARGE))
        unused = _unused(LARGE)
        with recording(DRIVERS[kind]) as recorded:
            site = Apps(large, LARGE, unused)
            for each in MEASURED.values():
                each(site)
            found = scanned(kind, site.database, recorded.statements.values())
        print(f"\n{kind}: {len(recorded.statements)} statements")
        print(f"Not on an index: {found or 'none'}")
        sites = [Apps(small, SMALL, _unused(SMALL)), Apps(large, LARGE, unused)]
        for each in sites:
            opened.callback(each.close)
        print(f"{'ms':42}{SMALL * EACH:>9,}{LARGE * EACH:>11,}{'times':>7}")
        return compare_all(MEASURED, *sites) and not found


def _unused(number):
    grants = range(number // 2 * EACH, (number + 1) * EACH)
    return iter(random.Random(1815).sample(grants, 1_000))  # noqa: S311


@contextmanager
def filled(kind, number):
    """Create a database with so many users and clients; yields the settings of its site."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/apps.db"
        if kind != "sqlite":
            url = opened.enter_context(own_database(kind, f"wsgiauth_apps_{number}"))
            storage.discard_connection(storage.open_database(url, prepare=migrate))
        key = str(write_key(folder / "key"))
        provider = {"PUBLIC_URL": ISSUER, "OAUTH_SERVER": True, "OAUTH_REGISTRATION": True}
        site = Site(url, echo, number, SERVICE_KEYS=key, **provider)
        database = site.app.database
        with database.patient(3600):
            fill(database, number)
            if kind != "sqlite":
                analyze = "VACUUM ANALYZE" if kind == "postgresql" else "ANALYZE TABLE"
                for table in TABLES:
                    database.execute_sql(f"{analyze} wsgiauth_{table}")
        database.close()
        yield Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url, SERVICE_KEYS=key, **provider)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or DRIVERS))
