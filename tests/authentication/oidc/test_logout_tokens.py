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
    assert token[:4] == ("j-1", "ada", "s 1", provider.issuer)
    assert 100 < token.expires_at - time.time() < 140


@pytest.mark.parametrize(("left_out", "found"), [("sub", ("", "s")), ("sid", ("ada", ""))])
def test_a_subject_or_a_session_is_enough(provider, google, left_out, found):
    token = google.verify_logout_token(provider.logout_token(**{"sid": "s", left_out: DROP}))
    assert (token.subject, token.sid) == found


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        *(({"events": each}, "events") for each in (DROP, None, [], {}, [LOGOUT_EVENT], "x")),
        *(({"events": {LOGOUT_EVENT: each}}, "events") for each in (None, [], "", True)),
        *(({"nonce": each}, "nonce") for each in ("x", None)),
        *(({"jti": each}, "jti") for each in (DROP, "", None, 1, "x" * 256, "a\x00b")),
        *(({"sub": each}, "sub") for each in ("", None, 1, "x" * 256, "ä")),
        *(({"sid": each}, "sub") for each in ("", None, 1, "x" * 256, ["s"])),
        ({"sub": DROP, "sid": DROP}, "sub"),
        ({"iss": "https://elsewhere.example"}, "iss"),
        ({"aud": "other"}, "aud"),
        *(({"exp": each}, "times") for each in (DROP, "x")),
        ({"iat": DROP}, "times"),
        ({"iat": 1}, "clock"),
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
