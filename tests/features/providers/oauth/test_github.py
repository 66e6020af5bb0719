"""What GitHub says about a user: the number, the login name and the primary address."""

import time

import pytest

from tests.support.hostile_provider import CLIENT_ID, CLIENT_SECRET
from tests.support.oauth_providers import ADA, email
from tests.support.oidc_clients import CALLBACK, Client
from tests.support.provider_answers import Answer, Json
from wsgiauth.features.providers.oauth.github import GitHub
from wsgiauth.features.providers.oidc.accounts import ProviderAccount

USER, EMAILS = "/api/v3/user", "/api/v3/user/emails"


@pytest.fixture
def client(github):
    return Client(github)


@pytest.mark.promise(86)
def test_a_login_says_who_the_user_is(github, client):
    account = client.log_in()
    assert account == ProviderAccount(
        provider="google",
        issuer=github.origin,
        subject=str(ADA),
        name="ada@example.org",
        email="ada@example.org",
        email_verified=True,
        username="ada",
        asked_at=account.asked_at,
    )
    assert abs(account.asked_at - time.time()) < 60
    assert sorted(github.requests) == sorted(
        ["/login/oauth/authorize", "/login/oauth/access_token", USER, EMAILS]
    )


def test_the_url_asks_for_a_code_with_pkce(github):
    client = Client(github, prompt="select_account")
    asked = client.begin()
    assert client.begun.url.startswith(f"{github.origin}/login/oauth/authorize?")
    assert asked.pop("state")
    assert len(asked.pop("code_challenge")) == 43
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "scope": "read:user user:email",
        "prompt": "select_account",
        "code_challenge_method": "S256",
    }


def test_each_request_has_what_the_documentation_asks_for(github, client):
    client.log_in()
    (token,) = github.requests["/login/oauth/access_token"]
    assert token.headers["accept"] == "application/json"
    assert token.form["client_secret"] == CLIENT_SECRET
    for path in (USER, EMAILS):
        (request,) = github.requests[path]
        assert request.headers["accept"] == "application/vnd.github+json"
        assert request.headers["x-github-api-version"] == "2022-11-28"
        assert request.headers["user-agent"]
        assert request.headers["authorization"].startswith("Bearer ")
    assert github.requests[EMAILS][0].query == {"per_page": "100"}


def test_the_api_of_a_host_is_where_the_documentation_says():
    asked = []

    def ask(what, url):
        asked.append((what, url))
        return {"id": 1} if what == "user" else []

    for origin, api in (
        ("https://github.com", "https://api.github.com"),
        ("https://octocorp.ghe.com", "https://api.octocorp.ghe.com"),
        ("https://github.example.org", "https://github.example.org/api/v3"),
        ("https://github.com.example.org", "https://github.com.example.org/api/v3"),
        ("https://evilghe.com", "https://evilghe.com/api/v3"),
        ("http://localhost:8080", "http://localhost:8080/api/v3"),
    ):
        asked.clear()
        api_of_host = GitHub(origin)
        api_of_host.profile(ask)
        api_of_host.address(ask)
        assert asked == [("user", f"{api}/user"), ("emails", f"{api}/user/emails?per_page=100")]
        assert api_of_host.authorization_endpoint == f"{origin}/login/oauth/authorize"
        assert api_of_host.token_endpoint == f"{origin}/login/oauth/access_token"


ADDRESS, SECOND = "ada@example.org", "second@example.org"


@pytest.mark.promise(86)
def test_only_a_primary_address_that_github_calls_verified_counts(github, client):
    second = email(SECOND, primary=False)
    cases = {
        "primary": ([email(ADDRESS)], ADDRESS, True),
        "secondary after": ([email(ADDRESS), second], ADDRESS, True),
        "secondary before": ([second, email(ADDRESS)], ADDRESS, True),
        "unverified": ([email(ADDRESS, verified=False)], ADDRESS, False),
        "only other verified": ([email(ADDRESS, verified=False), second], ADDRESS, False),
        "text": ([email(ADDRESS, verified="true")], ADDRESS, False),
        "number": ([email(ADDRESS, verified=1)], ADDRESS, False),
        "null": ([email(ADDRESS, verified=None)], ADDRESS, False),
        "no primary": ([second], "", False),
        "primary is text": ([email(SECOND, primary="true")], "", False),
        "two primaries": ([email(ADDRESS), email(SECOND)], "", False),
        "twice": ([email(ADDRESS, verified=False), email(ADDRESS)], "", False),
        "no address": ([email(None)], "", False),
        "a list": ([email([ADDRESS])], "", False),
        "too long": ([email("x" * 255)], "", False),
        "empty": ([{}], "", False),
        "no objects": ([None, 1, ADDRESS, [ADDRESS]], "", False),
        "null beside": ([None, email(ADDRESS)], ADDRESS, True),
    }
    found = {}
    for name, (emails, _, _) in cases.items():
        github.accounts[ADA]["emails"] = emails
        account = client.log_in()
        found[name] = (emails, account.email, account.email_verified)
        assert account.subject == str(ADA)
    assert found == cases


def test_an_empty_list_of_addresses_is_none(github, client):
    github.answers[EMAILS] = Json([])
    assert client.log_in().email == ""


@pytest.mark.promise(86)
def test_a_renamed_login_is_the_same_account(github, client):
    github.accounts[ADA]["login"] = "countess"
    account = client.log_in("countess")
    assert (account.subject, account.username) == (str(ADA), "countess")


@pytest.mark.promise(86)
def test_a_login_that_was_deleted_and_registered_again_is_another_account(github, client):
    del github.accounts[ADA]
    github.register("ada", emails=[email("ada@example.org")])
    assert client.log_in().subject == str(ADA + 1)


@pytest.mark.promise(86)
def test_an_id_that_is_no_number_of_an_account_is_refused(github, client):
    numbers = [True, False, 0, -1, 1.0, 1e3, 583231.5, 2**63, 10**30, "583231", "ada", "", None]
    numbers += [[583231], {"id": 583231}]
    client.known.add(str(ADA))
    found = []
    for number in numbers:
        github.answers[USER] = Json({"id": number, "login": "ada"})
        error = client.refusal()
        found.append((number, error.status, error.reason))
    assert found == [(number, 502, "user: id") for number in numbers]


def test_a_large_id_is_kept_exactly(github, client):
    for number in (1, 2**53 + 1, 2**63 - 1):
        github.answers[USER] = Json({"id": number, "login": None, "name": None})
        account = client.log_in()
        assert (account.subject, account.username) == (str(number), "")


def test_an_answer_that_readers_could_understand_differently_is_refused(github, client):
    for body in (b'{"id": 1, "id": 2}', b"[" * 9000, b"1" * 5000, b"NaN", b"\xff"):
        github.answers[USER] = Answer(body=body)
        assert (body, client.refusal().reason) == (body, "user: JSON")


def test_a_user_that_is_no_object_is_refused(github, client):
    for value in ([], "ada", 1, True):
        github.answers[USER] = Json(value)
        assert (value, client.refusal().reason) == (value, "user: id")


def test_addresses_that_are_no_list_are_refused(github, client):
    for value in ({}, {"email": "a@b"}, "ada@example.org", 1):
        github.answers[EMAILS] = Json(value)
        assert (value, client.refusal().reason) == (value, "emails: list")


def test_an_organisation_that_blocks_the_app_stops_no_login(github, client):
    assert github.blocked
    assert client.log_in().subject == str(ADA)
    assert "/api/v3/user/orgs" not in github.requests


def test_too_many_requests_are_a_provider_that_does_not_answer(github, client):
    primary = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000000"}
    secondary = {"Retry-After": "60", "X-RateLimit-Remaining": "10"}
    for limit in (primary, secondary):
        github.limit = limit
        error = client.refusal()
        assert (error.status, error.reason) == (503, "user: rate limit")
    github.limit = {"X-RateLimit-Remaining": "4000"}
    error = client.refusal()
    assert (error.status, error.reason) == (502, "user: status")


def test_a_scope_of_the_entry_keeps_the_addresses(github):
    assert Client(github, scope="read:org").log_in().email_verified is True


def test_the_addresses_can_be_missing_for_an_account_that_is_known(github, client, caplog):
    github.answers[EMAILS] = Json({"message": "Resource not accessible by integration"}, 403)
    assert client.refusal().reason == "emails: status"
    client.known.add(str(ADA))
    account = client.log_in()
    assert (account.subject, account.email, account.is_partial) == (str(ADA), "", True)
    assert caplog.messages == [
        "the provider google did not say who the user is (emails: status); the account is known,"
        " so the login goes on without it. The status is not 200; check the scopes and the"
        " permissions of the client."
    ]
    github.answers[EMAILS] = Json({})
    assert client.log_in().is_partial is True
