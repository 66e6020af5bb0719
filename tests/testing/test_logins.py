"""Headers and clients that are logged in, at any age."""

import itertools
import sys
import time
from functools import partial

import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD, SAME_ORIGIN, echo
from tests.testing.conftest import caller
from wsgiauth import Session, storage
from wsgiauth.accounts.models import User
from wsgiauth.storage import context
from wsgiauth.testing import (
    add_authenticator,
    api_key,
    bearer,
    logged_in,
    mailbox,
    make_group,
    make_settings,
    make_user,
    recovery_codes,
)


def test_a_header_identifies_its_user(site):
    make_user(site)
    grace = make_user(site, "grace")
    assert caller(site, bearer(site, grace)) == "grace"


def test_a_header_is_for_a_new_user_unless_one_is_given(site):
    assert caller(site, bearer(site)) == "ada"


def test_each_header_is_a_login_of_its_own(site):
    ada = make_user(site)
    one, other = bearer(site, ada), bearer(site, ada)
    TestApp(site).post("/auth/logout", headers=one)
    assert (caller(site, one), caller(site, other)) == (None, "ada")


@pytest.mark.parametrize("cookie_secure", ["auto", "on"])
def test_a_client_is_logged_in(make_site, cookie_secure):
    site = make_site(COOKIE_SECURE=cookie_secure)
    client = logged_in(site, make_user(site, "grace"))
    assert isinstance(client, TestApp)
    assert [client.get("/").json["user"] for _ in range(2)] == ["grace", "grace"]


def test_a_client_is_for_a_new_user_unless_one_is_given(site):
    assert logged_in(site).get("/").json["user"] == "ada"


def test_clients_of_two_users_are_kept_apart(site):
    clients = [logged_in(site, make_user(site, name)) for name in ("ada", "grace")]
    assert [client.get("/").json["user"] for client in clients] == ["ada", "grace"]


def forget(user):
    user.delete_instance()


def deactivate(user):
    user.is_active = False
    user.save()


def test_an_api_key_has_the_permissions_that_are_asked_for(site):
    grace = make_user(site, "grace", permissions=["a.read", "a.write"])
    shown = TestApp(site).get("/auth/me", headers=api_key(site, grace, ["a.read"])).json
    assert (shown["username"], shown["permissions"]) == ("grace", ["a.read"])
    assert TestApp(site).get("/auth/me", headers=api_key(site, grace)).json["permissions"] == []
    with pytest.raises(ValueError, match="permissions of its owner"):
        api_key(site, grace, ["b.other"])


def test_a_user_whom_the_application_has_changed_can_log_in(site):
    user = make_user(site)
    User.update(hashed_password=user.hashed_password).execute()
    assert bearer(site, user)
    assert logged_in(site, user)


def test_a_user_who_cannot_log_in_is_refused(site):
    for number, lose in enumerate([deactivate, forget]):
        user = make_user(site, f"ada{number}")
        lose(user)
        for log_in in (bearer, logged_in, partial(api_key, permissions=["a.read"])):
            with pytest.raises(ValueError, match=r"ada.*cannot log in: inactive or deleted"):
                log_in(site, user)


# Logins of any age.


def test_a_login_is_like_that_of_a_browser_or_of_a_program(site):
    user = make_user(site, password=PASSWORD)
    account = {"username": "ada", "password": PASSWORD}
    lives = []
    for log_in in (
        lambda: TestApp(site).post("/auth/login", account, headers=SAME_ORIGIN),
        lambda: logged_in(site, user),
        lambda: TestApp(site).post("/auth/login", {**account, "remember": "on"}, SAME_ORIGIN),
        lambda: logged_in(site, user, remember=True),
        lambda: TestApp(site).post_json("/auth/login", account),
        lambda: bearer(site, user),
    ):
        Session.delete().execute()
        log_in()
        login = Session.get()
        lives.append((login.idle, login.ends_at - login.authenticated_at, login.methods))
    assert lives[::2] == lives[1::2]
    assert len(set(lives)) == 3


def test_a_login_lasts_as_long_on_a_slow_machine(site):
    times = itertools.count(int(time.time()))
    site.site.tokens.now = lambda: next(times)
    logged_in(site)
    login = Session.get()
    assert login.ends_at - login.authenticated_at == 12 * 3600


def test_a_login_can_be_stale(site):
    for number, log_in in enumerate([bearer, logged_in]):
        before = time.time()
        log_in(site, make_user(site, f"ada{number}"), confirmed_minutes_ago=20)
        login = Session.select().order_by(Session.user.desc()).get()
        assert 0 <= login.authenticated_at + 20 * 60 - int(before) <= 60


def test_a_login_that_is_about_to_end_is_prolonged_by_a_request(site):
    client = logged_in(site, minutes_left=1)
    about_to_end = Session.get().expires_at
    assert client.get("/").json["user"] == "ada"
    assert Session.get().expires_at >= about_to_end + 59 * 60


def test_a_remembered_browser_can_be_about_to_end(site):
    client = logged_in(site, remember=True, minutes_left=1)
    about_to_end = Session.get().expires_at
    assert client.get("/").json["user"] == "ada"
    assert Session.get().expires_at >= about_to_end + 13 * 24 * 3600


def test_a_login_can_have_ended(site):
    seen = logged_in(site, minutes_left=0).get("/").json
    assert (seen["user"], seen["error"]) == (None, "invalid_token")
    assert caller(site, bearer(site, minutes_left=0)) is None


ACTIONS = [
    make_user,
    lambda wrong: make_group(wrong, "editors"),
    bearer,
    lambda wrong: bearer(wrong, User()),
    logged_in,
    lambda wrong: logged_in(wrong, User()),
    mailbox,
    add_authenticator,
    recovery_codes,
]


def test_anything_but_the_middleware_is_refused_with_what_to_pass(site):
    for wrong in (echo, TestApp(site), None):
        for action in ACTIONS:
            expected = r"must be the AuthMiddleware itself.* app\.extensions"
            with pytest.raises(TypeError, match=expected):
                action(wrong)


def test_without_webtest_only_the_client_is_missing(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "webtest", None)
    with pytest.raises(ImportError, match="webtest"):
        logged_in(site)
    assert bearer(site)


def test_two_sites_in_one_process_are_kept_apart(make_site):
    key = make_settings().SECRET_KEY
    one, other = make_site(SECRET_KEY=key), make_site(SECRET_KEY=key)
    make_user(other, "grace")
    ada = make_user(one)
    headers = bearer(one, ada)
    client = logged_in(one, ada)
    assert (caller(one, headers), caller(other, headers)) == ("ada", None)
    assert client.get("/").json["user"] == "ada"
    make_user(other, "ada")
    with context.using(other.database):
        assert [user.username for user in User.select().order_by(User.id)] == ["grace", "ada"]


def test_a_user_of_another_site_is_refused(make_site):
    one, other = make_site(), make_site()
    ada = make_user(one, "ada")
    make_user(other, "grace")
    for log_in in (bearer, logged_in):
        with pytest.raises(ValueError, match="ada"):
            log_in(other, ada)


def test_the_database_of_the_context_stays_what_it_was(make_site):
    one, other = make_site(), make_site()
    logged_in(one, make_user(one))
    assert storage.current() is other.database
