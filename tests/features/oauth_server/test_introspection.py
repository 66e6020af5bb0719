"""What /auth/introspect answers about tokens of the provider (RFC 7662)."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.oauth_apps import ISSUER, App, service_client
from tests.support.service_keys import MAPS, REPORTS
from tests.support.sites import echo
from wsgiauth import AuthMiddleware
from wsgiauth.features.oauth_server.refresh_tokens import GrantTokens
from wsgiauth.features.oauth_server.tables import Grant
from wsgiauth.testing import api_key

pytestmark = pytest.mark.promise(92)


@pytest.fixture
def ask(site, grace):
    """Return a function that returns what a service learns about a token."""
    grace.grant("wsgiauth.introspect")
    headers = api_key(site, grace, ["wsgiauth.introspect"])
    client = TestApp(site)
    return lambda token: client.post("/auth/introspect", {"token": token}, headers=headers).json


def test_an_access_token_is_described_by_its_claims_and_its_user(browser, wiki, ask, clock, ada):
    start = clock()
    tokens = wiki.log_in(browser, resource=MAPS)
    clock.move(60)
    assert ask(tokens["access_token"]) == {
        "active": True,
        "sub": str(ada.id),
        "username": ada.username,
        "client_id": wiki.id,
        "scope": "email openid profile",
        "token_type": "bearer",
        "iss": ISSUER,
        "aud": MAPS,
        "iat": start,
        "exp": start + 300,
    }


@pytest.mark.promise(91)
def test_a_refresh_token_is_described_as_one_for_this_site(browser, wiki, ask, clock, ada):
    """So that a service does not take it for an access token."""
    tokens = wiki.log_in(browser, resource=MAPS)
    assert ask(tokens["refresh_token"]) == {
        "active": True,
        "sub": str(ada.id),
        "username": ada.username,
        "client_id": wiki.id,
        "scope": "email openid profile",
        "token_type": "refresh_token",
        "iss": ISSUER,
        "aud": ISSUER,
        "iat": clock(),
        "exp": Grant.get().expires_at,
    }


def test_a_refresh_token_that_was_replaced_is_not_active(browser, wiki, ask):
    former = wiki.log_in(browser)["refresh_token"]
    current = wiki.refresh(former)["refresh_token"]
    assert [ask(each)["active"] for each in (former, current)] == [False, True]


@pytest.mark.parametrize("further", [{"SERVICES": (MAPS, REPORTS)}], ids=["two services"])
def test_a_token_for_a_service_that_is_removed_is_not_active(
    site, settings, browser, wiki, grace, ask, clock
):
    program = service_client(site, "a.read")
    tokens = [
        program.log_in_as_itself(resource=MAPS)["access_token"],
        wiki.log_in(browser, resource=MAPS)["access_token"],
    ]
    assert [ask(each)["active"] for each in tokens] == [True, True]
    later = AuthMiddleware(echo, replace(settings, SERVICES=(REPORTS,)))
    headers = api_key(site, grace, ["wsgiauth.introspect"])
    for each in tokens:
        answer = TestApp(later).post("/auth/introspect", {"token": each}, headers=headers)
        assert answer.json == {"active": False}


def test_an_id_token_is_not_active(browser, wiki, ask):
    assert ask(wiki.log_in(browser)["id_token"]) == {"active": False}


def test_the_scope_loses_what_the_user_loses_at_once(site, browser, ada, ask):
    ada.grant("a.read", "a.write")
    tokens = App(site, scopes=["a.read", "a.write"]).log_in(browser, scope="a.read a.write")
    ada.revoke("a.read")
    found = [ask(tokens[name])["scope"] for name in ("access_token", "refresh_token")]
    assert found == ["a.write"] * 2


def test_a_token_that_is_not_active_costs_as_much_as_any_other(
    site, settings, browser, wiki, ask, clock, queries
):
    tokens = wiki.log_in(browser)
    clock.move(300)
    asked = [
        tokens["access_token"],
        GrantTokens(settings).issue(Grant.get().id, 2),
        GrantTokens(settings).issue("A" * 22, 1),
        tokens["refresh_token"] + "x",
        "wsgiauth-app_",
        "garbage",
    ]
    ask("garbage")  # the first use of the key is written
    answers = []
    costs = [len(queries(lambda: answers.append(ask(each)))) for each in asked]  # noqa: B023
    assert answers == [{"active": False}] * len(asked)
    assert len({*costs}) == 1
