"""Users who are deleted during a request: its rows cannot be inserted."""

import pkgutil
from dataclasses import replace
from itertools import count

import peewee
import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import Post, with_mail
from tests.support.sites import PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import delete_user
from wsgiauth.testing import bearer, logged_in


@pytest.fixture
def site(settings, unsent):
    """Return a site with mail and second factors."""
    made = AuthMiddleware(
        echo, replace(with_mail(settings), FACTOR_KEY=FACTOR_KEY), send_mail=Post()
    )
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def deleted_after(monkeypatch, ada):
    """Return a function that deletes Ada as soon as another one has returned so many times."""

    def deleted_after(place, times=1):
        numbers = count(1)
        original = pkgutil.resolve_name(place)

        def and_delete(*arguments, **further):
            returned = original(*arguments, **further)
            if next(numbers) == times:
                delete_user(ada)
            return returned

        monkeypatch.setattr(place, and_delete)

    return deleted_after


INSERTING = pytest.mark.parametrize(
    ("path", "fields", "place"),
    [
        ("/auth/email", {"email": "new@example.org"}, "wsgiauth.forms.require_fresh"),
        ("/auth/totp", {"name": "Phone"}, "wsgiauth.forms.require_fresh"),
        (
            "/auth/recovery-codes",
            {},
            "wsgiauth.authentication.second_factors.SecondFactors.is_needed_by",
        ),
    ],
    ids=["email", "totp", "recovery-codes"],
)


@pytest.mark.every_database
@INSERTING
def test_a_user_who_is_deleted_during_a_request_has_an_invalid_token(
    path, fields, place, site, ada, deleted_after, caplog
):
    add_app(site, ada)
    headers = bearer(site, ada)
    deleted_after(place)
    refused = TestApp(site).post_json(path, fields, headers=headers, status=401)
    assert refused.json["code"] == "invalid_token"
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


@INSERTING
def test_a_page_then_asks_to_log_in(path, fields, place, site, ada, deleted_after):
    add_app(site, ada)
    browser = logged_in(site, ada)
    deleted_after(place)
    answer = browser.post(path, {**fields, "next": ""}, headers=SAME_ORIGIN, status=302)
    assert answer.headers["Location"].startswith("/auth/login")


@pytest.mark.every_database
def test_a_login_whose_user_is_deleted_before_the_second_step_is_refused(
    site, ada, deleted_after, caplog
):
    add_app(site, ada)
    deleted_after("wsgiauth.authentication.second_factors.SecondFactors.is_needed_by", times=2)
    sent = {"username": USERNAME, "password": PASSWORD}
    answer = TestApp(site).post("/auth/login", sent, headers=SAME_ORIGIN, status=302)
    assert answer.headers["Location"] == "/auth/login"
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def test_another_constraint_is_a_failure_of_the_database(site, ada, monkeypatch):
    def fail(*_, **further):
        raise peewee.IntegrityError("NOT NULL constraint failed")

    monkeypatch.setattr("wsgiauth.features.factors.totp.begin", fail)
    client, headers = TestApp(site), bearer(site, ada)
    refused = client.post_json("/auth/totp", {"name": "Phone"}, headers=headers, status=503)
    assert refused.json["code"] == "unavailable"
