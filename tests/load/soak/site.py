"""The site, its people, and the processes that serve it and purge its database."""

import contextlib
import io
import logging
import os
import sys
import time
from dataclasses import dataclass
from wsgiref.util import setup_testing_defaults

from peewee import chunked
from webtest import TestApp

from tests.support.authenticators import ORIGIN, Authenticator, add_passkey
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.oauth_apps import CALLBACK
from tests.support.service_keys import REPORTS, write_key
from tests.support.sites import EMAIL, FORKSERVER, PASSWORD, SECRET_KEY, echo, serving
from wsgiauth import (
    AuthMiddleware,
    Settings,
    User,
    app,
    cli,
    hash_password,
    login_required,
    storage,
)
from wsgiauth.authentication.tokens import CACHE_SIZE, Tokens
from wsgiauth.features.keys.api_keys import make_key
from wsgiauth.features.oauth_server import clients
from wsgiauth.storage.schema import migrate
from wsgiauth.testing import api_key, bearer, make_user

PEOPLE = 10_000  # more than SQLite's caches hold, so that these are soon as large as they get
FURTHER = 4200  # as many as the other caches of a process hold, and some more
MANY = 1_000_000  # counted, but not reached
SPECIAL = {
    "boss": 12,
    "key": 24,
    "app": 360,
    "passkey": 120,
    "provided": 240,
    "proven": 480,
    "victim": 120,
}

# Names of the module attributes that say how long something is kept, in seconds.
LIFETIMES = {"HOUR", "DAY", "LIFETIME", "KEPT", "KNOWN_FOR", "KEPT_FOR", "REMEMBERED"}


@dataclass
class People:
    """Users that clients can be.

    Attributes:
        regulars: Names of those with nothing but a password.
        special: Names of the others, by what they have; all have the password, too.
        keys, apps, authenticators: What they have, by name.
        clients: The id and the secret of an app of the site, of one that needs consent, and of a
            program that logs in as itself.
    """

    regulars: list[str]
    special: dict[str, list[str]]
    keys: dict[str, str]
    apps: dict[str, object]
    authenticators: dict[str, Authenticator]
    clients: dict[str, tuple[str, str]]


def settings_of(url, folder, mail_port, provider):
    """Return the settings of a site with everything on."""
    return Settings(
        SECRET_KEY=SECRET_KEY,
        DATABASE_URL=url,
        BCRYPT_ROUNDS=4,
        PUBLIC_URL=ORIGIN,
        MAIL_URL=f"smtp://127.0.0.1:{mail_port}",
        MAIL_FROM="site@example.org",
        FACTOR_KEY=FACTOR_KEY,
        PASSKEYS=True,
        LOGIN_CODES=True,
        BASIC_AUTH="keys",
        FORWARD_AUTH=True,
        SERVICE_KEYS=str(write_key(folder / "key.pem")),
        SERVICES=(REPORTS,),
        OAUTH_SERVER=True,
        OAUTH_REGISTRATION=True,
        OIDC_PROVIDERS=(provider.entry("google"),),
        # As short as can be, so that sessions and events expire and are purged meanwhile.
        JWT_EXPIRY_MINUTES=1,
        SESSION_HOURS=1,
        REMEMBER_DAYS=1,
        REMEMBER_IDLE_DAYS=1,
        TRUSTED_BROWSER_DAYS=1,
        AUDIT_DAYS=1,
        LINK_MINUTES=5,
        MAILS_PER_ACCOUNT=1000,
        MAILS_PER_ADDRESS=MANY,
        REGISTRATIONS_PER_ADDRESS=MANY,
        LOGIN_FAILURES_PER_ADDRESS=MANY,
        HASHING_PER_ADDRESS=8,
    )


def shorten(longest):
    """Let nothing in this process be kept longer than so many seconds, with an hour and a day."""
    assert app.ROUTES  # with the modules of all features, which an import of wsgiauth leaves out
    found = set()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "wsgiauth":
            for attribute, value in list(vars(module).items()):
                if attribute.strip("_") in LIFETIMES and isinstance(value, int):
                    setattr(module, attribute, min(value, longest))
                    found.add(attribute.strip("_"))
    assert found == LIFETIMES, LIFETIMES - found


def fill(settings, logout_uri):
    """Make the tables and the users; return these.

    Args:
        logout_uri: Where the app of the site gets logout tokens.
    """
    storage.discard_connection(storage.open_database(settings.DATABASE_URL, prepare=migrate))
    site = AuthMiddleware(echo, settings)
    hashed = hash_password(PASSWORD, rounds=4)
    regulars = [f"person{number}" for number in range(PEOPLE)]
    fields = [User.username, User.username_key, User.email, User.email_key, User.hashed_password]
    rows = [(name, name, f"{name}.{EMAIL}", f"{name}.{EMAIL}", hashed) for name in regulars]
    for batch in chunked(rows, 1000):
        User.insert_many(batch, fields=fields).execute()
    special = {
        kind: [f"{kind}{each}" for each in range(number)] for kind, number in SPECIAL.items()
    }
    users = {
        name: make_user(site, name, password=PASSWORD, is_verified=True, **_further(kind, name))
        for kind, names in special.items()
        for name in names
    }
    asked = ["wsgiauth.introspect"]
    people = People(
        regulars,
        special,
        {name: api_key(site, users[name], asked)["Authorization"] for name in special["key"]},
        {name: add_app(site, users[name]) for name in special["app"]},
        {name: add_passkey(site, users[name]) for name in special["passkey"]},
        {
            "own": _add_app("own", is_trusted=True, logout_uri=logout_uri),
            "other": _add_app("other"),
            "program": _add_client("program", is_service=True, scopes=["soak.read"]),
        },
    )
    storage.discard_connection(site.database)
    return people


def _add_app(name, **fields):
    scopes = ["openid", "profile", "offline_access"]
    return _add_client(name, uris=[CALLBACK], scopes=scopes, **fields)


def _add_client(name, **fields):
    made = clients.create(name, now=time.time(), **fields)
    return made.row.id, made.secret


def _further(kind, name):
    if kind == "boss":
        return {"is_staff": True, "is_superuser": True}
    if kind == "key":
        return {"permissions": ["wsgiauth.introspect"]}
    return {"identities": [("google", name)]} if kind == "provided" else {}


def serve(settings, longest, pipe):
    """Serve until told otherwise, in a process of its own."""
    shorten(longest)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # of each request that waits
    logger = logging.getLogger("wsgiauth")
    logger.propagate = False
    logger.addHandler(logging.FileHandler(os.devnull))  # written, but not kept
    site = AuthMiddleware(login_required(echo), settings)
    fill_cache(site, settings)
    fill_further_caches(site)
    behind_proxy = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": "x-forwarded-for"}
    with serving(site, threads=4, **behind_proxy) as address:  # waitress's default
        pipe.send(address.removeprefix("http://"))
        pipe.recv()


def fill_cache(site, settings):
    """Show the site more tokens than it remembers, as one has seen that has run for a day."""
    tokens = Tokens(settings)
    expires_at = int(tokens.now()) + tokens.lifetime
    for number in range(2 * CACHE_SIZE):
        token = tokens.issue(PEOPLE - number % 5000, f"{number:022}", expires_at)
        environ = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
        setup_testing_defaults(environ)
        for _ in site(environ, lambda *_: None):
            pass


def fill_further_caches(site):
    """Let the site answer about more users, service tokens and API keys than it remembers."""
    program = TestApp(site, lint=False)
    asker = User.get(User.username == "key0")
    key = api_key(site, asker, ["wsgiauth.introspect"])
    for user in User.select().limit(FURTHER):
        login = bearer(site, user)
        program.get("/auth/check", headers=login, status=204)
        issued = program.post_json("/auth/token", {"audience": REPORTS}, headers=login).json
        program.post_json("/auth/introspect", {"token": issued["access_token"]}, headers=key)
        _, unknown = make_key()
        program.get("/", headers={"Authorization": f"Bearer {unknown}"}, status=401)


def purge(settings, longest):
    """Run `python -m wsgiauth purge` in a process."""
    process = FORKSERVER.Process(target=_purge, args=(settings, longest))
    process.start()
    process.join()
    assert process.exitcode == 0, process.exitcode


def _purge(settings, longest):
    shorten(longest)
    os.environ |= {"DATABASE_URL": settings.DATABASE_URL, "AUDIT_DAYS": str(settings.AUDIT_DAYS)}
    with contextlib.redirect_stdout(io.StringIO()):
        sys.exit(cli.main(["purge"]))
