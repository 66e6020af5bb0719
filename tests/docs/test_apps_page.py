"""docs/apps.md: htmx with its site in Chromium, in each version."""

import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conftest import skip_or_fail
from tests.docs.pages import PAGES, code, programs
from tests.support.browser import Visitor, start_browser
from tests.support.sites import PASSWORD, SECRET_KEY, USERNAME, Stage, serving
from wsgiauth import Session, storage
from wsgiauth.testing import make_user

PAGE = PAGES["docs/apps.md"]
PROGRAMS = [name for name, _ in programs(PAGE)]


@pytest.fixture(scope="module")
def stage():
    return Stage()


@pytest.fixture(scope="module")
def address(stage):
    with serving(stage) as address:
        yield address


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory, address):
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    with start_browser(*chromium, profile) as started:
        yield started


@pytest.fixture
def folder(folder, address):
    """Return the reader's folder, where programs know the ports of this test."""
    for name in PROGRAMS:
        replace(folder / name, "127.0.0.1:8080", urlsplit(address).netloc)
    return folder


@pytest.fixture
def site(folder, stage, monkeypatch):
    """Return a function that serves a program of the page, and gives its site Ada."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for name, value in {
        "SECRET_KEY": SECRET_KEY,
        "BCRYPT_ROUNDS": "4",
        "DATABASE_URL": f"sqlite:///{folder}/wsgiauth.db",
    }.items():
        monkeypatch.setenv(name, value)

    def serve(name):
        stage.app = import_module(name).application
        make_user(stage.app, USERNAME, password=PASSWORD)

    yield serve
    for name in PROGRAMS:
        sys.modules.pop(name.removesuffix(".py"), None)
    storage.discard_connection(storage.current())


@pytest.fixture
def visitor(browser, address):
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return Visitor(browser, address)


def replace(path, old, new):
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def revoke_all():
    """End every session, while its clients keep their credentials."""
    assert Session.delete().execute() > 0


def test_every_program_is_run():
    blocks = [code(PAGE, kind) for kind in ("python", "js", "html")]
    assert PROGRAMS == ["htmx_site.py"]
    assert sum(map(len, blocks)) == len(PROGRAMS)


# htmx


@pytest.mark.parametrize("version", ["htmx-1.9", "htmx-2.0", "htmx-4.0"])
def test_htmx_leads_through_the_login_page_back_to_its_page(folder, site, visitor, version):
    modules = os.environ.get("HTMX") or skip_or_fail("HTMX does not name a folder: see .ci/run")
    shutil.copy(Path(modules, version, "dist/htmx.min.js"), folder)
    site("htmx_site")
    visitor.open("/?page=2")
    log_in = "/auth/login?next=%2F%3Fpage%3D2"
    assert visitor.path == log_in
    visitor.submit(USERNAME, PASSWORD)
    visitor.find("button[hx-get]").click()
    visitor.wait_until(lambda _: visitor.shown("#latest") == ["none yet"])

    revoke_all()
    visitor.press("Show the latest note")
    assert visitor.path == log_in
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/?page=2"

    revoke_all()
    visitor.find("[name=text]").send_keys("Buy milk")
    visitor.press("Save")
    assert visitor.path == "/auth/login?done=unsent&next=%2F%3Fpage%3D2"
    assert "was not processed" in visitor.find("main").text
    visitor.submit(USERNAME, PASSWORD)
    assert visitor.path == "/?page=2"
    visitor.find("[name=text]").send_keys("Buy <b>bread")
    visitor.find("form button").click()
    visitor.wait_until(lambda _: visitor.shown("#latest") == ["Buy <b>bread"])

    revoke_all()
    visitor.press("Archive")
    assert visitor.path == log_in
