"""Logout tokens: signed as ID tokens are, and nothing else is one."""

import time

import pytest

from tests.support.hostile_provider import LOGOUT_EVENT
from tests.support.oidc_clients import Client
from tests.support.provider_answers import HangUp
from tests.support.provider_keys import DROP, HmacKey, NoKey, signing_key
from wsgiauth.authentication.oidc.signed_tokens import SignedToken
from wsgiauth.exceptions import ProviderError


@pytest.fixture
def google(provider):
    return Client(provider).google


def refusal(google, token):
    with pytest.raises(ProviderError) as caught:
        google.verify_logout_token(token)
    return caught.value


@pytest.mark.parametrize("token_type", ["logout+jwt", "JWT", "Logout+JWT"])
def test_a_logout_token_names_the_sessions_that_end(provider, google, token_type):
    provider.header["typ"] = token_type
    token = google.verify_logout_token(provider.logout_token(jti="j-1", sid="s 1"))
    assert token == ("j-1", "ada", "s 1", provider.issuer)


@pytest.mark.promise(74)
@pytest.mark.parametrize("expiry", [DROP, None, ""], ids=["none", "null", "empty"])
@pytest.mark.parametrize("age", [0, 550])
def test_a_logout_token_that_never_expires_counts_for_ten_minutes(provider, google, expiry, age):
    """As those of Ory Hydra and LemonLDAP::NG."""
    token = provider.logout_token(exp=expiry, iat=time.time() - age)
    assert google.verify_logout_token(token).subject == "ada"
    provider.ahead = -700
    assert refusal(google, provider.logout_token(exp=expiry)).reason == "clock"


@pytest.mark.parametrize("absent", [DROP, None, ""], ids=["left out", "null", "empty"])
@pytest.mark.parametrize(("left_out", "found"), [("sub", ("", "s")), ("sid", ("ada", ""))])
def test_a_subject_or_a_session_is_enough(provider, google, left_out, found, absent):
    claims = {"sid": "s", "nonce": absent, left_out: absent}
    token = google.verify_logout_token(provider.logout_token(**claims))
    assert (token.subject, token.sid) == found


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        *(({"events": each}, "events") for each in (DROP, None, [], {}, [LOGOUT_EVENT], "x")),
        *(({"events": {LOGOUT_EVENT: each}}, "events") for each in (None, [], "", True)),
        *(({"nonce": each}, "nonce") for each in ("x", " ", False)),
        *(({"jti": each}, "jti") for each in (DROP, "", None, 1, "x" * 256, "a\x00b")),
        *(({"sub": each}, "sub") for each in (1, False, "x" * 256, "ä")),
        *(({"sid": each}, "sub") for each in (1, [], "x" * 256, ["s"])),
        *(({"sub": each, "sid": each}, "sub") for each in (DROP, None, "")),
        ({"iss": "https://elsewhere.example"}, "iss"),
        ({"aud": "other"}, "aud"),
        *(({"exp": each}, "times") for each in ("x", True, [], 1)),
        ({"exp": 2, "iat": 1}, "clock"),
        *(({"iat": each}, "times") for each in (DROP, None, "")),
        ({"iat": DROP, "exp": DROP}, "times"),
        ({"iat": 1}, "clock"),
        ({"iat": 1, "exp": DROP}, "clock"),
        ({"iat": 2**40, "exp": DROP}, "clock"),
        ({"nbf": 2**40, "exp": DROP}, "clock"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_logout_token_that_is_wrong_is_refused(provider, google, claims, reason):
    error = refusal(google, provider.logout_token(**claims))
    assert (error.status, error.code, error.reason) == (400, "provider_failed", reason)


def test_an_id_token_is_no_logout_token(provider, google):
    assert refusal(google, provider.id_token(nonce="x")).reason == "events"
    provider.header["typ"] = "at+jwt"
    assert refusal(google, provider.logout_token()).reason == "typ"


@pytest.mark.promise(70)
@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (signing_key("RS256", "2"), "unknown key"),
        (HmacKey(b"a secret: 100%+/=@&"), "alg"),
        (NoKey(), "form"),
    ],
    ids=["another key", "secret of the client", "none"],
)
def test_a_logout_token_that_the_provider_has_not_signed_is_refused(provider, google, key, reason):
    provider.key = key
    assert refusal(google, provider.logout_token()).reason == reason


def test_a_logout_token_cannot_be_verified_while_the_provider_is_down(provider, google):
    provider.answers["/keys"] = HangUp()
    error = refusal(google, provider.logout_token())
    assert (error.status, error.reason) == (503, "keys: connection")


def test_strangers_cannot_make_us_ask_for_keys_again_and_again(provider, google):
    token = provider.logout_token()
    provider.keys[:] = [signing_key("RS256", "2").jwk]
    assert {refusal(google, token).reason for _ in range(5)} == {"unknown key"}
    assert len(provider.requests["/keys"]) == 1


def test_no_repr_has_a_claim():
    assert "canary" not in repr(SignedToken("RS256", {"sub": "canary"}))
