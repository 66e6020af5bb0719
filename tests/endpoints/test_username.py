"""GET and POST /auth/username."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.logins import make_stale
from tests.support.processes import meet
from tests.support.sites import (
    BROWSER,
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    SECRET_KEY,
    USERNAME,
    echo,
)
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.accounts import create_user, delete_user
from wsgiauth.accounts.models import User
from wsgiauth.testing import bearer as bearer_at
from wsgiauth.testing import logged_in

NEW = "Lovelace"
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


def rename(client, username, headers=None, status="*"):
    fields = {"username": username}
    return client.post_json("/auth/username", fields, headers=headers, status=status)


def log_in(client, username):
    credentials = {"username": username, "password": PASSWORD}
    return client.post_json("/auth/login", credentials, status="*").status_int


@pytest.mark.every_database
def test_a_program_changes_its_name_and_stays_logged_in(client, ada, bearer):
    headers = bearer(ada)
    renamed = rename(client, NEW, headers, 200)
    profile = client.get("/auth/me", headers=headers).json
    assert (profile, profile["username"]) == (renamed.json, NEW)
    assert (log_in(client, USERNAME), log_in(client, NEW.lower())) == (401, 200)


@pytest.mark.every_database
def test_a_browser_changes_its_name_and_the_account_page_says_so(browser):
    page = browser.get("/auth/account", headers=BROWSER).click("Change your username")
    assert page.html.strong.text == USERNAME
    page.form["username"] = NEW
    done = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert done.html.find(role="status").text == "Your username has been changed."
    assert NEW in done


def test_the_old_name_can_be_registered(client, settings, ada, bearer):
    rename(client, NEW, bearer(ada), 200)
    create_user(USERNAME, f"x{EMAIL}", PASSWORD, settings=settings)


@pytest.mark.every_database
def test_a_taken_name_is_refused(client, browser, settings, ada, bearer):
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    refused = rename(client, "GRACE", bearer(ada), 409)
    assert refused.json["code"] == "taken"
    assert refused.json["errors"] == {"username": ["This username is taken."]}
    page = browser.post("/auth/username", {"username": "grace"}, headers=SAME_ORIGIN, status=409)
    assert page.html.find(id="username-error").text == "This username is taken."
    assert page.html.strong.text == USERNAME
    assert page.form["username"].value == "grace"


@pytest.mark.parametrize("username", ["", "a@b", USERNAME])
def test_a_name_that_breaks_a_rule_is_refused_and_not_counted(settings, ada, bearer, username):
    site = AuthMiddleware(echo, replace(settings, REGISTRATIONS_PER_ADDRESS=1))
    client, headers = TestApp(site), bearer(ada)
    for _ in range(3):
        refused = rename(client, username, headers, 422)
        assert refused.json["errors"].keys() == {"username"}
    rename(client, NEW, headers, 200)


def test_the_case_of_letters_can_be_changed(client, ada, bearer):
    assert rename(client, USERNAME.upper(), bearer(ada), 200).json["username"] == USERNAME.upper()


@pytest.mark.promise(12)
def test_names_cannot_be_tried_without_end(settings, ada, bearer):
    site = AuthMiddleware(echo, replace(settings, REGISTRATIONS_PER_ADDRESS=2))
    client, headers = TestApp(site), bearer(ada)
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    for _ in range(2):
        rename(client, "Grace", headers, 409)
    refused = rename(client, NEW, headers, 429)
    assert int(refused.headers["Retry-After"]) > 0
    assert User.get_by_id(ada.id).username == USERNAME


def test_the_client_is_known_under_the_new_name(stopped_throttle, settings, ada, bearer):
    site = AuthMiddleware(echo, replace(settings, LOGIN_FAILURES_PER_ACCOUNT=1))
    client = TestApp(site)
    assert log_in(client, USERNAME) == 200
    rename(client, NEW, bearer(ada), 200)
    stranger = TestApp(site, extra_environ={"REMOTE_ADDR": "198.51.100.1"})
    wrong = {"username": NEW, "password": "wrong"}
    assert {stranger.post_json("/auth/login", wrong, status="*").status_int for _ in "123"} == {
        401,
        429,
    }
    assert log_in(client, NEW) == 200


@pytest.mark.promise(12)
def test_another_name_gives_no_further_guesses(stopped_throttle, settings, ada, bearer):
    client, headers = TestApp(AuthMiddleware(echo, settings)), bearer(ada)
    assert log_in(client, USERNAME) == 200
    wrong = {"current_password": "wrong", "new_password": PASSWORD}
    for number in range(3):
        statuses = [
            client.post_json("/auth/password", wrong, headers=headers, status="*").status_int
            for _ in range(6)
        ]
        assert statuses == ([401] * 5 + [429] if number == 0 else [429] * 6)
        rename(client, f"{NEW}{number}", headers, 200)


@pytest.mark.promise(46)
def test_a_stale_login_is_asked_for_a_proof(client, browser, ada, bearer):
    headers = bearer(ada)
    make_stale()
    refused = rename(client, NEW, headers, 401)
    assert refused.json["code"] == "insufficient_user_authentication"
    asked = browser.get("/auth/username", headers=BROWSER, status=302)
    assert asked.location == "/auth/confirm?next=%2Fauth%2Fusername"
    browser.post("/auth/username", {"username": NEW}, headers=SAME_ORIGIN, status=303)
    assert User.get().username == USERNAME


def test_a_script_gets_the_profile(browser):
    fields = {"username": NEW}
    assert browser.post("/auth/username", fields, headers=SCRIPT).json["username"] == NEW


def test_a_user_who_is_deleted_meanwhile_is_not_logged_in(client, ada, bearer, monkeypatch):
    def begin(_):
        delete_user(User.get())

    monkeypatch.setattr("wsgiauth.throttling.attempts.Attempt.begin", begin)
    assert rename(client, NEW, bearer(ada), 401).json["code"] == "invalid_token"


def claim(url, number):
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    site = AuthMiddleware(echo, replace(settings, REGISTRATIONS_PER_ADDRESS=0))
    headers = bearer_at(site, User.get(User.username == f"user{number}"))
    meet()
    return rename(TestApp(site), NEW, headers).status_int


@pytest.mark.every_database
@pytest.mark.promise(25)
def test_of_eight_users_who_take_one_name_one_gets_it(in_processes, site, settings):
    for number in range(8):
        create_user(f"user{number}", f"{number}@example.org", PASSWORD, settings=settings)
    statuses = in_processes(claim, settings.DATABASE_URL, range(8))
    assert sorted(statuses) == [200] + [409] * 7
