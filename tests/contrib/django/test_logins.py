"""Django's own `login()` and `logout()`: the session of wsgiauth starts and ends with them."""

import pytest

from tests.contrib.django.conftest import change
from tests.support.sites import SAME_ORIGIN


def csrf(client):
    return {"csrfmiddlewaretoken": client.get("/form").text}


@pytest.mark.promise(62)
def test_djangos_logout_ends_the_session(browser, make):
    client = browser(make())
    kept = {"Cookie": f"wsgiauth={client.cookies['wsgiauth']}"}
    sent = client.post("/logout", csrf(client), headers=SAME_ORIGIN, status=302)
    assert "no-store" in sent.headers["Cache-Control"]
    assert "wsgiauth" not in client.cookies
    client.reset()
    assert client.get("/who", headers=kept).json == {"user": None}


def test_djangos_logout_of_an_anonymous_client_does_nothing(visitor):
    sent = visitor.post("/logout", csrf(visitor), headers=SAME_ORIGIN, status=302)
    assert "wsgiauth=" not in sent.headers.get("Set-Cookie", "")


def test_another_login_of_djangos_starts_a_session(visitor, browser, make):
    user = make("annabella")
    browser(user).get("/who")
    sent = visitor.get(f"/sign-on?name={user.username}")
    assert sent.json == {"user": user.username}
    assert "no-store" in sent.headers["Cache-Control"]
    assert visitor.get("/auth/me").json["username"] == user.username
    assert visitor.get("/who").json["user"] == user.username
    token = visitor.cookies["wsgiauth"]
    visitor.get(f"/sign-on?name={user.username}")  # again: the session stays
    assert visitor.cookies["wsgiauth"] == token


@pytest.mark.promise(62)
def test_it_keeps_the_data_of_before_the_login_for_its_user_alone(visitor, browser, make):
    user = make()
    browser(user).get("/who")
    visitor.get("/note?word=basket")
    visitor.get(f"/sign-on?name={user.username}")
    assert visitor.get("/note").json == {"words": ["basket"]}
    session = visitor.cookies["sessionid"]
    visitor.reset()
    visitor.set_cookie("sessionid", session)
    assert visitor.get("/who").json == {"user": None}
    assert visitor.get("/note").json == {"words": []}


def test_a_view_that_fails_logs_nobody_in(visitor, browser, make):
    user = make()
    browser(user).get("/who")
    visitor.get(f"/sign-on-and-fail?name={user.username}", status=500)
    assert visitor.get("/who").json == {"user": None}


def test_it_replaces_the_user_and_their_data(browser, make):
    ada, mary = make(), make()
    browser(mary).get("/who")
    client = browser(ada)
    client.get("/note?word=secret")
    client.get(f"/sign-on?name={mary.username}")
    assert client.get("/who").json["user"] == mary.username
    assert client.get("/note").json == {"words": []}


def test_a_logout_and_a_login_in_one_request(browser, make):
    user = make()
    client = browser(user)
    client.get("/leave-and-return")
    assert client.get("/who").json["user"] == user.username


@pytest.mark.promise(62)
def test_a_row_without_a_user_cannot_be_logged_in(visitor, site):
    name = "stranger"
    with pytest.raises(ValueError, match="is not connected with a user of wsgiauth"):
        raise_errors(visitor, site, f"/sign-on?name={name}")
    assert visitor.get("/who").json == {"user": None}


def raise_errors(visitor, site, path):
    """Ask for a page, and raise its exception, as the debugger of a developer shows it."""
    from django.test import override_settings

    with override_settings(DEBUG_PROPAGATE_EXCEPTIONS=True):
        visitor.get(path)


def test_an_inactive_user_cannot_be_logged_in(visitor, browser, make):
    make("boss", is_superuser=True)
    user = make()
    browser(user).get("/who")
    change(user, is_active=False)
    visitor.get(f"/sign-on?name={user.username}", status=403)
    assert visitor.get("/who").json == {"user": None}


@pytest.mark.promise(62)
def test_an_api_key_starts_no_session(visitor, browser, make, key):
    user = make()
    browser(user).get("/who")
    for path in (f"/sign-on?name={user.username}", "/leave-and-return"):
        visitor.get(path, headers=key(user), status=403)
    assert visitor.get("/who").json == {"user": None}


def test_the_backend_accepts_no_password(visitor):
    assert visitor.get("/with-password?username=ada&password=x").json == {"user": "None"}


@pytest.mark.promise(62)
def test_request_user_follows_the_functions_of_wsgiauth(browser, make):
    user, other = make(), make("grace")
    seen = browser(user).get(f"/leave-by-wsgiauth?name={other.username}").json["seen"]
    assert seen == [user.username, "", other.username]
