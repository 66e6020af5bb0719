"""Second factors of users in tests."""

import itertools

import pyotp
import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from tests.testing.conftest import caller
from wsgiauth import Session
from wsgiauth.features.factors import totp
from wsgiauth.storage import context
from wsgiauth.testing import (
    add_authenticator,
    bearer,
    logged_in,
    make_user,
    recovery_codes,
)

LOGIN = {"username": "ada", "password": PASSWORD}


def test_a_login_asks_for_the_code_of_the_app(site):
    ada = make_user(site, password=PASSWORD)
    client = TestApp(site)
    client.post_json("/auth/login", LOGIN)
    app = add_authenticator(site, ada)
    refused = client.post_json("/auth/login", LOGIN, status=401)
    assert refused.json["code"] == "second_factor_required"
    client.post_json("/auth/login", LOGIN | {"code": app.code()})


def test_a_code_works_once_until_the_app_is_asked_again(site):
    app = add_authenticator(site, make_user(site, password=PASSWORD))
    client, code = TestApp(site), app.code()
    client.post_json("/auth/login", LOGIN | {"code": code})
    client.post_json("/auth/login", LOGIN | {"code": code}, status=401)
    for _ in range(3):
        client.post_json("/auth/login", LOGIN | {"code": app.code()})


def test_a_code_can_be_used_for_half_a_minute(site):
    now = 2_000_000_000 // totp.STEP * totp.STEP + totp.STEP - 1
    site.site.tokens.now = lambda: now
    app = add_authenticator(site, make_user(site, password=PASSWORD))
    code = app.code()
    now += totp.STEP
    TestApp(site).post_json("/auth/login", LOGIN | {"code": code})


def test_an_app_is_added_though_a_step_ends_meanwhile(site):
    readings = itertools.count(2_000_000_000, totp.STEP)
    site.site.tokens.now = lambda: next(readings)
    ada = make_user(site, password=PASSWORD)
    add_authenticator(site, ada, "Phone")
    with context.using(site.database):
        assert [each.name for each in totp.devices(ada)] == ["Phone"]


def test_the_secret_of_an_app_makes_the_same_codes_elsewhere(site):
    now = site.site.tokens.now()
    site.site.tokens.now = lambda: now
    app = add_authenticator(site)
    assert pyotp.TOTP(app.secret).at(int(now)) == app.code()
    assert app.secret not in repr(app)


def test_a_browser_enters_a_recovery_code(site):
    ada = make_user(site, password=PASSWORD)
    add_authenticator(site, ada)
    codes = recovery_codes(site, ada)
    assert len(set(codes)) == 10
    browser = TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})
    page = browser.post("/auth/login", LOGIN, headers=SAME_ORIGIN, status=303).follow()
    page.forms["recovery-code"]["code"] = codes[0]
    page.forms["recovery-code"].submit(headers=SAME_ORIGIN, status=303)
    assert browser.get("/").json["user"] == "ada"


def test_an_app_and_codes_are_for_a_new_user_unless_one_is_given(site):
    add_authenticator(site)
    recovery_codes(site)
    grace = make_user(site, "grace")
    add_authenticator(site, grace, "Tablet")
    with context.using(site.database):
        assert [device.name for device in totp.devices(grace)] == ["Tablet"]


@pytest.mark.parametrize("log_in", [bearer, logged_in])
def test_a_login_is_proven_as_that_of_its_user_unless_the_test_says_otherwise(site, log_in):
    ada = make_user(site)

    def methods(**options):
        Session.delete().execute()
        log_in(site, ada, **options)
        return Session.get().methods

    assert (methods(), methods(second_factor=True)) == ("pwd", "pwd otp")
    add_authenticator(site, ada)
    assert (methods(), methods(second_factor=False)) == ("pwd otp", "pwd")


def test_a_login_proven_by_the_password_alone_is_not_fresh_for_a_user_with_an_app(site):
    ada = make_user(site)
    app = add_authenticator(site, ada)
    close = {"headers": bearer(site, ada, second_factor=False), "status": 401}
    refused = TestApp(site).post_json("/auth/totp", {"name": "Tablet"}, **close)
    assert refused.json["code"] == "insufficient_user_authentication"
    confirmed = TestApp(site).post_json(
        "/auth/confirm", {"code": app.code()}, headers=bearer(site, ada, second_factor=False)
    )
    assert caller(site, {"Authorization": f"Bearer {confirmed.json['access_token']}"}) == "ada"


@pytest.mark.parametrize("second_factor", [None, False])
def test_a_login_is_enough_for_the_site_unless_the_test_says_otherwise(make_site, second_factor):
    site = make_site(SECOND_FACTOR="all")
    headers = bearer(site, second_factor=second_factor)
    assert caller(site, headers) == (None if second_factor is False else "ada")


@pytest.mark.parametrize("give", [add_authenticator, recovery_codes])
def test_without_a_factor_key_there_are_no_second_factors(make_site, give):
    with pytest.raises(ValueError, match="no second factors, because it has no FACTOR_KEY"):
        give(make_site(FACTOR_KEY=None))


@pytest.mark.parametrize("give", [add_authenticator, recovery_codes])
def test_a_deleted_user_gets_no_second_factor(site, give):
    ada = make_user(site)
    ada.delete_instance()
    with pytest.raises(ValueError, match=r"ada.*has been deleted"):
        give(site, ada)
