"""Settings for tests."""

import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD, USERNAME, echo
from tests.testing.conftest import caller
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import PER_ADDRESS
from wsgiauth.storage import context
from wsgiauth.testing import (
    bearer,
    make_settings,
    make_user,
)


def test_settings_for_tests_have_a_random_key():
    one, other = make_settings(), make_settings()
    assert one.SECRET_KEY != other.SECRET_KEY
    assert len(one.SECRET_KEY) >= 64


def test_settings_for_tests_can_be_changed():
    settings = make_settings(REGISTRATION=False, SECRET_KEY=None, JWT_ISSUER="x")
    assert (settings.REGISTRATION, settings.SECRET_KEY, settings.JWT_ISSUER) == (False, None, "x")


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_the_random_key_is_long_enough_for_every_algorithm(make_site, algorithm):
    site = make_site(JWT_ALGORITHM=algorithm)
    assert caller(site, bearer(site)) == "ada"


def test_a_wrong_change_is_refused_by_the_settings_name():
    with pytest.raises(ConfigurationError, match=r"^BCRYPT_ROUNDS must be"):
        make_settings(BCRYPT_ROUNDS=3)
    with pytest.raises(TypeError, match="SECRETKEY"):
        make_settings(SECRETKEY="x")


def test_every_site_has_an_empty_database_of_its_own():
    settings = make_settings()
    sites = [AuthMiddleware(echo, settings) for _ in range(2)]
    for site in sites:
        make_user(site)
        with context.using(site.database):
            assert User.select().count() == 1
        storage.discard_connection(site.database)


def test_a_password_is_hashed_at_bcrypts_least_cost(site, hashings):
    account = {"username": USERNAME, "email": "ada@example.org", "password": PASSWORD}
    TestApp(site).post_json("/auth/register", account, status=201)
    TestApp(site).post_json("/auth/login", account, status=200)
    assert set(hashings) == {4}


def test_settings_for_tests_limit_no_address():
    settings = make_settings()
    assert {getattr(settings, name) for name in PER_ADDRESS} == {0}


def test_all_tests_may_come_from_the_same_address(make_site):
    client = TestApp(make_site(LOGIN_FAILURES_PER_ACCOUNT=0))
    for number in range(25):
        name = f"user{number}"
        account = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
        client.post_json("/auth/register", account, status=201)
    for _ in range(55):
        client.post_json("/auth/login", {"username": "ada", "password": "x"}, status=401)
