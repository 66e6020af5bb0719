"""The examples of docs/examples/: their data, people and tools."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.conftest import require
from tests.docs.accounts import ROUNDS, settings_of
from tests.docs.pages import PAGES, ROOT, code, shown
from tests.support.sites import (
    BROWSER,
    PASSWORD,
    SAME_ORIGIN,
    SECRET_KEY,
    USERNAME,
    running,
)
from wsgiauth import User, storage
from wsgiauth.accounts import create_user

FOLDER = ROOT / "docs/examples"
INDEX = PAGES["docs/examples/README.md"]
TEXT = "Middlemarch"


def write_calendar(folder):
    """Give Ada, who is user 1, an empty calendar."""
    calendar = folder / "calendars/collection-root/1/books"
    calendar.mkdir(parents=True)
    (calendar / ".Radicale.props").write_text('{"tag": "VCALENDAR"}')


def environ_of(folder):
    """Return the environment of people, tools and programs whose home is the folder."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "GIT_TERMINAL_PROMPT": "0",
        "BCRYPT_ROUNDS": str(ROUNDS),
        "SECRET_KEY": SECRET_KEY,
    }


class Example(NamedTuple):
    """A folder of docs/examples.

    Attributes:
        name: Of the folder.
        packages: What its program imports.
        path: What not everyone can see, and what is seen there.
        prepare: Makes more of what it serves, in the folder of its program.
    """

    name: str
    packages: tuple[str, ...]
    path: str
    seen: str = TEXT
    prepare: Callable[[Path], None] | None = None

    @property
    def page(self) -> str:
        return PAGES[f"docs/examples/{self.name}/README.md"]

    @property
    def running_commands(self) -> list[str]:
        return [command for command, _ in shown(self.page, "Run it")]

    @property
    def permissions(self) -> list[str]:
        return re.search(r"grant ada (.*)", self.page)[1].split()

    @property
    def accepts_basic(self) -> bool:
        return "BASIC_AUTH=keys" in self.running_commands[-1]


APPLICATIONS = {
    "sqlite": Example("sqlite-web", ("sqlite_web",), "/book/content/"),
    "bepasty": Example("bepasty", ("bepasty",), "/+list", "Upload [UTC]"),
    "datasette": Example("datasette", ("datasette", "a2wsgi"), "/loans/loan.json?_shape=array"),
    "webdav": Example("wsgidav", ("wsgidav",), "/book.txt"),
    "git": Example(
        "dulwich",
        ("dulwich",),
        "/library.git/info/refs?service=git-upload-pack",
        "refs/heads/",
    ),
}
TOOLS = {
    "packages": Example("pypiserver", ("pypiserver", "pip", "twine"), "/simple/", "library"),
    "hg": Example("mercurial", ("mercurial",), "/library?cmd=lookup&key=null", "1 0000"),
    "calendar": Example("radicale", ("radicale",), "/1/books/", "BEGIN:VCALENDAR", write_calendar),
}


def copy_programs(example, folder):
    """Copy the folder of an example without the data of someone who runs it."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob(f"{example.name}/*.[ptmc]*"):
        shutil.copy(path, folder)


def prepare_folder(example, folder, empty_file):
    """Follow the page of an example, up to its server, in a copy of its folder."""
    copy_programs(example, folder)
    shutil.copy(empty_file, folder / "wsgiauth.db")
    *prepare, _ = example.running_commands
    *_, create = shown(INDEX, "Run an example")
    (grant, _), *_ = shown(example.page, "Users")
    granted = f"ada has: {', '.join(sorted(example.permissions))}\n"
    for command, expected in (*((each, "") for each in prepare), create, (grant, granted)):
        assert Terminal(None, folder).run(command) == (0, expected)
    if example.prepare:
        example.prepare(folder)
    settings = settings_of(folder)
    database = storage.open_database(settings.DATABASE_URL)
    for name in ("Grace", "root"):
        create_user(name, f"{name}@example.org", PASSWORD, settings=settings)
    storage.discard_connection(database)


class Site(NamedTuple):
    """A served example."""

    example: Example
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
def served(example, folder, empty_file):
    """Serve an example as its page says, in an empty folder."""
    require(*example.packages)
    prepare_folder(example, folder, empty_file)
    with (
        (folder / "log").open("wb") as log,
        running(
            f"env {example.running_commands[-1]}",
            cwd=folder,
            env=environ_of(folder),
            stdout=log,
            stderr=log,
        ) as port,
    ):
        yield Site(example, f"http://127.0.0.1:{port}", folder)


class Terminal(NamedTuple):
    """The terminal of a user of a site, in a home of their own."""

    site: Site | None
    home: Path

    def save(self, name, key, username="ada"):
        """Write the configuration that the examples show into a private file."""
        page = INDEX if name == ".netrc" else self.site.example.page
        (text,) = code(page, "text" if name == ".netrc" else "ini")
        text = text.replace("127.0.0.1:8080", self.site.host).replace("ada", username)
        (self.home / name).write_text(text.replace("wsgiauth_…", key))
        (self.home / name).chmod(0o600)

    def run(self, script, **variables):
        """Return the status of a script and what it prints."""
        if self.site:
            script = script.replace("127.0.0.1:8080", self.site.host)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
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
