"""Users and groups for tests."""

import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD
from tests.testing.conftest import caller
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.storage import context
from wsgiauth.testing import (
    bearer,
    logged_in,
    make_group,
    make_user,
)


def test_a_user_is_there_with_a_name_and_an_address(site):
    user = make_user(site)
    assert (user.username, user.email, user.is_active) == ("ada", "ada@example.org", True)
    assert make_user(site, "grace").email == "grace@example.org"
    with context.using(site.database):
        assert User.objects.get(username="ada") == user


def test_a_user_has_the_fields_and_permissions_that_are_asked_for(site):
    user = make_user(
        site, "ada", email="a@example.com", is_staff=True, permissions=["reports.read", "a.b"]
    )
    assert (user.email, user.is_staff, user.is_superuser) == ("a@example.com", True, False)
    assert user.permissions == {"a.b", "reports.read"}


def test_an_operator_has_proven_the_address_of_a_verified_user(site):
    user = make_user(site, is_verified=True)
    assert (user.email_verified_by, user.email_verified_at is None) == ("operator", False)
    assert make_user(site, "grace").email_verified_at is None


def test_a_user_is_in_the_groups_that_are_asked_for(site):
    group = make_group(site, "Editors", ["reports.read"])
    user = make_user(site, groups=("editors", "writers"))
    assert [each.name for each in user.groups] == ["Editors", "writers"]
    assert (user.permissions, list(group.members)) == ({"reports.read"}, [user])


def test_a_group_is_made_once(site):
    group = make_group(site, "editors")
    assert make_group(site, "Editors", ["a.b"]) == group
    assert group.permissions == {"a.b"}


def test_a_user_without_a_password_costs_no_hash(site, hashings):
    user = make_user(site)
    bearer(site, user)
    logged_in(site, user)
    assert hashings == []


def test_nobody_logs_in_with_the_password_that_nobody_knows(site, hashings):
    make_user(site)
    guesses = ["ada", "password", "secret", PASSWORD]
    for password in guesses:
        login = {"username": "ada", "password": password}
        TestApp(site).post_json("/auth/login", login, status=401)
    assert hashings == [4] * len(guesses)  # compared with a real hash, as cheap as the others


def test_a_user_with_a_password_logs_in_by_it(site, hashings):
    user = make_user(site, password=PASSWORD)
    assert hashings == [4]
    login = {"username": "ada", "password": PASSWORD}
    token = TestApp(site).post_json("/auth/login", login, status=200).json["access_token"]
    assert caller(site, {"Authorization": f"Bearer {token}"}) == user.username


def test_a_user_who_cannot_be_is_refused(site):
    make_user(site)
    for error, fields in (
        (TakenError, {"username": "ADA", "email": "x@example.org"}),
        (TakenError, {"username": "x", "email": "ada@example.org"}),
        (ValidationError, {"username": "a da"}),
        (ValidationError, {"username": "x", "email": "x"}),
        (ValueError, {"username": "x", "password": "x" * 73}),
        (ValueError, {"username": "x", "permissions": ["x"]}),
    ):
        with pytest.raises(error):
            make_user(site, **fields)
