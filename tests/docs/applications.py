"""The applications of docs/applications.md: their data, and people who use them."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.docs.accounts import settings_of
from tests.docs.pages import PAGES, save_programs, shown
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import storage
from wsgiauth.accounts import create_user

PAGE = PAGES["docs/applications.md"]
TEXT = "Middlemarch"


def write_library(folder):
    _write_table(folder / "library.db", "book")


def write_data(folder):
    _write_table(folder / "books.db", "book")
    _write_table(folder / "loans.db", "loan")


def _write_table(path, table):
    database = sqlite3.connect(path)
    database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, title TEXT)")
    database.execute(f"INSERT INTO {table} (title) VALUES (?)", (TEXT,))  # noqa: S608 - ours
    database.commit()
    database.close()


def write_nothing(folder):
    """Serve what users upload."""


def write_file(folder):
    (folder / "files/book.txt").write_text(TEXT)


def commit(folder):
    for command in (
        "git init --quiet work",
        "git -C work -c user.name=Ada -c user.email=a@b.c commit --quiet --allow-empty -m First",
        f"git -C work push --quiet ../repositories/library.git HEAD HEAD:refs/heads/{TEXT}",
    ):
        _run(command, folder)


def _run(command, folder):
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    subprocess.run(command.split(), cwd=folder, env=environ, check=True, capture_output=True)


class Application(NamedTuple):
    """One of the page.

    Attributes:
        title: Of its section.
        packages: What its program imports.
        permissions: Those that its program asks for.
        path: What not everyone can see, and what is seen there.
        prepare: Makes what it serves, in the folder of its program.
    """

    title: str
    packages: tuple[str, ...]
    permissions: tuple[str, ...]
    path: str
    prepare: Callable[[Path], None]
    seen: str = TEXT


APPLICATIONS = {
    "sqlite": Application(
        "sqlite-web", ("sqlite_web",), ("library.browse",), "/book/content/", write_library
    ),
    "bepasty": Application(
        "bepasty",
        ("bepasty",),
        ("pastes.list", "pastes.create", "pastes.read"),
        "/+list",
        write_nothing,
        "Upload [UTC]",
    ),
    "datasette": Application(
        "Datasette",
        ("datasette", "a2wsgi"),
        ("loans.read",),
        "/loans/loan.json?_shape=array",
        write_data,
    ),
    "webdav": Application(
        "WsgiDAV", ("wsgidav",), ("files.read", "files.write"), "/book.txt", write_file
    ),
    "git": Application(
        "Git",
        ("dulwich",),
        ("code.pull", "code.push"),
        "/library.git/info/refs?service=git-upload-pack",
        commit,
    ),
}


def prepare_folder(application, folder, empty_file):
    """Write the programs, what the application serves, and accounts: Ada has its permissions."""
    save_programs(PAGE, folder)
    for command, _ in shown(PAGE, application.title):
        if command.startswith(("mkdir ", "git init ")):
            _run(command, folder)
    application.prepare(folder)
    shutil.copy(empty_file, folder / "wsgiauth.db")
    settings = settings_of(folder)
    database = storage.open_database(settings.DATABASE_URL)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings).grant(*application.permissions)
    for name in ("Grace", "root"):
        create_user(name, f"{name}@example.org", PASSWORD, settings=settings)
    storage.discard_connection(database)


def serving_command(application):
    (command,) = (each for each, _ in shown(PAGE, application.title) if "wsgiauth serve" in each)
    return command


class Site(NamedTuple):
    """A served application."""

    application: Application
    address: str
    folder: Path

    @contextmanager
    def program(self, name=None):
        """Yield a client that sends the token of a user, if there is one; no cookie."""
        with httpx.Client(base_url=self.address, timeout=60) as client:
            if name is not None:
                account = {"username": name, "password": PASSWORD}
                answer = client.post("/auth/login", json=account).raise_for_status()
                client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
            yield client

    @contextmanager
    def browser(self):
        """Yield a browser, which keeps cookies and follows redirects."""
        with httpx.Client(
            base_url=self.address, headers=BROWSER, follow_redirects=True, timeout=60
        ) as client:
            yield client

    def new_key(self, *permissions, owner=USERNAME):
        """Return a new API key and its id."""
        with self.program(owner) as client:
            wanted = {"name": "Nightly", "permissions": permissions}
            key = client.post("/auth/keys", json=wanted).raise_for_status().json()["key"]
            return key, key.split("_")[1]

    def revoke(self, key_id, owner=USERNAME):
        with self.program(owner) as client:
            client.post("/auth/keys", json={"end": key_id}).raise_for_status()


def log_in(browser, path, name=USERNAME):
    """Ask for a page, log in where that leads, and return where that leads."""
    page = browser.get(path)
    assert page.url.path == "/auth/login"
    form = {"username": name, "password": PASSWORD, "next": page.url.params["next"]}
    return browser.post(page.url, data=form, headers=SAME_ORIGIN)


def bearer(key):
    return {"Authorization": f"Bearer {key}"}
