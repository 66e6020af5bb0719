"""A site with members of the staff, and a function that logs a browser in."""

import pytest
from webtest import TestApp

from tests.conftest import insert_rows, read_user
from tests.support.factors import FACTOR_KEY
from tests.support.identities import ENTRY
from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.authentication import sessions
from wsgiauth.staff.administration import MANAGE_USERS

KINDS = {
    "user": {},
    "manager without staff": {"permissions": [MANAGE_USERS]},
    "superuser without staff": {"is_superuser": True},
    "staff": {"is_staff": True},
    "manager": {"is_staff": True, "permissions": [MANAGE_USERS, "reports.read"]},
    "superuser": {"is_staff": True, "is_superuser": True},
    "permitted": {"permissions": ["reports.read"]},
    "privileged": {"permissions": ["reports.publish"]},
    "inactive": {"is_active": False},
}


@pytest.fixture
def heard():
    """Return the list of the events of `site`."""
    return []


@pytest.fixture
def post():
    """Return the transport of `site`."""
    return Post()


@pytest.fixture
def site(settings, heard, post, unsent):
    """Return a site with second factors and another provider, which sends mail on demand."""
    changed = with_mail(settings, FACTOR_KEY=FACTOR_KEY, OIDC_PROVIDERS=(ENTRY,))
    middleware = AuthMiddleware(echo, changed, on_event=heard.append, send_mail=post)
    yield middleware
    storage.discard_connection(storage.current())


@pytest.fixture
def make(site):
    """Return a function that makes a user of a kind in `KINDS`, whose registration is no event."""

    def make_user(name, kind="user", **fields):
        values = {"username": name, "email": f"{name}@example.org", **KINDS[kind], **fields}
        permissions = values.pop("permissions", ())
        insert_rows([values])
        user = read_user(name)
        if permissions:
            user.grant(*permissions)
        return user

    return make_user


@pytest.fixture
def browser_of(site, tokens):
    """Return a function that returns a browser in which a user is logged in."""

    def open_browser(user):
        client = TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})
        client.set_cookie("wsgiauth", sessions.start(user, tokens).token)
        return client

    return open_browser


@pytest.fixture
def boss(make):
    """Return a superuser who is a member of the staff."""
    return make("Boss", "superuser")


@pytest.fixture
def browser(browser_of, boss):
    """Return a browser of `boss`."""
    return browser_of(boss)


@pytest.fixture
def program(client, boss, bearer):
    """Return a function that sends a request of `boss` as a program does."""
    headers = bearer(boss)

    def send(path, fields=None, **options):
        if fields is None:
            return client.get(path, headers=headers, **options)
        return client.post_json(path, fields, headers=headers, **options)

    return send
