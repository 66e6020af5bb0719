"""ID tokens: signed by the provider with an asymmetric key, for this site and this login.

Logout tokens are signed as ID tokens are, and nothing else is one.
"""

import json
import time

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.hostile_provider import LOGOUT_EVENT
from tests.support.oidc_clients import Client
from tests.support.provider_answers import HangUp
from tests.support.provider_keys import (
    DROP,
    HmacKey,
    NoKey,
    base64url,
    changed,
    half_hash,
    signed,
    signing_key,
)
from wsgiauth.exceptions import ProviderError
from wsgiauth.features.providers.oidc.discovery import ALGORITHMS
from wsgiauth.features.providers.oidc.signed_tokens import SignedToken

KEY, OTHER_KEY, WEAK_KEY = signing_key(), signing_key("RS256", "2"), signing_key(bits=1024)
P256, P384 = signing_key("ES256"), signing_key("ES384")


def public(encoding, form=PublicFormat.SubjectPublicKeyInfo):
    return KEY.private.public_key().public_bytes(encoding, form)


def jwk(key=KEY, **changes):
    return changed(key.jwk, changes)


@pytest.fixture
def client(provider):
    return Client(provider)


@pytest.mark.promise(70)
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_each_asymmetric_algorithm_is_verified(provider, client, algorithm):
    provider.key = signing_key(algorithm)
    provider.keys[:] = [provider.key.jwk]
    assert client.log_in().subject == "ada"


@pytest.mark.promise(70)
@pytest.mark.parametrize(
    ("keys", "header"),
    [
        pytest.param([jwk(kid=DROP)], {"kid": DROP}, id="no id"),
        pytest.param([jwk(), OTHER_KEY.jwk], {}, id="one of several"),
        pytest.param([jwk(), jwk(P256)], {"kid": DROP}, id="one of its type"),
        pytest.param([jwk(), jwk(OTHER_KEY, kid="1", use="enc")], {}, id="other for encryption"),
        pytest.param([jwk(), jwk(OTHER_KEY, kid="1", alg="PS256")], {}, id="other algorithm"),
        pytest.param([jwk(use=DROP, alg=DROP)], {}, id="no use"),
        pytest.param([jwk(key_ops=["verify"])], {}, id="for verification"),
        pytest.param([jwk(), "x", {"kty": "oct", "k": "eA", "kid": "1"}], {}, id="others"),
        pytest.param([jwk()], {"typ": DROP}, id="no type"),
        pytest.param([jwk()], {"typ": None}, id="type null"),
        pytest.param([jwk()], {"typ": ""}, id="empty type"),
        pytest.param([jwk()], {"kid": None}, id="id null"),
        pytest.param([jwk(), jwk(P256)], {"kid": ""}, id="empty id"),
        pytest.param([jwk(), WEAK_KEY.jwk], {"kid": DROP}, id="one strong enough"),
        pytest.param([jwk(use=None, alg=None, key_ops=None)], {}, id="use null"),
        pytest.param([jwk(use="", alg="", key_ops="")], {}, id="empty use"),
        pytest.param([jwk()], {"typ": "jwt"}, id="type in lower case"),
    ],
)
def test_the_key_that_fits_is_found(provider, client, keys, header):
    provider.discovery["id_token_signing_alg_values_supported"] = ["RS256"]
    provider.keys[:] = keys
    provider.header.update(header)
    assert client.log_in().subject == "ada"


@pytest.mark.promise(70)
@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        pytest.param([], "unknown key", id="none"),
        pytest.param([OTHER_KEY.jwk], "unknown key", id="another id"),
        pytest.param([jwk(OTHER_KEY, kid="1")], "signature", id="swapped"),
        pytest.param([jwk(), jwk(OTHER_KEY, kid="1")], "several keys", id="doubled id"),
        pytest.param([jwk(), jwk()], "several keys", id="doubled key"),
        pytest.param([jwk(use=["sig"])], "unknown key", id="use that is no string"),
        pytest.param([jwk(key_ops=[])], "unknown key", id="for nothing"),
        pytest.param([jwk(kid=DROP)], "unknown key", id="without its id"),
        pytest.param([jwk(use="enc")], "unknown key", id="for encryption"),
        pytest.param([jwk(key_ops=["sign"])], "unknown key", id="for signatures"),
        pytest.param([jwk(key_ops="verify")], "unknown key", id="operations that are no list"),
        pytest.param([jwk(alg="PS256")], "unknown key", id="another algorithm"),
        pytest.param([jwk(kty="EC")], "unknown key", id="another type"),
        pytest.param([jwk(kty=["RSA"])], "unknown key", id="type that is no string"),
        pytest.param([jwk(n=DROP)], "unknown key", id="no modulus"),
        pytest.param([jwk(n=1)], "unknown key", id="modulus that is no string"),
        pytest.param([jwk(n="!")], "unknown key", id="modulus that is not base64"),
        pytest.param([jwk(n="")], "unknown key", id="empty modulus"),
        pytest.param([jwk(e="AA")], "unknown key", id="exponent 0"),
        pytest.param([jwk(e="AQ")], "unknown key", id="exponent 1"),
        pytest.param([jwk(n="A" * 20_000 + "AQ")], "unknown key", id="zeros"),
        pytest.param([jwk(n="_" * 20_000)], "unknown key", id="huge"),
    ],
)
def test_without_exactly_one_key_that_fits_a_token_is_refused(provider, client, keys, reason):
    provider.discovery["id_token_signing_alg_values_supported"] = ["RS256"]
    provider.keys[:] = keys
    error = client.refusal()
    assert (error.status, error.reason) == (502, reason)


@pytest.mark.promise(70)
def test_a_weak_key_is_refused(provider, client):
    provider.key = WEAK_KEY
    provider.keys[:] = [WEAK_KEY.jwk]
    assert client.refusal().reason == "unknown key"


@pytest.mark.promise(70)
@pytest.mark.parametrize(
    "changes",
    [{"crv": "P-384"}, {"crv": DROP}, {"crv": "secp256k1"}, {"y": jwk(P256)["x"]}, {"x": DROP}],
    ids=["other name", "no name", "other curve", "not on the curve", "half"],
)
def test_a_key_of_a_wrong_curve_is_refused(provider, client, changes):
    provider.key = P256
    provider.keys[:] = [jwk(P256, **changes)]
    assert client.refusal().reason == "unknown key"


@pytest.mark.promise(70)
def test_a_key_of_another_curve_than_the_algorithm_is_refused(provider, client):
    provider.key = P384
    provider.header["alg"] = "ES256"
    provider.discovery["id_token_signing_alg_values_supported"] = ["ES256", "ES384"]
    provider.keys[:] = [jwk(P384, alg=DROP)]
    assert client.refusal().reason == "unknown key"


SYMMETRIC = {
    "PEM": public(Encoding.PEM),
    "PEM without its end": public(Encoding.PEM).strip(),
    "PKCS 1": public(Encoding.PEM, PublicFormat.PKCS1),
    "DER": public(Encoding.DER),
    "JWK": json.dumps(KEY.jwk).encode(),
    "modulus": KEY.jwk["n"].encode(),
    "secret of the client": b"a secret: 100%+/=@&",
    "empty": b"",
}


@pytest.mark.promise(70)
@pytest.mark.parametrize("secret", SYMMETRIC.values(), ids=SYMMETRIC)
@pytest.mark.parametrize("is_offered", [False, True], ids=["", "offered"])
def test_hmac_is_refused_with_any_key(provider, client, secret, is_offered):
    provider.key = HmacKey(secret)
    if is_offered:
        name = "id_token_signing_alg_values_supported"
        provider.discovery[name] = ["HS256", "RS256", "none"]
        provider.keys += [{"kty": "oct", "kid": "1", "k": base64url(secret)}, jwk(alg="HS256")]
    assert client.refusal().reason == "alg"


@pytest.mark.promise(70)
@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", None, 1, ["RS256"]])
def test_a_token_that_is_not_signed_is_refused(provider, client, algorithm):
    provider.key = NoKey()
    provider.header["alg"] = algorithm
    provider.discovery["id_token_signing_alg_values_supported"] = ["none", "RS256"]
    # Without a signature, the form is wrong; with one, the algorithm is.
    assert client.refusal().reason == "form"
    provider.tokens["id_token"] = signed({}, NoKey(), {"alg": algorithm}) + "eA"
    assert client.refusal().reason == "alg"


@pytest.mark.promise(70)
@pytest.mark.parametrize("member", ["jku", "x5u", "jwk", "x5c"])
def test_no_header_brings_a_key(provider, client, member):
    provider.key = OTHER_KEY
    url = provider.url("/evil")
    brought = {"jku": url, "x5u": url, "jwk": OTHER_KEY.jwk, "x5c": ["eA=="]}
    provider.header.update({member: brought[member], "kid": "1"})
    assert client.refusal().reason == "signature"
    provider.header["kid"] = "2"
    assert client.refusal().reason == "unknown key"
    provider.header["kid"] = DROP
    assert client.refusal().reason == "signature"
    assert not provider.requests["/evil"]


@pytest.mark.promise(70)
@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"alg": "PS256"}, "alg"),
        ({"alg": "ES256K"}, "alg"),
        ({"alg": "EdDSA"}, "alg"),
        ({"alg": DROP}, "alg"),
        ({"crit": ["exp"]}, "crit"),
        ({"crit": []}, "crit"),
        ({"crit": ["b64"], "b64": False}, "crit"),
        ({"typ": "at+jwt"}, "typ"),
        ({"typ": "logout+jwt"}, "typ"),
        ({"crit": None}, "crit"),
        ({"typ": ["JWT"]}, "typ"),
        ({"typ": False}, "typ"),
        ({"kid": 1}, "kid"),
        ({"kid": ["1"]}, "kid"),
        ({"kid": " "}, "unknown key"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_a_header_that_is_not_understood_is_refused(provider, client, header, reason):
    provider.header.update(header)
    assert client.refusal().reason == reason


def spoiled(token, kind):
    head, body, signature = token.split(".")
    octets, not_a_number = b'{"alg": "RS256", "alg": "RS256"}', b'{"exp": NaN}'
    return {
        "no signature": f"{head}.{body}.",
        "no dots": head,
        "four parts": f"{token}.{body}",
        "encrypted": f"{token}.{body}.{body}",
        "padding": f"{token}=",
        "space": f" {token}",
        "not base64": f"{head}.{body}.ä",
        "a bit too long": f"{head}A.{body}.{signature}",
        "doubled header": f"{base64url(octets)}.{body}.{signature}",
        "list as a header": f"{base64url(b'[]')}.{body}.{signature}",
        "list as claims": f"{head}.{base64url(b'[]')}.{signature}",
        "NaN": f"{head}.{base64url(not_a_number)}.{signature}",
        "nested": f"{head}.{base64url(b'[' * 5000)}.{signature}",
        "empty": "",
    }[kind]


KINDS = [
    *("no signature", "no dots", "four parts", "encrypted", "padding", "space", "not base64"),
    *("a bit too long", "doubled header", "list as a header", "list as claims", "NaN", "nested"),
    "empty",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_of_another_form_is_refused(provider, client, kind):
    provider.tokens["id_token"] = spoiled(provider.id_token(), kind)
    assert client.refusal().reason == "form"


def test_a_token_is_as_long_as_its_groups(provider, client):
    """Nothing but the bound of the whole answer limits it."""
    provider.claims["groups"] = [f"{number:060}" for number in range(300)]
    assert len(provider.id_token()) > 16 * 1024
    assert client.log_in().groups == ()


@pytest.mark.promise(70)
def test_a_changed_claim_or_signature_is_refused(provider, client):
    head, body, signature = provider.id_token().split(".")
    other = provider.id_token("grace").split(".")
    for token in (f"{head}.{other[1]}.{signature}", f"{head}.{body}.AAAA", f"{head}.{body}.A"):
        provider.tokens["id_token"] = token
        assert client.refusal().reason == "signature"


ISSUER = "https://elsewhere.example"
OUR = "wsgiauth"
SUBJECTS = ["", " ada", "ada ", "a\x00b", "a\nb", "ä", "x" * 256, "x" * 300, 1, None, ["ada"], DROP]


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        *(({"iss": each}, "iss") for each in (ISSUER, "", None, [ISSUER], DROP)),
        *(({"aud": each}, "aud") for each in ("other", "", None, 1, {OUR: 1}, [], [1], DROP)),
        *(({"aud": each}, "aud") for each in (["other"], f"{OUR} ", OUR.upper(), [[OUR]])),
        *(({"aud": [OUR, each]}, "azp") for each in ("other", OUR, 1)),
        *(({"azp": each}, "azp") for each in ("other", " ", False, [OUR])),
        *(({"aud": [OUR, "other"], "azp": each}, "azp") for each in ("other", "", None)),
        *(({"nonce": each}, "nonce") for each in ("other", "", None, 1, ["x"], "\ud800", DROP)),
        *(({"sub": each}, "sub") for each in SUBJECTS),
        *(({"at_hash": each}, "at_hash") for each in ("x", False, 1, "ä")),
        *(({"exp": each}, "times") for each in (DROP, None, "", "9999999999", True, [1], 1e300)),
        *(({"iat": each}, "times") for each in (DROP, None, "1", False, {}, -1e300)),
        *(({"nbf": each}, "times") for each in ("1", True)),
        ({"exp": 1}, "times"),
        ({"exp": float("inf")}, "form"),
        ({"iat": 1}, "clock"),
        ({"iat": 2**40, "exp": 2**41}, "clock"),
        ({"nbf": 2**40}, "clock"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_claim_that_is_wrong_is_refused(provider, client, claims, reason):
    provider.claims.update(claims)
    error = client.refusal()
    assert (error.status, error.reason) == (502, reason)


def test_the_issuer_of_a_token_is_compared_exactly(provider, client):
    for issuer in (f"{provider.issuer}/", provider.issuer.upper(), f"{provider.issuer}#"):
        provider.claims["iss"] = issuer
        assert client.refusal().reason == "iss"


@pytest.mark.promise(69)
def test_the_token_of_another_login_is_refused(provider, client):
    client.log_in("grace")
    provider.tokens["id_token"] = provider.id_token("grace", nonce="of the other login")
    assert client.refusal().reason == "nonce"


def test_the_access_token_of_another_login_is_refused(provider, client):
    provider.claims["at_hash"] = half_hash("another", "RS256")
    assert client.refusal().reason == "at_hash"


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": [OUR]},
        {"aud": [OUR, "other"], "azp": OUR},
        {"azp": OUR},
        {"sub": "x" * 255},
        {"sub": "a b|c"},
        {"sub": "1"},
        {"at_hash": DROP},
        {"nbf": 1.5},
        *({name: None} for name in ("nbf", "azp", "at_hash", "auth_time", "sid")),
        *({name: ""} for name in ("nbf", "azp", "at_hash", "auth_time", "sid")),
    ],
    ids=lambda claims: ", ".join(f"{name} {value!r}"[:30] for name, value in claims.items()),
)
def test_a_claim_that_is_right_is_accepted(provider, client, claims):
    provider.claims.update(claims)
    assert client.log_in().subject == claims.get("sub", "ada")


@pytest.mark.parametrize(
    ("ahead", "reason"),
    [(-700, "clock"), (-180, None), (-50, None), (50, None), (180, "clock")],
)
def test_a_clock_that_is_wrong_is_named(provider, client, ahead, reason):
    provider.ahead = ahead
    if reason is None:
        assert client.log_in().subject == "ada"
        return
    error = client.refusal()
    assert (error.status, error.reason) == (502, reason)
    assert error.detail.startswith("The clock of this site or of Google is wrong.")


def test_a_token_that_has_expired_by_our_clock_is_refused(provider, client):
    provider.ahead = -180
    provider.claims["exp"] = time.time() - 61
    assert client.refusal().reason == "clock"


@pytest.mark.promise(71)
def test_new_keys_are_fetched_at_most_once_a_minute(provider):
    now = [time.time()]
    client = Client(provider, clock=lambda: now[0])
    assert client.log_in().subject == "ada"
    provider.key = OTHER_KEY
    for _ in range(3):
        assert client.refusal().reason == "unknown key"
    assert len(provider.requests["/keys"]) == 1
    now[0] += 60
    for _ in range(3):
        assert client.refusal().reason == "unknown key"
    assert len(provider.requests["/keys"]) == 2
    provider.keys[:] = [OTHER_KEY.jwk]
    now[0] += 50
    assert client.refusal().reason == "unknown key"
    now[0] += 10
    assert [client.log_in().subject for _ in range(2)] == ["ada"] * 2
    assert len(provider.requests["/keys"]) == 3


# Logout tokens


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
