"""The programs of docs/write-an-app.md that log users in, each on a server."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import require, require_program, skip_or_fail
from tests.docs.pages import PAGES, save_programs, shown
from tests.support.sites import free_port, started

PAGE = PAGES["docs/write-an-app.md"]
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
VARIABLES = ("WIKI_KEY", "CLIENT_ID", "CLIENT_SECRET")


@dataclass(frozen=True)
class Program:
    """A program of a section of the page; `login` is the path at which a login begins."""

    title: str
    file: str
    login: str


PROGRAMS = {
    "Python": Program("Python", "wiki.py", "/login"),
    "Node": Program("Node", "wiki.mjs", "/"),
}


@pytest.fixture(params=PROGRAMS)
def program(request, tmp_path):
    """Return a program whose packages are installed."""
    if request.param == "Python":
        require("authlib", "flask", "requests")
    else:
        require_program("node")
        modules = os.environ.get("EXPRESS_APPS") or skip_or_fail(
            "EXPRESS_APPS does not name a folder: see .ci/run"
        )
        (tmp_path / "node_modules").symlink_to(modules)
    return PROGRAMS[request.param]


@pytest.fixture
def address(site, program, tmp_path):
    """Serve the program by its command, at another port; return its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    app = site.register("Wiki", f"{address}/callback")
    save_programs(PAGE, tmp_path)
    script = tmp_path / program.file
    text = script.read_text().replace("https://example.org", site.address)
    script.write_text(text.replace("8002", str(port)))
    _install, (start, _) = shown(PAGE, program.title)
    *variables, command = start.split("=… ")
    assert tuple(variables) == VARIABLES
    values = ("a key of a test, and as long as it has to be", app.id, app.secret)
    environ = {**dict(zip(VARIABLES, values, strict=True)), "PATH": PATH}
    run = command.replace("8002", str(port)).split()
    with (
        (tmp_path / "log").open("wb") as log,
        started(run, port, cwd=tmp_path, env=environ, stderr=log),
    ):
        yield address


def test_a_user_logs_in_to_a_program_of_the_page(site, program, address, person):
    page = person.visit(f"{address}{program.login}")
    assert str(page.url) == f"{address}/"
    assert page.text == str(site.ada.id)
    assert person.pages == ["Log in", "Log in to Wiki"]
