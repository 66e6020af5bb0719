"""docs/apps.md: every app with its site; those of the browser in Chromium, htmx in each version."""

import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from subprocess import DEVNULL
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.conftest import require, skip_or_fail
from tests.docs.pages import PAGES, ROOT, code, commands, programs, section
from tests.support.browser import Visitor, start_browser
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.sites import PASSWORD, SECRET_KEY, USERNAME, Stage, running, serving
from wsgiauth import Session, storage
from wsgiauth.testing import api_key, make_user

PAGE = PAGES["docs/apps.md"].partition("\n## Clients that stay logged in\n")[0]
APPS = ROOT / "docs/examples/apps"
PROGRAMS = {
    "app.html",
    "app.js",
    "cookie.js",
    "cors.py",
    "cors_site.py",
    "htmx_site.py",
    "mobile_app.py",
    "notes_site.py",
    "notes_tool.py",
    "tokens.js",
    "use_mobile_app.py",
}
OF_CLIENTS = {"requests_client.py", "use_requests.py"}  # see test_clients.py
OTHER_ORIGIN = commands(code(section(PAGE, "A single-page app of another origin"), "console")[0])
TOOL = commands(code(section(PAGE, "A command-line tool"), "console")[0])
HOUR = 3600
PROCESSES = 3
FIVE_REQUESTS = """
    const [done] = arguments, {send} = await import("./account.js");
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => send("GET", "/notes")));
    done(answers.map(({status}) => status));
"""


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
        shutil.copy(APPS / name, folder)
        replace(folder / name, "127.0.0.1:8080", urlsplit(address).netloc)
    return folder


@pytest.fixture
def site(folder, stage, monkeypatch):
    """Return a function that serves a program of the page, and gives its site a clock and Ada."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    for name, value in {
        "SECRET_KEY": SECRET_KEY,
        "FACTOR_KEY": FACTOR_KEY,
        "BCRYPT_ROUNDS": "4",
        "DATABASE_URL": f"sqlite:///{folder}/wsgiauth.db",
    }.items():
        monkeypatch.setenv(name, value)

    def serve(name):
        application, asked = import_module(name).application, []

        def noting(environ, start_response):
            asked.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
            return application(environ, start_response)

        stage.app = noting
        accounts = sys.modules.get("notes_site", sys.modules[name]).application
        clock, tokens = SimpleNamespace(passed=0), accounts.site.tokens
        now = tokens.now
        tokens.now = lambda: now() + clock.passed
        return SimpleNamespace(
            accounts=accounts,
            asked=asked,
            ada=make_user(accounts, USERNAME, password=PASSWORD),
            clock=clock,
        )

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
    files = {path.name for path in APPS.iterdir() if path.suffix in {".html", ".js", ".py"}}
    assert files - {"htmx.min.js"} == PROGRAMS | OF_CLIENTS  # which readers save there
    assert [*programs(PAGE)] == []


def test_the_page_links_the_programs_and_shows_parts_of_them():
    linked = re.findall(r"\]\(examples/apps/(.+?)\)", PAGES["docs/apps.md"])
    assert sorted(linked) == sorted(PROGRAMS | OF_CLIENTS)
    texts = [(APPS / name).read_text("utf-8") for name in PROGRAMS]
    parts = [*code(PAGE, "python"), *code(PAGE, "js")]
    assert len(parts) >= 5
    for part in parts:
        assert any(part in text for text in texts), part


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


# Single-page apps


class Notes(Visitor):
    """A person at the app."""

    def log_in(self, password=PASSWORD):
        self.wait_for_message("Log in to see your notes.")
        self.type("username", USERNAME)
        self.type("password", password)
        self.find("#login button").click()

    def type(self, name, text):
        field = self.find(f"[name={name}]")
        field.clear()
        field.send_keys(text)

    def add(self, text):
        self.type("text", text)
        self.find("#new button").click()

    def log_out(self):
        self.find("#logout").click()
        self.wait_for_message("You are logged out.")

    def wait_for_message(self, text):
        self.wait_until(lambda _: self.shown("#message") == [text])

    def wait_for_notes(self, *notes):
        self.wait_until(lambda _: self.shown("#logout") and self.shown("#list li") == [*notes])

    def fetch(self, url, **options):
        """Return the status of a request by a script of the page, or what went wrong."""
        return self.browser.execute_async_script(
            "const [url, options, done] = arguments;"
            "fetch(url, options).then(({status}) => done(status), ({name}) => done(name))",
            url,
            options,
        )

    @property
    def stores(self):
        """What any script of the page can read."""
        return self.run("return [document.cookie, localStorage.length, sessionStorage.length]")


def test_an_app_of_the_same_origin_uses_the_cookie(site, browser, visitor, address):
    served = site("notes_site")
    app = Notes(browser, address)
    app.open("/")
    app.run("localStorage.clear(); sessionStorage.clear()")  # of other tests: our login page, htmx
    app.log_in("wrong")
    app.wait_for_message("The username and password do not match an active account.")
    app.type("password", PASSWORD)
    app.find("#login button").click()
    app.wait_for_notes()
    app.add("<b>Buy milk")
    app.wait_for_notes("<b>Buy milk")
    assert app.stores == ["", 0, 0]
    app.open("/")
    app.wait_for_notes("<b>Buy milk")

    served.clock.passed += 24 * HOUR
    app.add("Buy bread")
    app.log_in()
    app.wait_for_notes("<b>Buy milk")
    app.log_out()
    assert browser.get_cookies() == []
    app.open("/")
    factor = add_app(served.accounts, served.ada)
    app.log_in()
    app.wait_for_message("Send a code of your two-step verification as well.")
    app.type("code", factor.code())
    app.find("#login button").click()
    app.wait_for_notes("<b>Buy milk")


@pytest.mark.promise(17)
def test_another_port_adds_no_note(site, browser, visitor, address):
    site("notes_site")
    app = Notes(browser, address)
    app.open("/")
    app.log_in()
    app.wait_for_notes()
    with serving(lambda environ, start: start("200 OK", []) and []) as neighbour:
        app.browser.get(neighbour)
        note = {
            "method": "POST",
            "mode": "no-cors",
            "credentials": "include",
            "body": '{"text":""}',
        }
        assert app.fetch(f"{address}/notes", **note) == 0  # sent, and not readable
        assert app.fetch(f"{address}/notes") == "TypeError"
    app.open("/")
    app.wait_for_notes()


@pytest.fixture
def other_origin(folder, site, address, run, unmeasured):
    """Serve the app from another site as the page says, and yield its origin."""
    *preparations, (serve, _) = OTHER_ORIGIN
    command = serve.replace("8000", "8080").replace("python", sys.executable, 1)
    replaced = "\n".join(each for each, _ in preparations).replace(
        "127.0.0.1:8080", urlsplit(address).netloc
    )
    run(replaced)
    with running(command, cwd=folder, stdout=DEVNULL, stderr=DEVNULL) as port:
        replace(folder / "cors_site.py", "8000", str(port))
        yield f"http://localhost:{port}"


def test_an_app_of_another_origin_uses_tokens(site, browser, visitor, address, other_origin):
    served = site("cors_site")
    app = Notes(browser, other_origin)
    app.open("/")
    app.run("localStorage.clear(); sessionStorage.clear()")  # of other tests: our login page, htmx
    app.log_in("wrong")
    app.wait_for_message("The username and password do not match an active account.")
    app.type("password", PASSWORD)
    app.find("#login button").click()
    app.wait_for_notes()
    app.add("Buy milk")
    app.wait_for_notes("Buy milk")
    assert app.stores == ["", 0, 0]
    assert app.browser.get_cookies() == []

    served.clock.passed += 2 * HOUR  # longer than an access token lasts
    assert browser.execute_async_script(FIVE_REQUESTS) == [200] * 5
    assert served.asked.count("POST /auth/refresh") == 1

    revoke_all()
    app.add("Buy bread")
    app.log_in()
    app.wait_for_notes("Buy milk")
    served.clock.passed += 2 * HOUR
    app.log_out()
    assert Session.select().count() == 0
    app.open("/")
    app.wait_for_message("Log in to see your notes.")


def test_a_third_origin_can_read_nothing(site, browser, visitor, address, other_origin):
    site("cors_site")
    app = Notes(browser, address)
    app.browser.get(other_origin.replace("localhost", "127.0.0.1"))
    for path in ("/auth/me", "/auth/login", "/notes"):
        assert app.fetch(address + path) == "TypeError"
        assert app.fetch(address + path, headers={"Authorization": "Bearer x"}) == "TypeError"


def answer_nothing(environ, start_response):
    start_response("204 No Content", [])
    return []


@pytest.mark.parametrize("path", ["/auth/oauth/token", "/auth/userinfo", "/notes"])
def test_the_middleware_leaves_out_what_wsgiauth_answers_by_itself(folder, monkeypatch, path):
    monkeypatch.syspath_prepend(folder)
    origin = "https://app.example.org"
    app = TestApp(import_module("cors").Cors(answer_nothing, [origin]))
    monkeypatch.delitem(sys.modules, "cors")
    answer = app.options(path, headers={"Origin": origin})
    assert ("Access-Control-Allow-Origin" in answer.headers) is (path == "/notes")


# The mobile app and the tool


@pytest.mark.usefixtures("unmeasured")
def test_the_mobile_app_is_used(site, run):
    require("httpx")
    site("notes_site")
    assert run("python use_mobile_app.py") == "['Buy milk']\n{}\n"
    assert Session.select().count() == 0


@pytest.fixture
def mobile(site, address):
    """Return the mobile app of a person who has an account, and the site."""
    require("httpx")
    served = site("notes_site")
    program = import_module("mobile_app")
    account = program.Account(address, {})
    yield SimpleNamespace(
        account=account, LoginNeededError=program.LoginNeededError, **vars(served)
    )
    account.http.close()


def test_the_mobile_app_registers_and_says_what_is_wrong(mobile):
    errors = mobile.account.register(USERNAME, "lin@example.org", "short")
    assert sorted(errors) == ["password", "username"]
    assert mobile.account.register("lin", "lin@example.org", PASSWORD) == {}
    mobile.account.log_in("lin", PASSWORD)
    assert mobile.account.request("GET", "/auth/me").json()["username"] == "lin"


def test_the_mobile_app_asks_for_the_login_only_if_it_must(mobile):
    account = mobile.account
    with pytest.raises(mobile.LoginNeededError, match="unauthenticated"):
        account.request("GET", "/notes")
    with pytest.raises(mobile.LoginNeededError, match="invalid_credentials"):
        account.log_in(USERNAME, "wrong")
    account.log_in(USERNAME, PASSWORD)
    mobile.clock.passed += 2 * HOUR
    with ThreadPoolExecutor(PROCESSES) as threads:
        answers = list(threads.map(lambda _: account.request("GET", "/notes"), range(PROCESSES)))
    assert [each.json() for each in answers] == [[]] * PROCESSES
    assert mobile.asked.count("POST /auth/refresh") == 1
    revoke_all()
    with pytest.raises(mobile.LoginNeededError, match="invalid_grant"):
        account.request("GET", "/notes")
    account.log_in(USERNAME, PASSWORD)
    revoke_all()
    account.log_out()
    assert (account.keystore, account.access_token) == ({}, None)


def test_the_mobile_app_sends_a_code(mobile):
    factor = add_app(mobile.accounts, mobile.ada)
    with pytest.raises(mobile.LoginNeededError, match="second_factor_required"):
        mobile.account.log_in(USERNAME, PASSWORD)
    mobile.account.log_in(USERNAME, PASSWORD, factor.code())
    assert mobile.account.request("GET", "/notes").json() == []


@pytest.mark.usefixtures("unmeasured")
def test_the_tool_is_used_and_its_processes_refresh_once(folder, site, run):
    require("httpx")
    served = site("notes_site")
    (log_in, _), *middle, (log_out, _) = TOOL
    run(f"{log_in} <<< '{PASSWORD}'")
    for command, shown in middle:
        assert run(command) == shown
    tokens = folder / ".config/notes/tokens.json"
    assert tokens.stat().st_mode & 0o777 == 0o600
    assert tokens.parent.stat().st_mode & 0o777 == 0o700

    served.clock.passed += 2 * HOUR
    for_each = f"for each in $(seq {PROCESSES}); do python notes_tool.py list > $each.txt & done"
    assert run(f"{for_each}; wait; cat ?.txt") == "Buy milk\n" * PROCESSES
    assert served.asked.count("POST /auth/refresh") == 1
    assert tokens.stat().st_mode & 0o777 == 0o600
    served.clock.passed += 2 * HOUR
    run(log_out)
    assert (Session.select().count(), tokens.exists()) == (0, False)


@pytest.mark.usefixtures("unmeasured")
def test_the_tool_says_how_to_log_in_and_takes_a_key(folder, site, run, address):
    require("httpx")
    served = site("notes_site")
    ask = "python notes_tool.py list 2>&1 || true"
    assert run(ask) == "You are not logged in. Run: notes_tool.py login USERNAME\n"
    refused = run("python notes_tool.py login ada <<< wrong 2>&1 || true")
    assert refused == "The username and password do not match an active account.\n"
    factor = add_app(served.accounts, served.ada)
    run(f"printf '{PASSWORD}\\n{factor.code()}\\n' | python notes_tool.py login ada")
    revoke_all()
    assert run(ask) == "Your session has ended. Run: notes_tool.py login USERNAME\n"
    key = api_key(served.accounts, served.ada)["Authorization"].removeprefix("Bearer ")
    assert run(f"NOTES_KEY={key} python notes_tool.py list") == "\n"
    assert run(f"export NOTES_KEY={key}x; {ask}") == "The API key is not valid.\n"
