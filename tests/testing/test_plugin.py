"""The pytest fixtures, in whole tests as a site would have them."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from webob.dec import wsgify

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import login_required, permission_required
from wsgiauth.testing import (
    bearer,
    logged_in,
    make_user,
)

FIXTURES = [
    "wsgiauth_settings",
    "wsgiauth_app",
    "wsgiauth_user",
    "wsgiauth_group",
    "wsgiauth_bearer",
    "wsgiauth_api_key",
    "wsgiauth_app_client",
    "wsgiauth_authenticator",
    "wsgiauth_recovery_codes",
    "wsgiauth_provider_account",
    "wsgiauth_client",
    "wsgiauth_mailbox",
    "wsgiauth_webhooks",
]


def guest_book():
    """Return a site with a page, a form and something that not everybody may do."""
    entries = []

    @login_required(redirect_url="/auth/login")
    @wsgify
    def book(request):
        if request.method == "POST":
            entries.append(f"{request.user.username}: {request.POST['text']}")
        return f"<form method=post><input name=text></form>{'; '.join(entries)}"

    @permission_required("book.clear")
    @wsgify
    def clear(request):
        entries.clear()
        return "cleared"

    def route(environ, start_response):
        view = clear if environ["PATH_INFO"] == "/clear" else book
        return view(environ, start_response)

    return route


def test_a_walk_through_a_site(make_site):
    site = make_site(guest_book())
    client = logged_in(site, make_user(site, permissions=["book.clear"]))
    form = client.get("/").form
    form["text"] = "I was here"
    form.submit().mustcontain("ada: I was here")
    logged_in(site, make_user(site, "grace")).post("/clear", status=403)
    client.post("/clear").mustcontain("cleared")
    client.post("/auth/logout")
    assert (
        client.get("/", headers=BROWSER, status=302).headers["Location"].startswith("/auth/login")
    )


@pytest.mark.parametrize("cookie_secure", ["auto", "on"])
def test_a_client_that_logs_out_has_no_cookie_left(make_site, cookie_secure):
    site = make_site(COOKIE_SECURE=cookie_secure)
    client = logged_in(site)
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert client.get("/").json["error"] is None


def test_a_client_that_has_logged_out_can_log_in_again(site):
    client = logged_in(site, make_user(site, password=PASSWORD))
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    form = client.get("/auth/login", headers=BROWSER).form
    form["username"], form["password"] = "ada", PASSWORD
    form.submit(headers=SAME_ORIGIN, status=303)
    assert client.get("/").json["user"] == "ada"


# The fixtures, in a suite as a user would write it.

PLUGIN = """
pytest_plugins = ["wsgiauth.pytest_plugin"]
"""
CONFTEST = (
    PLUGIN
    + """
import pytest
from webob.dec import wsgify
from wsgiauth import AuthMiddleware, permission_required
from wsgiauth.testing import make_settings

@pytest.fixture
def wsgiauth_settings():
    return make_settings(MAIL_URL="memory:", WEBHOOKS=["https://billing.example/"])

@pytest.fixture
def wsgiauth_app(wsgiauth_settings):
    @permission_required("reports.read")
    @wsgify
    def report(request):
        return f"for {request.user.username}"

    return AuthMiddleware(report, wsgiauth_settings)
"""
)

SUITE = """
from webtest import TestApp

def test_a_stranger(wsgiauth_app):
    TestApp(wsgiauth_app).get("/", status=401)

def test_a_program(wsgiauth_app, wsgiauth_user, wsgiauth_bearer):
    ada = wsgiauth_user("ada", permissions=["reports.read"])
    assert TestApp(wsgiauth_app).get("/", headers=wsgiauth_bearer(ada)).text == "for ada"

def test_a_key(wsgiauth_app, wsgiauth_user, wsgiauth_api_key):
    key = wsgiauth_api_key(wsgiauth_user(permissions=["reports.read"]), ["reports.read"])
    assert TestApp(wsgiauth_app).get("/", headers=key).text == "for ada"

def test_provider(wsgiauth_provider_account, wsgiauth_app_client):
    assert callable(wsgiauth_provider_account)
    assert callable(wsgiauth_app_client)

def test_factors(wsgiauth_app, wsgiauth_user, wsgiauth_authenticator, wsgiauth_recovery_codes):
    ada, client = wsgiauth_user(password="four unrelated words"), TestApp(wsgiauth_app)
    app, codes = wsgiauth_authenticator(ada), wsgiauth_recovery_codes(ada)
    login = {"username": "ada", "password": "four unrelated words"}
    client.post_json("/auth/login", login, status=401)
    for code in (app.code(), codes[0]):
        client.post_json("/auth/login", login | {"code": code}, status=200)

def test_a_browser(wsgiauth_user, wsgiauth_client):
    ada = wsgiauth_user(permissions=["reports.read"])
    assert wsgiauth_client(ada).get("/").text == "for ada"
    wsgiauth_client(wsgiauth_user("grace")).get("/", status=403)

def test_a_member(wsgiauth_user, wsgiauth_group, wsgiauth_client):
    wsgiauth_group("readers", ["reports.read"])
    wsgiauth_client(wsgiauth_user(groups=["readers"])).get("/", status=200)

def test_somebody(wsgiauth_client):
    wsgiauth_client().get("/", status=403)

def test_a_password(wsgiauth_app, wsgiauth_user):
    wsgiauth_user(password="four unrelated words")
    login = {"username": "ada", "password": "four unrelated words"}
    TestApp(wsgiauth_app).post_json("/auth/login", login, status=200)

def test_a_mail(wsgiauth_app, wsgiauth_user, wsgiauth_mailbox):
    wsgiauth_user("ada")
    TestApp(wsgiauth_app).post_json("/auth/forgot", {"username": "ada"})
    (mail,) = wsgiauth_mailbox()
    assert mail["To"] == "ada@example.org"

def test_a_webhook(wsgiauth_user, wsgiauth_webhooks):
    wsgiauth_user("ada")
    (webhook,) = wsgiauth_webhooks()
    assert webhook.document["data"]["user"]["username"] == "ada"
"""


@pytest.fixture
def pytester(pytester, monkeypatch):
    """Load none of our own plugins, whose import takes longer than a suite."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


def test_pytest_loads_the_fixtures_only_for_suites_that_ask_for_them():
    assert not entry_points(group="pytest11", name="wsgiauth")


@pytest.mark.slow
def test_a_suite_with_the_fixtures_passes(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SUITE)
    strictly = ["-W", "error", "-W", "ignore:'cgi' is deprecated"]  # which WebOb imports
    pytester.runpytest_subprocess(*strictly).assert_outcomes(passed=SUITE.count("def test_"))


def test_a_suite_may_replace_the_settings(pytester):
    pytester.makeconftest(
        CONFTEST
        + """
@pytest.fixture
def wsgiauth_settings(wsgiauth_settings):
    from dataclasses import replace
    return replace(wsgiauth_settings, REGISTRATION=False)
"""
    )
    pytester.makepyfile(
        """
        from webtest import TestApp

        def test_nobody_registers(wsgiauth_app):
            TestApp(wsgiauth_app).get("/auth/register", status=404)
        """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_suite_that_defines_no_application_is_told_how(pytester):
    pytester.makeconftest(PLUGIN)
    names = ("wsgiauth_app", "wsgiauth_user", "wsgiauth_bearer")
    pytester.makepyfile("\n".join(f"def test_{name}({name}): pass" for name in names))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(errors=len(names))
    told = (
        "Define a fixture `wsgiauth_app` in your conftest.py that returns your application,"
        " as in `return AuthMiddleware(app, wsgiauth_settings)`."
    )
    assert result.outlines.count(told) == len(names)


def test_the_fixtures_tell_what_they_are(pytester):
    pytester.makeconftest(PLUGIN)
    result = pytester.runpytest_inprocess("--fixtures")
    for name in FIXTURES:
        line = rf"{name} -- .*pytest_plugin\.py:\d+"
        result.stdout.re_match_lines([line, "    (Return|Fail)"], consecutive=True)


# A run of pytest in an empty folder that tells what would be a trace of ours.
IDLE_RUN = """
import sys
import pytest

def note(event, arguments):
    if event == "sqlite3.connect" and "wsgiauth" in str(arguments):
        print("opened", arguments)

sys.addaudithook(note)
status = pytest.main(["-q", "-p", "wsgiauth.pytest_plugin", "-p", "no:cacheprovider"])
sys.exit(status)
"""


@pytest.mark.slow
def test_a_suite_that_asks_for_nothing_opens_no_database_and_makes_no_file(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass")
    run = subprocess.run(
        [sys.executable, "-B", "-c", IDLE_RUN],
        cwd=tmp_path,
        # The key would be refused if it were looked at.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SECRET_KEY": "x"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "opened" not in run.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["test_it.py"]


def test_a_name_is_no_user(site):
    for log_in in (bearer, logged_in):
        with pytest.raises(TypeError, match="must be a User of wsgiauth, not 'ada'"):
            log_in(site, "ada")
