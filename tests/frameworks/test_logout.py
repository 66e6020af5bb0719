"""The application's own logout, which does not end our login unless it is made to."""

import re

import pytest

from tests.conftest import require
from tests.frameworks.conftest import PROGRAMS, RECIPES, Visitor
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME
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


def test_flask_logins_logout_ends_the_login_once_it_is_followed(recipe):
    require("flask_login")
    visitor = Visitor(recipe("flask_login").application)
    visitor.log_in("/account")
    sent = visitor.post("/logout", headers=SAME_ORIGIN, status=307)
    assert visitor.get("/account").json == {"user": USERNAME}
    visitor.post(sent.location, headers=SAME_ORIGIN, status=303)
    visitor.get("/account", headers=BROWSER, status=302)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_in_front_of_the_application_ends_the_login(method, settings, ada):
    visitor = Visitor(AuthMiddleware(with_logout(who), settings, challenge=True))
    visitor.log_in("/account")
    sent = visitor.request("/logout", method=method, headers=SAME_ORIGIN, status=307)
    visitor.request(sent.location, method=method, headers=SAME_ORIGIN, status=303)
    visitor.get("/account", headers=BROWSER, status=302)
