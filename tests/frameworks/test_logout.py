"""The application's own login and logout, with which ours begins and ends."""

import re

import pytest

from tests.conftest import require
from tests.frameworks.conftest import PROGRAMS, RECIPES, Visitor
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import AuthMiddleware

(FORM,) = re.findall(r"^```html\n(.*?)^```$", RECIPES.read_text("utf-8"), re.MULTILINE | re.DOTALL)
with_logout = {}
exec(PROGRAMS["logout"], with_logout)  # noqa: S102 - the page's
with_logout = with_logout["with_logout"]


def who(environ, start_response):
    """Answer with the form of the page and the caller's name; at every path but /account."""
    if environ["PATH_INFO"] == "/account" and environ["wsgiauth.user"] is None:
        start_response("401 Unauthorized", [("Content-Type", "text/plain")])
        return [b""]
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
    return [f"{FORM} {environ.get('REMOTE_USER')}".encode()]


def test_the_form_ends_the_login(settings, ada):
    visitor = Visitor(AuthMiddleware(who, settings, challenge=True))
    page = visitor.log_in("/account")
    assert USERNAME in page
    assert page.form.submit(headers=SAME_ORIGIN, status=303).follow().request.path == "/"
    assert "None" in visitor.get("/")


@pytest.fixture
def own_login(recipe):
    require("flask")
    return Visitor(recipe("own_login").application)


def test_the_applications_logout_ends_the_login(own_login):
    own_login.log_in("/account")
    assert own_login.get("/account").json == {"user": USERNAME}
    kept = {"Cookie": f"wsgiauth={own_login.cookies['wsgiauth']}"}
    own_login.post("/logout", headers=SAME_ORIGIN, status=303)
    assert "wsgiauth" not in own_login.cookies
    own_login.get("/account", headers=BROWSER | kept, status=302)


def test_who_joins_there_is_logged_in(own_login):
    account = {"username": "Grace", "email": "grace@example.org", "password": PASSWORD}
    headers = {**SAME_ORIGIN, "Origin": "http://localhost"}
    joined = own_login.post("/join", account, headers=headers, status=303)
    assert joined.follow().json == {"user": "Grace"}
    refused = own_login.post("/join", account, headers=SAME_ORIGIN, status=409)
    assert refused.json.keys() == {"username", "email"}


@pytest.mark.promise(17)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:81"])
def test_a_form_of_another_site_logs_nobody_in(origin, own_login):
    account = {"username": "Eve", "email": "eve@example.org", "password": PASSWORD}
    own_login.post("/join", account, headers={**BROWSER, "Origin": origin}, status=403)
    assert "wsgiauth" not in own_login.cookies


@pytest.mark.promise(18)
def test_a_path_in_front_of_the_application_writes_no_other_header(settings):
    visitor = Visitor(AuthMiddleware(with_logout(who), settings))
    sent = visitor.get("/logout", extra_environ={"SCRIPT_NAME": "/a\r\nb/\xe9"}, status=307)
    assert sent.headers["Location"] == "/a%0D%0Ab/%E9/auth/logout"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_in_front_of_the_application_ends_the_login(method, settings, ada):
    visitor = Visitor(AuthMiddleware(with_logout(who), settings, challenge=True))
    visitor.log_in("/account")
    sent = visitor.request("/logout", method=method, headers=SAME_ORIGIN, status=307)
    visitor.request(sent.location, method=method, headers=SAME_ORIGIN, status=303)
    visitor.get("/account", headers=BROWSER, status=302)
