"""Tools for tests of a site with USERNAMES=off."""

import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD
from tests.testing.conftest import caller
from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, logged_in, make_user


@pytest.fixture
def site(make_site):
    return make_site(USERNAMES=False)


def test_a_name_is_that_of_the_address_and_the_username_is_made(site):
    user = make_user(site, "grace")
    assert (user.email, user.label) == ("grace@example.org", "grace@example.org")
    assert names.is_made(user.username)
    assert make_user(site, email="ada@example.net").label == "ada@example.net"


def test_the_usual_user_is_made_once(site):
    headers = bearer(site)
    seen = [
        caller(site, headers),
        caller(site, bearer(site)),
        logged_in(site).get("/").json["user"],
    ]
    with context.using(site.database):
        (ada,) = User.select()
    assert ada.email == "ada@example.org"
    assert seen == [ada.username] * 3
    assert TestApp(site).get("/", headers=headers).json["remote_user"] == ada.username
    assert caller(site, api_key(site, ada)) == ada.username


def test_a_user_logs_in_by_the_address(site):
    make_user(site, password=PASSWORD)
    login = {"username": "ada@example.org", "password": PASSWORD}
    TestApp(site).post_json("/auth/login", login, status=200)
