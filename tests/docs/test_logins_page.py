"""docs/sessions.md: its programs and commands do what it says, and its table is true."""

import json
import re
import runpy
import shutil

from tests.conftest import skip_or_fail
from tests.docs.accounts import ask
from tests.docs.pages import PAGES, section, shown
from tests.support.logins import make_stale
from tests.support.sites import BROWSER
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.app import ROUTES
from wsgiauth.storage import context
from wsgiauth.testing import bearer, logged_in, make_settings, make_user

LIST = section(PAGES["docs/sessions.md"], "List and revoke sessions")


def test_the_fields_are_those_of_a_listed_session():
    rows = re.findall(r"^- (`.*?):", LIST, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    schemas = ROUTES["/openapi.json"].document["components"]["schemas"]
    assert listed == list(schemas["Login"]["properties"])


def test_a_program_lists_its_logins_and_ends_the_others(run, serve, administrator, first_program):
    if shutil.which("curl") is None:
        skip_or_fail("curl is not installed")
    *_, (command, _) = first_program
    (log_in, _), *_ = shown(PAGES["docs/apps.md"], "curl")
    (show, _), (end, _) = shown(PAGES["docs/sessions.md"], "List and revoke sessions")
    with serve(command) as port:
        script = "\n".join([log_in, log_in, show, "echo", end]).replace("8080", str(port))
        before, after = map(json.loads, run(script).splitlines())
    assert [each["is_current"] for each in before["sessions"]] == [True, False]
    assert [each["browser"] for each in after["sessions"]] == ["curl"]


def test_a_sensitive_page_is_served(serve):
    with serve("waitress-serve --listen=127.0.0.1:8080 sensitive:application") as port:
        status, page = ask(f"http://127.0.0.1:{port}/", BROWSER)
    assert (status, 'action="/auth/login"' in page) == (200, True)


def test_a_sensitive_page_asks_for_the_password_again(folder, environ, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", environ["SECRET_KEY"])
    monkeypatch.chdir(folder)
    guarded = runpy.run_path(str(folder / "sensitive.py"))
    for view, name in (("payout", "ada"), ("delete", "root")):
        site = AuthMiddleware(guarded[view], make_settings())
        with context.using(site.database):
            user = make_user(site, name, is_superuser=True)
            browser, headers = logged_in(site, user), bearer(site, user)
            assert browser.get("/", headers=BROWSER).status_int in (200, 303)
            make_stale()
        to_confirm = browser.get("/", headers=BROWSER, status=302).headers["Location"]
        assert to_confirm == "/auth/confirm?next=%2F"
        refused = browser.get("/", headers=headers, status=401).headers["WWW-Authenticate"]
        title = "Proof of identity for sensitive pages"
        assert f"`WWW-Authenticate: {refused}`" in section(PAGES["docs/guards.md"], title)


def test_the_times_are_the_defaults():
    times = re.findall(r"`([A-Z_]+)` \((\d+) (\w+)\)", PAGES["docs/sessions.md"])
    assert {name for name, _, _ in times} == {
        "JWT_EXPIRY_MINUTES",
        "SESSION_HOURS",
        "REMEMBER_DAYS",
        "REMEMBER_IDLE_DAYS",
    }
    for name, number, unit in times:
        assert (int(number), unit.upper()) == (getattr(Settings(), name), name.split("_")[-1])
