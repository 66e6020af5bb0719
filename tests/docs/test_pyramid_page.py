"""docs/pyramid.md: its program has the guards that it says, also by its ini file."""

import importlib
import sys

import pytest
from webtest import TestApp

from tests.docs.accounts import ask
from tests.docs.pages import PAGES, code, commands, shown
from tests.support.sites import BROWSER
from wsgiauth import storage
from wsgiauth.testing import api_key, bearer, logged_in, make_user

PAGE = PAGES["docs/pyramid.md"]
DEPRECATED = [  # of Pyramid's pkg_resources
    "ignore:pkg_resources is deprecated:UserWarning",
    "ignore:Deprecated call to `pkg_resources:DeprecationWarning",
]
pytestmark = [*map(pytest.mark.filterwarnings, DEPRECATED)]


@pytest.fixture
def pages(folder, environ, monkeypatch):
    """Return the application of the page."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for name in ("SECRET_KEY", "BCRYPT_ROUNDS"):
        monkeypatch.setenv(name, environ[name])
    site = importlib.import_module("pyramid_pages").application
    yield site
    del sys.modules["pyramid_pages"]
    storage.discard_connection(site.database)


def test_the_program_has_the_guards_of_the_page(pages):
    client = TestApp(pages)
    first = make_user(pages, "ada", groups=["editors"])
    other = make_user(pages, "grace", permissions=["reports.publish"])
    ada, grace, key = bearer(pages, first), bearer(pages, other), api_key(pages, first)
    statuses = {
        "/": (200, 200, 200, 200),
        "/account": (401, 200, 200, 200),
        "/reports": (401, 403, 200, 403),
        "/pages/handbook": (200, 200, 200, 200),
        "/pages/notes": (401, 200, 200, 200),
    }
    for path, expected in statuses.items():
        answers = [client.get(path, headers=who, status="*") for who in ({}, ada, grace, key)]
        assert tuple(answer.status_int for answer in answers) == expected, path
    for path, expected in {"/pages/handbook": (True, False), "/pages/notes": (True, False)}.items():
        answers = [client.get(path, headers=who).json["can_edit"] for who in (ada, grace)]
        assert tuple(answers) == expected, path
    stale = bearer(pages, first, confirmed_minutes_ago=60)
    for headers, status in [(ada, 200), (stale, 401), (grace, 403), (key, 403), ({}, 401)]:
        client.post("/pages/handbook", headers=headers, status=status)
    assert client.get("/account", headers=ada).json == {"user": "ada", "id": str(first.id)}
    assert logged_in(pages, first).get("/account", headers=BROWSER).json["user"] == "ada"


def test_the_command_of_the_page_serves_the_program(serve, administrator):
    *_, (command, _) = commands(code(PAGE, "console")[0])
    with serve(command) as port:
        assert ask(f"http://127.0.0.1:{port}/account")[0] == 401


def test_the_ini_file_serves_the_program(serve, administrator, environ):
    environ["PYTHONPATH"] = ""
    (command, _), *_ = shown(PAGE, "pserve and ini files")
    with serve(command, "sed -i s/8080/$1/ pyramid.ini") as port:
        assert ask(f"http://127.0.0.1:{port}/")[0] == 200
        assert ask(f"http://127.0.0.1:{port}/account")[0] == 401
        status, page = ask(f"http://127.0.0.1:{port}/account", BROWSER)
        assert (status, 'action="/auth/login"' in page) == (200, True)
