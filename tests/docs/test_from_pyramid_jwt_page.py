"""docs/migration.md, pyramid_jwt: the programs before and after do the same, but for its table."""

import importlib
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
from webtest import TestApp

from tests.conftest import require
from tests.docs.pages import PAGES, code, section, shown
from tests.support.sites import PASSWORD
from wsgiauth import User, hash_password, storage

PAGE = section(PAGES["docs/migration.md"], "From pyramid_jwt")
OLD = Path(__file__).parent / "old"
BEFORE, AFTER = (
    (OLD / f"{name}_pyramid_jwt.py").read_text(encoding="utf-8") for name in ("before", "after")
)
TITLE = {"title": "Emma"}
pytestmark = [
    pytest.mark.filterwarnings(each)
    for each in (
        "ignore:pkg_resources is deprecated:UserWarning",
        "ignore:Deprecated call to `pkg_resources:DeprecationWarning",
        # what pyramid_jwt uses
        "ignore:Authentication and authorization policies have been deprecated:DeprecationWarning",
        "ignore:datetime.datetime.utcnow:DeprecationWarning",
    )
]


@pytest.fixture
def users(folder):
    """Return the old application's users: an editor and a reader."""
    hashed = hash_password(PASSWORD, rounds=4)
    database = sqlite3.connect(folder / "users.db")
    database.execute(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, username, email, password_hash, roles)"
    )
    database.executemany(
        "INSERT INTO users (username, email, password_hash, roles) VALUES (?, ?, ?, ?)",
        [
            ("ada", "ada@example.org", hashed, "editor"),
            ("grace", "grace@example.org", hashed, ""),
        ],
    )
    database.commit()
    yield database
    database.close()


@pytest.fixture
def load(folder, environ, users, monkeypatch):
    """Return a function that imports a program."""
    require("pyramid_jwt")
    for path in OLD.glob("*_pyramid_jwt.py"):
        shutil.copy(path, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for name in ("SECRET_KEY", "BCRYPT_ROUNDS"):
        monkeypatch.setenv(name, environ[name])
    monkeypatch.setenv("TOKEN_SECRET", "a secret of the old application" * 3)
    loaded = []

    def load_program(name):
        loaded.append(name)
        return importlib.import_module(name)

    yield load_program
    for name in loaded:
        del sys.modules[name]


@pytest.fixture
def before(load):
    """Return a client of the old program, with a function that logs in."""
    module = load("before_pyramid_jwt")
    client = TestApp(module.application)

    def log_in(username, password=PASSWORD):
        account = {"username": username, "password": password}
        token = client.post_json("/login", account).json["token"]
        return {"Authorization": f"JWT {token}"}

    yield client, log_in
    module.users.close()


@pytest.fixture
def after(run, load):
    """Return a client of the new program with the imported users, and what logs in."""
    commands = shown(PAGE, "Users of pyramid_jwt")
    output = run("\n".join(command for command, _ in commands))
    assert output.splitlines()[-1] == commands[-1][1].strip()
    site = load("after_pyramid_jwt").application
    client = TestApp(site)

    def log_in(username, password=PASSWORD):
        account = {"username": username, "password": password}
        token = client.post_json("/auth/login", account).json["access_token"]
        return {"Authorization": f"Bearer {token}"}

    yield client, log_in
    storage.discard_connection(site.database)


@pytest.mark.parametrize("program", ["before", "after"])
def test_both_programs_do_the_same(program, request):
    client, log_in = request.getfixturevalue(program)
    editor, reader = log_in("ada"), log_in("grace")
    assert client.get("/books", headers=editor).json == {"books": ["Middlemarch"], "for": "1"}
    assert client.get("/books", headers=reader).json["for"] == "2"
    assert client.post_json("/books", TITLE, headers=editor).json == {"added": "Emma"}
    client.post_json("/books", TITLE, headers=reader, status=403)
    for headers in ({}, {"Authorization": editor["Authorization"] + "x"}):
        client.get("/books", headers=headers, status=401)
        client.post_json("/books", TITLE, headers=headers, status=401)


def test_the_programs_differ_as_the_table_says(before, after, users):
    (old, log_in_before), (new, log_in_after) = before, after
    headers_before, headers_after = log_in_before("ada"), log_in_after("ada")
    bearer = {"Authorization": headers_before["Authorization"].replace("JWT", "Bearer")}
    old.get("/books", headers=bearer, status=401)
    jwt = {"Authorization": headers_after["Authorization"].replace("Bearer", "JWT")}
    assert new.get("/books", headers=jwt, status=401).json["code"] == "unauthenticated"
    users.execute("UPDATE users SET roles = ''")
    users.commit()
    old.post_json("/books", TITLE, headers=headers_before, status=200)
    User.objects.get(username="ada").leave("editor")
    new.post_json("/books", TITLE, headers=headers_after, status=403)
    new.post("/auth/logout", headers=headers_after)
    new.get("/books", headers=headers_after, status=401)


def test_the_marked_lines_are_those_that_differ():
    before, after = BEFORE.splitlines(), AFTER.splitlines()
    new = [line for line in after[1:] if line not in before]
    assert [line for line in after if line.endswith(("# new", "# changed"))] == [
        line for line in new if not line.startswith("from pyramid.")
    ]


def test_the_page_has_the_marked_lines():
    changes, _import = code(PAGE, "python")
    marked = [line.strip() for line in AFTER.splitlines() if line.endswith(("# new", "# changed"))]
    assert changes.splitlines() == [line for line in marked if not line.startswith("from ")]
