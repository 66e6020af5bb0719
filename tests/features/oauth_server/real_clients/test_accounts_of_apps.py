"""Apps with accounts of their own: which of them a user of the site gets."""

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from tests.conftest import require, require_program, skip_or_fail
from tests.docs.pages import PAGES, save_programs, section
from tests.support.provider_site import PROGRAMS, Person
from tests.support.sites import free_port, started
from tests.support.versions import python_with
from wsgiauth.accounts.models import PROVEN_BY_OPERATOR
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.storage import context
from wsgiauth.storage.models import utc_now

BOSS = "boss@example.org"  # the address of the administrator of each app
VERIFIED = {"email_verified_at": utc_now(), "email_verified_by": PROVEN_BY_OPERATOR}


@dataclass(frozen=True)
class Library:
    """How an app logs users in.

    Attributes:
        script: The program, in the folder of `provider_site`, with its first arguments; one of
            Node gets a folder of modules before them.
        login, callback, me: Paths of the app; the last one says who the user is.
        needs: What is installed into an environment of its own, if anything.
        is_without_pkce: Whether it is registered as a client that cannot send PKCE.
    """

    script: tuple[str, ...]
    login: str
    callback: str
    me: str = "/"
    needs: tuple[str, ...] = ()
    is_without_pkce: bool = False


LIBRARIES = {
    "mozilla-django-oidc": Library(
        ("oidc_django.py", "mozilla_django_oidc"), "/oidc/authenticate/", "/oidc/callback/"
    ),
    "django-allauth": Library(
        ("oidc_django.py", "allauth"),
        "/accounts/oidc/example/login/",
        "/accounts/oidc/example/login/callback/",
        needs=("django-allauth[socialaccount]>=65.22", "waitress"),
    ),
    "social-auth": Library(
        ("oidc_django.py", "social_django"),
        "/begin/oidc",
        "/complete/oidc/",
        needs=("social-auth-app-django>=8", "waitress"),
    ),
    "Flask-AppBuilder": Library(
        ("oidc_appbuilder.py",),
        "/login/auth0",
        "/oauth-authorized/auth0",
        me="/me",
        needs=("authlib>=1.6", "flask-appbuilder>=5.3", "requests", "waitress"),
    ),
    "express-openid-connect": Library(
        ("oidc_express.mjs", "express-openid-connect"), "/begin", "/callback", me="/me"
    ),
    "Auth.js": Library(
        ("oidc_express.mjs", "@auth/express"), "/begin", "/auth/callback/example", me="/me"
    ),
    "passport": Library(
        ("oidc_express.mjs", "passport-openidconnect"),
        "/begin",
        "/callback",
        me="/me",
        is_without_pkce=True,
    ),
}
DJANGO = pytest.mark.parametrize("app", ["mozilla-django-oidc"], indirect=True)


class App:
    """An app on a server."""

    def __init__(self, address, library):
        self._address, self._library = address, library

    def begin(self, person):
        """Let a person log in, and return the last page."""
        return person.visit(f"{self._address}{self._library.login}")

    def log_in(self, person):
        """Let a person log in, and return who the app says that the user is."""
        self.begin(person)
        return self.who(person)

    def who(self, person, path=None):
        return person.visit(f"{self._address}{path or self._library.me}").json()


@contextmanager
def running(site, library, folder):
    """Run an app, as a client of the site; yields an App."""
    run = command_of(library)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    client = site.register("Wiki", f"{address}{library.callback}")
    with context.using(site.app.database):
        changed = Client.update(is_without_pkce=library.is_without_pkce)
        changed.where(Client.id == client.id).execute()
    save_programs(section(PAGES["docs/write-an-app.md"], "Django"), folder)
    arguments = (port, site.address, client.id, client.secret, folder)
    with (
        (folder / "log").open("wb") as log,
        started([*run, *map(str, arguments)], port, stderr=log),
    ):
        yield App(address, library)


@pytest.fixture(scope="module", params=LIBRARIES)
def app(request, site, tmp_path_factory):
    with running(site, LIBRARIES[request.param], tmp_path_factory.mktemp("app")) as app:
        yield app


def command_of(library):
    """Return the command that runs the program of a library, without its last arguments."""
    script, *first = library.script
    path = str(PROGRAMS / script)
    if script.endswith(".mjs"):
        require_program("node")
        modules = os.environ.get("EXPRESS_APPS") or skip_or_fail(
            "EXPRESS_APPS does not name a folder: see .ci/run"
        )
        return ["node", path, modules, *first]
    if library.needs:
        return [python_with(*library.needs), path, *first]
    require("django", "mozilla_django_oidc")
    return [sys.executable, path, *first]


@pytest.fixture
def new_user(site):
    """Return a function that creates a user, who is deleted after the test."""
    created = []

    def create(*names):
        created.append(site.add_user(*names))
        return created[-1]

    yield create
    for each in created:
        site.delete(each)


def test_a_user_gets_the_same_account_at_each_login(app, site):
    seen = []
    for _ in range(2):
        with Person(site.address) as person:
            seen.append(app.log_in(person))
    assert seen[0] == seen[1]
    assert seen[0]["id"] is not None
    assert seen[0]["username"] != "root"


def test_no_address_opens_the_account_of_the_administrator(app, site, new_user):
    user = new_user("mallory", BOSS)
    for _ in range(2):  # claimed, then verified
        with Person(site.address, "mallory") as stranger:
            seen = app.log_in(stranger)
        assert seen["username"] != "root"
        assert not seen.get("is_superuser")
        site.change(user, **VERIFIED)


def test_who_takes_a_former_name_gets_another_account(app, site, new_user):
    first = new_user("grace")
    with Person(site.address, "grace") as person:
        former = app.log_in(person)
    assert former["id"] is not None
    site.change(first, username="countess")
    second = new_user("grace")
    for user, name in ((first, "countess"), (second, "grace")):
        with Person(site.address, name) as person:
            assert (app.log_in(person)["id"] == former["id"]) is (user is first)


# passport-openidconnect


def test_an_app_that_sends_no_pkce_learns_what_is_missing(site, person, tmp_path):
    library = replace(LIBRARIES["passport"], is_without_pkce=False)
    with running(site, library, tmp_path) as app:
        page = app.begin(person)
    assert page.status_code == 500
    assert "PKCE is missing: send code_challenge" in page.text


# mozilla-django-oidc


@DJANGO
def test_django_stores_an_address_once_it_is_verified(app, site, new_user):
    user = new_user("heidi")
    with Person(site.address, "heidi") as person:
        assert app.log_in(person)["email"] == ""
        site.change(user, **VERIFIED)
        assert app.log_in(person)["email"] == user.email


@DJANGO
def test_django_renews_its_session_without_a_page(app, person):
    first = app.log_in(person)
    person.pages.clear()
    assert app.who(person, "/later") == first
    assert person.pages == []


@DJANGO
@pytest.mark.promise(95)
def test_django_ends_its_session_after_the_logout_of_the_person(app, person):
    app.log_in(person)
    person.log_out()
    assert app.who(person, "/later")["email"] is None
