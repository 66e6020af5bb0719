"""Django's sessions: they keep the application's data, of one user each, and identify nobody."""

import pytest

from tests.support.sites import SAME_ORIGIN

CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}


def words(client, word=None, **options):
    return client.get(f"/note?word={word}" if word else "/note", **options).json["words"]


def test_a_session_keeps_the_data_of_a_user(browser, make):
    client = browser(make())
    assert [words(client, each) for each in ("a", "b", None)] == [["a"], ["a", "b"], ["a", "b"]]


def test_no_session_is_made_for_the_login(browser, make, bearer, visitor):
    from django.contrib.sessions.models import Session

    number = Session.objects.count()
    client = browser(make())
    client.get("/who")
    assert "sessionid" not in client.cookies
    words(visitor, headers=bearer(make()))
    assert Session.objects.count() == number


@pytest.mark.promise(62)
def test_djangos_session_alone_logs_nobody_in(browser, make, visitor):
    client = browser(make())
    words(client, "secret")
    visitor.set_cookie("sessionid", client.cookies["sessionid"])
    assert visitor.get("/who").json == {"user": None}
    assert words(visitor) == []


@pytest.mark.promise(62)
def test_after_a_logout_nobody_is_logged_in_and_the_data_are_gone(browser, make):
    user = make()
    client = browser(user)
    words(client, "secret")
    client.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert client.get("/who").json == {"user": None}
    assert words(client) == []
    assert "sessionid" not in client.cookies


@pytest.mark.promise(62)
def test_the_next_user_of_a_browser_does_not_see_the_data(browser, make):
    clients = [browser(make()) for _ in range(2)]
    words(clients[0], "secret")
    (cookie,) = (each for each in clients[0].cookiejar if each.name == "sessionid")
    clients[1].cookiejar.set_cookie(cookie)
    assert words(clients[1], "mine") == ["mine"]
    assert words(clients[1]) == ["mine"]


def test_data_of_before_the_login_are_kept_under_another_key(browser, make, visitor):
    assert words(visitor, "basket") == ["basket"]
    key = visitor.cookies["sessionid"]
    client = browser(make())
    client.set_cookie("sessionid", key)
    assert words(client) == ["basket"]
    assert client.cookies["sessionid"] != key
    assert words(visitor) == []  # whoever knew the key before the login


def test_a_session_of_a_former_login_of_djangos_is_nobodys(browser, make, rows, client_of_django):
    user = make()
    row = rows.objects.create_user(f"former-{user.username}")
    client_of_django.force_login(row, backend="django.contrib.auth.backends.ModelBackend")
    session = client_of_django.session
    session["words"] = ["secret"]
    session.save()
    for client in (browser(user), browser(make())):
        client.set_cookie("sessionid", client_of_django.cookies["sessionid"].value)
        assert words(client) == []


@pytest.fixture
def client_of_django(site):
    from django.test import Client

    return Client()


def test_an_expired_session_is_no_session(browser, make):
    client = browser(make())
    client.set_cookie("sessionid", "x" * 32)
    assert words(client) == []
    assert client.get("/who").json["user"]


def test_responses_that_use_no_session_do_not_vary_by_it(visitor):
    words(visitor, "a")
    assert "Vary" not in visitor.get("/time").headers


@pytest.mark.promise(63)
def test_error_reports_cannot_have_the_login_cookie(browser, make):
    client = browser(make())
    client.set_cookie("theme", "dark")
    assert client.get("/cookies").json == {"theme": "dark"}
    assert client.get("/who").json["user"]


def test_a_streamed_response_has_the_user(browser, make):
    user = make()
    assert browser(user).get("/twice").text == user.username * 2


@pytest.mark.promise(63)
def test_djangos_forms_keep_their_protection(browser, make, bearer, visitor):
    user = make()
    client = browser(user)
    token = client.get("/form").text
    client.post("/form", {"csrfmiddlewaretoken": token}, headers=SAME_ORIGIN, status=200)
    client.post("/form", headers=SAME_ORIGIN, status=403)
    client.post("/form", headers=bearer(user), status=403)
    visitor.post("/form", headers=SAME_ORIGIN, status=403)


@pytest.mark.promise(63)
def test_another_site_posts_as_nobody(browser, make):
    client = browser(make())
    client.post("/who", headers=CROSS_SITE, status=403)
    assert client.get("/who").json["user"]


def test_a_token_speaks_for_its_user_in_another_ones_browser(browser, make, bearer):
    ada, mary = make(), make()
    client = browser(ada)
    assert client.get("/who", headers=bearer(mary)).json["user"] == mary.username
    assert client.get("/who").json["user"] == ada.username
