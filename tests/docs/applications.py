"""The applications of docs/applications.md and docs/tools.md: their data, people and tools."""

import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.conftest import require
from tests.docs.accounts import ROUNDS, settings_of
from tests.docs.pages import PAGES, code, save_programs, section, shown
from tests.support.sites import (
    BROWSER,
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    SECRET_KEY,
    USERNAME,
    running,
)
from wsgiauth import User, storage
from wsgiauth.accounts import create_user

PAGE = PAGES["docs/applications.md"]
TOOLS_PAGE = PAGES["docs/tools.md"]
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


def write_wheel(folder):
    """Put one version into the index, and the next into the folder that twine uploads from."""
    for version, place in (("1.0", "packages"), ("1.1", "dist")):
        (folder / place).mkdir(exist_ok=True)
        with zipfile.ZipFile(folder / place / f"library-{version}-py3-none-any.whl", "w") as wheel:
            info = f"library-{version}.dist-info"
            wheel.writestr("library.py", f"TITLE = {TEXT!r}\n")
            wheel.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: library\nVersion: {version}\n"
            )
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")


def write_calendar(folder):
    """Give Ada, who is user 1, an empty calendar."""
    calendar = folder / "calendars/collection-root/1/books"
    calendar.mkdir(parents=True)
    (calendar / ".Radicale.props").write_text('{"tag": "VCALENDAR"}')


def commit(folder):
    for command in (
        "git init --quiet work",
        "git -C work -c user.name=Ada -c user.email=a@b.c commit --quiet --allow-empty -m First",
        f"git -C work push --quiet ../repositories/library.git HEAD HEAD:refs/heads/{TEXT}",
    ):
        _run(command, folder)


def environ_of(folder):
    """Return the environment of people, tools and programs whose home is the folder."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "GIT_TERMINAL_PROMPT": "0",
        "BCRYPT_ROUNDS": str(ROUNDS),
        "SECRET_KEY": SECRET_KEY,
    }


def _run(command, folder):
    environ = environ_of(folder)
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
    prepare: Callable[[Path], None] = write_nothing
    seen: str = TEXT
    page: str = PAGE

    @property
    def serving_command(self) -> str:
        (command,) = (each for each, _ in shown(self.page, self.title) if "wsgiauth serve" in each)
        return command

    @property
    def accepts_basic(self) -> bool:
        return "BASIC_AUTH=keys" in self.serving_command


APPLICATIONS = {
    "sqlite": Application(
        "sqlite-web", ("sqlite_web",), ("library.browse",), "/book/content/", write_library
    ),
    "bepasty": Application(
        "bepasty",
        ("bepasty",),
        ("pastes.list", "pastes.create", "pastes.read"),
        "/+list",
        seen="Upload [UTC]",
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
TOOLS = {
    "packages": Application(
        "Python packages",
        ("pypiserver", "pip", "twine"),
        ("packages.install", "packages.publish"),
        "/simple/",
        write_wheel,
        "library",
        TOOLS_PAGE,
    ),
    "hg": Application(
        "Mercurial",
        ("mercurial",),
        ("code.pull", "code.push"),
        "/library?cmd=lookup&key=null",
        seen="1 0000",
        page=TOOLS_PAGE,
    ),
    "calendar": Application(
        "Calendars",
        ("radicale",),
        ("calendar.read", "calendar.write"),
        "/1/books/",
        write_calendar,
        "BEGIN:VCALENDAR",
        TOOLS_PAGE,
    ),
}


def prepare_folder(application, folder, empty_file):
    """Write the programs, what the application serves, and accounts: Ada has its permissions."""
    save_programs(application.page, folder)
    for command, _ in shown(application.page, application.title):
        if command.startswith(("mkdir ", "git init ", "hg init ")):
            _run(command, folder)
    application.prepare(folder)
    shutil.copy(empty_file, folder / "wsgiauth.db")
    settings = settings_of(folder)
    database = storage.open_database(settings.DATABASE_URL)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings).grant(*application.permissions)
    for name in ("Grace", "root"):
        create_user(name, f"{name}@example.org", PASSWORD, settings=settings)
    storage.discard_connection(database)


class Site(NamedTuple):
    """A served application."""

    application: Application
    address: str
    folder: Path

    @property
    def host(self) -> str:
        return self.address.removeprefix("http://")

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

    def grant(self, name, *permissions):
        database = storage.open_database(settings_of(self.folder).DATABASE_URL)
        User.get(username=name).grant(*permissions)
        storage.discard_connection(database)

    def revoke(self, key_id, owner=USERNAME):
        with self.program(owner) as client:
            client.post("/auth/keys", json={"end": key_id}).raise_for_status()


@contextmanager
def served(application, folder, empty_file):
    """Serve an application as its page says, from an empty folder."""
    require(*application.packages)
    prepare_folder(application, folder, empty_file)
    with (
        (folder / "log").open("wb") as log,
        running(
            f"env {application.serving_command}",
            cwd=folder,
            env=environ_of(folder),
            stdout=log,
            stderr=log,
        ) as port,
    ):
        yield Site(application, f"http://127.0.0.1:{port}", folder)


class Terminal(NamedTuple):
    """The terminal of a user of a site, in a home of their own."""

    site: Site
    home: Path

    def save(self, name, title, key, username="ada"):
        """Write the configuration that a section of docs/tools.md shows into a private file."""
        kind = "text" if name == ".netrc" else "ini"
        text = next(each for each in code(section(TOOLS_PAGE, title), kind) if "wsgiauth_…" in each)
        text = text.replace("127.0.0.1:8080", self.site.host).replace("ada", username)
        (self.home / name).write_text(text.replace("wsgiauth_…", key))
        (self.home / name).chmod(0o600)

    def run(self, script, **variables):
        """Return the status of a script and what it prints."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script.replace("127.0.0.1:8080", self.site.host)],
            cwd=self.home,
            env=environ_of(self.home) | variables,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=100,
        )
        return done.returncode, done.stdout + done.stderr


def log_in(browser, path, name=USERNAME):
    """Ask for a page, log in where that leads, and return where that leads."""
    page = browser.get(path)
    assert page.url.path == "/auth/login"
    form = {"username": name, "password": PASSWORD, "next": page.url.params["next"]}
    return browser.post(page.url, data=form, headers=SAME_ORIGIN)


def bearer(key):
    return {"Authorization": f"Bearer {key}"}
