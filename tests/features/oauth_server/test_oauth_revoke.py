"""POST /auth/oauth/revoke: an app ends a grant by any of its tokens (RFC 7009)."""

import pytest
from webtest import TestApp

from tests.support.oauth_apps import USERINFO, App
from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.testing import make_group

REVOKE = "/auth/oauth/revoke"


@pytest.fixture
def tokens(browser, wiki):
    """Return the tokens of the app."""
    return wiki.log_in(browser)


def is_valid(site, tokens):
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    return TestApp(site).get(USERINFO, headers=bearer, status="*").status_int == 200


@pytest.mark.every_database
@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
@pytest.mark.promise(92)
def test_either_token_ends_both(site, wiki, tokens, name):
    answer = wiki.program.post(REVOKE, {"token": tokens[name], "token_type_hint": "x"})
    assert (answer.status_int, answer.json) == (200, {})
    assert not is_valid(site, tokens)
    assert wiki.refresh(tokens["refresh_token"], 400)["error"] == "invalid_grant"


def test_a_refresh_token_that_was_replaced_ends_the_grant(site, wiki, tokens):
    wiki.refresh(tokens["refresh_token"])
    wiki.program.post(REVOKE, {"token": tokens["refresh_token"]})
    assert not is_valid(site, tokens)


def test_a_grant_that_is_not_valid_for_now_ends(site, wiki, tokens, ada):
    """As of a user who is out of the group, and comes back."""
    group = make_group(site, "Editors")
    Client.update(group_id=group.id).execute()
    assert not is_valid(site, tokens)
    wiki.program.post(REVOKE, {"token": tokens["refresh_token"]})
    ada.join(group)
    assert not is_valid(site, tokens)


@row_by_row("token", ["garbage", "wsgiauth-app_", "é\x00", "x" * 9000])
def test_a_token_that_is_none_is_answered_alike(wiki, token):
    wiki.program.post(REVOKE, {"token": token}, status=200)


@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
def test_a_token_of_another_client_ends_nothing(site, tokens, name):
    App(site, "Other").program.post(REVOKE, {"token": tokens[name]}, status=200)
    assert is_valid(site, tokens)


def test_a_token_can_be_revoked_twice(wiki, tokens):
    for _ in range(2):
        wiki.program.post(REVOKE, {"token": tokens["refresh_token"]}, status=200)


def test_a_public_client_names_itself(site, browser):
    app = App(site, is_public=True)
    tokens = app.log_in(browser)
    app.program.post(REVOKE, {"token": tokens["refresh_token"], "client_id": app.id})
    assert not is_valid(site, tokens)


def test_an_unknown_client_is_refused(site, tokens):
    answer = TestApp(site).post(REVOKE, {"token": tokens["refresh_token"]}, status=401)
    assert answer.json["error"] == "invalid_client"
    assert is_valid(site, tokens)


def test_a_missing_token_is_refused(wiki):
    assert wiki.program.post(REVOKE, {"token": ""}, status=400).json["error"] == "invalid_request"
