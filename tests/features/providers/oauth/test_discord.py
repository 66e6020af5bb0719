"""What Discord says about a user: the snowflake, the username and the only address."""

import pytest

from tests.support.hostile_provider import CLIENT_ID
from tests.support.oauth_providers import ADAS_SNOWFLAKE
from tests.support.oidc_clients import CALLBACK, Client
from tests.support.provider_answers import Json
from wsgiauth.features.providers.oidc.accounts import ProviderAccount

USER = "/api/v10/users/@me"


@pytest.fixture
def client(discord):
    return Client(discord)


@pytest.mark.promise(86)
def test_a_login_says_who_the_user_is(discord, client):
    account = client.log_in()
    assert account == ProviderAccount(
        provider="google",
        issuer=discord.origin,
        subject=ADAS_SNOWFLAKE,
        name="ada@example.org",
        email="ada@example.org",
        email_verified=True,
        username="ada",
        asked_at=account.asked_at,
    )


def test_the_url_asks_for_a_code_with_pkce(discord, client):
    asked = client.begin()
    assert client.begun.url.startswith(f"{discord.origin}/oauth2/authorize?")
    assert asked.pop("state")
    assert asked.pop("code_challenge")
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "scope": "identify email",
        "code_challenge_method": "S256",
    }


@pytest.mark.promise(86)
def test_an_address_is_verified_only_by_the_json_value_true(discord, client):
    for said in (False, "true", 1, None, [True]):
        discord.accounts[ADAS_SNOWFLAKE]["verified"] = said
        account = client.log_in()
        assert (account.email, account.email_verified) == ("ada@example.org", False)


@pytest.mark.promise(86)
def test_an_account_without_an_address_has_none_that_is_verified(discord, client):
    for address in (None, "", ["ada@example.org"], "x" * 255):
        discord.accounts[ADAS_SNOWFLAKE]["email"] = address
        account = client.log_in()
        assert (account.email, account.email_verified, account.name) == ("", False, "ada")


def test_without_the_scope_there_is_no_address(discord):
    account = Client(discord, scope="guilds").log_in()
    assert (account.email, account.username) == ("", "ada")


@pytest.mark.promise(86)
def test_a_changed_username_is_the_same_account(discord, client):
    discord.accounts[ADAS_SNOWFLAKE]["username"] = "countess"
    other = discord.register("ada")
    assert client.log_in("countess").subject == ADAS_SNOWFLAKE
    assert client.log_in("ada").subject == other


@pytest.mark.promise(86)
def test_an_id_that_is_no_snowflake_is_refused(discord, client):
    numbers = [80351110224678912, 8.0e16, True, None, "", "0", "-1", "01", "1.0", "٣", "1\n"]
    numbers += ["1" * 21, ["1"]]
    found = []
    for number in numbers:
        discord.answers[USER] = Json({"id": number, "username": "ada"})
        error = client.refusal()
        found.append((number, error.status, error.reason))
    assert found == [(number, 502, "user: id") for number in numbers]


def test_a_user_that_is_no_object_is_refused(discord, client):
    discord.answers[USER] = Json([])
    assert client.refusal().reason == "user: id"


def test_too_many_requests_are_a_provider_that_does_not_answer(discord, client):
    discord.is_limited = True
    error = client.refusal()
    assert (error.status, error.reason) == (503, "user: rate limit")
