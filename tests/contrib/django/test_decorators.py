"""The adapter's guards for views: they refuse as those for WSGI callables do."""

import pytest
from webtest import TestApp

from tests.support.demands import BADGE, Badge, demanded
from tests.support.logins import make_stale
from tests.support.sites import BROWSER
from wsgiauth import testing
from wsgiauth.contrib.django import login_required, permission_required


@pytest.mark.parametrize("path", ["/guarded", "/guarded-later"])
def test_a_browser_is_sent_to_the_login_page_and_a_program_is_asked_for_a_token(path, visitor):
    sent = visitor.get(path, headers=BROWSER, status=302)
    assert sent.location == f"/auth/login?next=%2F{path[1:]}"
    asked = visitor.get(path, headers={"Accept": "application/json"}, status=401)
    assert asked.headers["WWW-Authenticate"].startswith("Bearer ")
    assert asked.json["code"] == "unauthenticated"


@pytest.mark.parametrize("path", ["/guarded", "/guarded-later"])
def test_a_user_is_admitted(path, browser, make):
    user = make()
    assert browser(user).get(path).json["user"] == user.username


def test_the_permission_is_asked_of_wsgiauth(browser, make, key):
    writer = make(permissions=["blog.add_post"])
    browser(writer).get("/guarded-writer", status=200)
    client = browser(make())
    client.get("/guarded-writer", status=403)
    client.reset()
    client.get("/guarded-writer", headers=key(writer, "blog.add_post"), status=200)
    client.get("/guarded-writer", headers=key(writer), status=403)


def test_a_proof_must_be_recent(browser, make):
    client = browser(make())
    client.get("/recent", status=200)
    make_stale()
    sent = client.get("/recent", headers=BROWSER, status=302)
    assert sent.location == "/auth/confirm?next=%2Frecent"


def test_a_second_factor_is_demanded(browser, make):
    refused = browser(make()).get("/proven", status=401)
    assert "acr_values" in refused.headers["WWW-Authenticate"]


@pytest.mark.promise(96)
def test_a_session_that_lacks_something_is_nobody(site, make):
    user, client = make(), TestApp(site.application)
    with demanded(site.application, Badge()):
        lacking = testing.bearer(site.application, user, badge=False)
        browser = testing.logged_in(site.application, user, badge=False)
        for path in ("/guarded", "/guarded-later", "/guarded-writer", "/recent", "/proven"):
            refused = client.get(path, headers=lacking, status=403)
            assert refused.json["code"] == BADGE
            led = browser.get(path, headers=BROWSER, status=302)
            assert led.location == f"/auth/badge?next=%2F{path[1:]}"
        for path in ("/who", "/who-later"):
            assert user.username not in client.get(path, headers=lacking).text
        met = testing.bearer(site.application, user)
        assert user.username in client.get("/guarded", headers=met).text


def test_a_row_that_is_inactive_in_django_is_refused(browser, make, rows):
    user = make()
    client = browser(user)
    client.get("/guarded")
    rows.objects.filter(username=user.username).update(is_active=False)
    client.get("/guarded", status=403)


@pytest.mark.parametrize(
    "guard",
    [login_required, login_required(fresh=True), permission_required("a.b")],
    ids=["login", "fresh", "permission"],
)
@pytest.mark.parametrize("view", [type, "view"], ids=["a class", "a string"])
def test_a_guard_needs_a_function(guard, view):
    with pytest.raises(TypeError, match="method_decorator"):
        guard(view)
