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
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.features.providers.oidc.discovery import ALGORITHMS, read_metadata
from wsgiauth.features.providers.oidc.errands import LOG_IN, Errand, Errands
from wsgiauth.features.providers.oidc.failures import Failures, ProviderError
from wsgiauth.features.providers.oidc.kept import Kept
from wsgiauth.features.providers.oidc.key_sets import read_key_set
from wsgiauth.features.providers.oidc.signed_tokens import (
    Expected,
    SignedToken,
    TokenError,
    verify_id_token,
)

KEY, OTHER_KEY, WEAK_KEY = signing_key(), signing_key("RS256", "2"), signing_key(bits=1024)
P256, P384 = signing_key("ES256"), signing_key("ES384")
NOW = 2_000_000_000  # seconds since the epoch
ISSUER, OUR, ACCESS_TOKEN = "https://id.example.org", "wsgiauth", "an-access-token"
BEGUN, _ = Errands(Settings(SECRET_KEY=SECRET_KEY)).begin(Errand(LOG_IN), "google", NOW)
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def public(encoding, form=PublicFormat.SubjectPublicKeyInfo):
    return KEY.private.public_key().public_bytes(encoding, form)


def jwk(key=KEY, **changes):
    return changed(key.jwk, changes)


def id_token(key=KEY, header=None, **claims):
    """Return the ID token of one login, with these changes."""
    usual = {
        "iss": ISSUER,
        "sub": "ada",
        "aud": OUR,
        "iat": NOW,
        "exp": NOW + 600,
        "nonce": BEGUN.nonce,
        "at_hash": half_hash(ACCESS_TOKEN, key.algorithm),
    }
    return signed(changed(usual, claims), key, header or {})


def result(token, keys=(KEY.jwk,), algorithms=("RS256",)):
    """Return the subject of the ID token of that login, or the reason why it is refused."""
    document = {"issuer": ISSUER, "id_token_signing_alg_values_supported": [*algorithms]}
    metadata = read_metadata(document | dict.fromkeys(ENDPOINTS, f"{ISSUER}/x"), ISSUER)
    kept = [
        Kept("", lambda: metadata, Failures("Google"), time.time),
        Kept("", lambda: read_key_set({"keys": [*keys]}), Failures("Google"), time.time),
    ]
    try:
        expected = Expected(*kept, ISSUER, OUR)
        return verify_id_token(token, ACCESS_TOKEN, BEGUN, expected, NOW)["sub"]
    except TokenError as error:
        return str(error)


@pytest.fixture
def client(provider):
    return Client(provider)


@pytest.mark.promise(70)
def test_each_asymmetric_algorithm_is_verified():
    keys = {each: signing_key(each) for each in ALGORITHMS}
    results = {name: result(id_token(key), [key.jwk], [name]) for name, key in keys.items()}
    assert results == dict.fromkeys(ALGORITHMS, "ada")


@pytest.mark.promise(70)
def test_the_key_that_fits_is_found():
    cases = {
        "no id": ([jwk(kid=DROP)], {"kid": DROP}),
        "no id of the key alone": ([jwk(kid=DROP)], {}),
        "null as the id of the key": ([jwk(kid=None)], {}),
        "no id of the only key of its type": ([jwk(kid=DROP), jwk(P256), OTHER_KEY.jwk], {}),
        "its id before none": ([jwk(), jwk(OTHER_KEY, kid=DROP)], {}),
        "one of several": ([jwk(), OTHER_KEY.jwk], {}),
        "one of its type": ([jwk(), jwk(P256)], {"kid": DROP}),
        "other for encryption": ([jwk(), jwk(OTHER_KEY, kid="1", use="enc")], {}),
        "other algorithm": ([jwk(), jwk(OTHER_KEY, kid="1", alg="PS256")], {}),
        "no use": ([jwk(use=DROP, alg=DROP)], {}),
        "for verification": ([jwk(key_ops=["verify"])], {}),
        "others": ([jwk(), "x", {"kty": "oct", "k": "eA", "kid": "1"}], {}),
        "no type": ([jwk()], {"typ": DROP}),
        "type null": ([jwk()], {"typ": None}),
        "empty type": ([jwk()], {"typ": ""}),
        "id null": ([jwk()], {"kid": None}),
        "empty id": ([jwk(), jwk(P256)], {"kid": ""}),
        "one strong enough": ([jwk(), WEAK_KEY.jwk], {"kid": DROP}),
        "use null": ([jwk(use=None, alg=None, key_ops=None)], {}),
        "empty use": ([jwk(use="", alg="", key_ops="")], {}),
        "type in lower case": ([jwk()], {"typ": "jwt"}),
    }
    results = {
        name: result(id_token(header=header), keys) for name, (keys, header) in cases.items()
    }
    assert results == dict.fromkeys(cases, "ada")


@pytest.mark.promise(70)
def test_without_exactly_one_key_that_fits_a_token_is_refused():
    cases = {
        "none": ([], "unknown key"),
        "another id": ([OTHER_KEY.jwk], "unknown key"),
        "swapped": ([jwk(OTHER_KEY, kid="1")], "signature"),
        "doubled id": ([jwk(), jwk(OTHER_KEY, kid="1")], "several keys"),
        "doubled key": ([jwk(), jwk()], "several keys"),
        "use that is no string": ([jwk(use=["sig"])], "unknown key"),
        "for nothing": ([jwk(key_ops=[])], "unknown key"),
        "several without an id": ([jwk(kid=DROP), jwk(OTHER_KEY, kid=DROP)], "several keys"),
        "its id is at a key of another type": ([jwk(P256, kid="1"), jwk(OTHER_KEY)], "unknown key"),
        "for encryption": ([jwk(use="enc")], "unknown key"),
        "for signatures": ([jwk(key_ops=["sign"])], "unknown key"),
        "operations that are no list": ([jwk(key_ops="verify")], "unknown key"),
        "another algorithm": ([jwk(alg="PS256")], "unknown key"),
        "another type": ([jwk(kty="EC")], "unknown key"),
        "type that is no string": ([jwk(kty=["RSA"])], "unknown key"),
        "no modulus": ([jwk(n=DROP)], "unknown key"),
        "modulus that is no string": ([jwk(n=1)], "unknown key"),
        "modulus that is not base64": ([jwk(n="!")], "unknown key"),
        "empty modulus": ([jwk(n="")], "unknown key"),
        "exponent 0": ([jwk(e="AA")], "unknown key"),
        "exponent 1": ([jwk(e="AQ")], "unknown key"),
        "zeros": ([jwk(n="A" * 20_000 + "AQ")], "unknown key"),
        "huge": ([jwk(n="_" * 20_000)], "unknown key"),
    }
    results = {name: (keys, result(id_token(), keys)) for name, (keys, _) in cases.items()}
    assert results == cases


@pytest.mark.promise(70)
def test_a_weak_key_is_refused():
    assert result(id_token(WEAK_KEY), [WEAK_KEY.jwk]) == "unknown key"


@pytest.mark.promise(70)
def test_a_key_of_a_wrong_curve_is_refused():
    wrong = {
        "other name": {"crv": "P-384"},
        "no name": {"crv": DROP},
        "other curve": {"crv": "secp256k1"},
        "not on the curve": {"y": jwk(P256)["x"]},
        "half": {"x": DROP},
    }
    token = id_token(P256)
    results = {name: result(token, [jwk(P256, **each)], ["ES256"]) for name, each in wrong.items()}
    assert results == dict.fromkeys(wrong, "unknown key")
    of_p384 = id_token(P384, {"alg": "ES256"})
    assert result(of_p384, [jwk(P384, alg=DROP)], ["ES256", "ES384"]) == "unknown key"


@pytest.mark.promise(70)
def test_hmac_is_refused_with_any_key():
    secrets = {
        "PEM": public(Encoding.PEM),
        "PEM without its end": public(Encoding.PEM).strip(),
        "PKCS 1": public(Encoding.PEM, PublicFormat.PKCS1),
        "DER": public(Encoding.DER),
        "JWK": json.dumps(KEY.jwk).encode(),
        "modulus": KEY.jwk["n"].encode(),
        "secret of the client": b"a secret: 100%+/=@&",
        "empty": b"",
    }
    tokens = {name: id_token(HmacKey(each)) for name, each in secrets.items()}
    assert {name: result(each) for name, each in tokens.items()} == dict.fromkeys(secrets, "alg")
    results = {}
    for name, secret in secrets.items():
        shared = {"kty": "oct", "kid": "1", "k": base64url(secret)}
        keys, offered = [KEY.jwk, shared, jwk(alg="HS256")], ["HS256", "RS256", "none"]
        results[name] = result(tokens[name], keys, offered)
    assert results == dict.fromkeys(secrets, "alg")


@pytest.mark.promise(70)
def test_a_token_that_is_not_signed_is_refused():
    for algorithm in ("none", "None", "NONE", "nOnE", "", None, 1, ["RS256"]):
        token = id_token(NoKey(), {"alg": algorithm})
        # Without a signature, the form is wrong; with one, the algorithm is.
        results = [result(each, algorithms=["none", "RS256"]) for each in (token, token + "eA")]
        assert (algorithm, results) == (algorithm, ["form", "alg"])


@pytest.mark.promise(70)
def test_no_header_brings_a_key(provider, client):
    provider.key = OTHER_KEY
    url = provider.url("/evil")
    brought = {"jku": url, "x5u": url, "jwk": OTHER_KEY.jwk, "x5c": ["eA=="]}
    for member, value in brought.items():
        reasons = []
        for key_id in ("1", "2", DROP):
            provider.header = {member: value, "kid": key_id}
            reasons.append(client.refusal().reason)
        assert (member, reasons) == (member, ["signature", "unknown key", "signature"])
    assert not provider.requests["/evil"]


@pytest.mark.promise(70)
def test_a_header_that_is_not_understood_is_refused():
    wrong = [
        *(({"alg": each}, "alg") for each in ("PS256", "ES256K", "EdDSA", DROP)),
        *(({"crit": each}, "crit") for each in (["exp"], [], None)),
        ({"crit": ["b64"], "b64": False}, "crit"),
        *(({"typ": each}, "typ") for each in ("at+jwt", "logout+jwt", ["JWT"], False)),
        *(({"kid": each}, "kid") for each in (1, ["1"])),
        ({"kid": " "}, "unknown key"),
    ]
    assert [(header, result(id_token(header=header))) for header, _ in wrong] == wrong


def test_a_token_of_another_form_is_refused():
    head, body, signature = id_token().split(".")
    octets, not_a_number = b'{"alg": "RS256", "alg": "RS256"}', b'{"exp": NaN}'
    spoiled = {
        "no signature": f"{head}.{body}.",
        "no dots": head,
        "four parts": f"{head}.{body}.{signature}.{body}",
        "encrypted": f"{head}.{body}.{signature}.{body}.{body}",
        "padding": f"{head}.{body}.{signature}=",
        "space": f" {head}.{body}.{signature}",
        "not base64": f"{head}.{body}.ä",
        "a bit too long": f"{head}A.{body}.{signature}",
        "doubled header": f"{base64url(octets)}.{body}.{signature}",
        "list as a header": f"{base64url(b'[]')}.{body}.{signature}",
        "list as claims": f"{head}.{base64url(b'[]')}.{signature}",
        "NaN": f"{head}.{base64url(not_a_number)}.{signature}",
        "nested": f"{head}.{base64url(b'[' * 5000)}.{signature}",
        "empty": "",
    }
    results = {name: result(token) for name, token in spoiled.items()}
    assert results == dict.fromkeys(spoiled, "form")


def test_a_token_is_as_long_as_its_groups(provider, client):
    """Nothing but the bound of the whole answer limits it."""
    provider.claims["groups"] = [f"{number:060}" for number in range(300)]
    assert len(provider.id_token()) > 16 * 1024
    assert client.log_in().groups == ()


@pytest.mark.promise(70)
def test_a_changed_claim_or_signature_is_refused():
    head, body, signature = id_token().split(".")
    other = id_token(sub="grace").split(".")[1]
    for token in (f"{head}.{other}.{signature}", f"{head}.{body}.AAAA", f"{head}.{body}.A"):
        assert result(token) == "signature"


ELSEWHERE = "https://elsewhere.example"
SUBJECTS = ["", " ada", "ada ", "a\x00b", "a\nb", "ä", "x" * 256, "x" * 300, 1, None, ["ada"], DROP]
NEAR = [f"{ISSUER}/", ISSUER.upper(), f"{ISSUER}#"]


def test_a_claim_that_is_wrong_is_refused():
    wrong = [
        *(({"iss": each}, "iss") for each in (ELSEWHERE, "", None, [ISSUER], DROP, *NEAR)),
        *(({"aud": each}, "aud") for each in ("other", "", None, 1, {OUR: 1}, [], [1], DROP)),
        *(({"aud": each}, "aud") for each in (["other"], f"{OUR} ", OUR.upper(), [[OUR]])),
        *(({"aud": [OUR, each]}, "azp") for each in ("other", OUR, 1)),
        *(({"azp": each}, "azp") for each in ("other", " ", False, [OUR])),
        *(({"aud": [OUR, "other"], "azp": each}, "azp") for each in ("other", "", None)),
        *(({"nonce": each}, "nonce") for each in ("other", "", None, 1, ["x"], "\ud800", DROP)),
        *(({"sub": each}, "sub") for each in SUBJECTS),
        *(({"at_hash": each}, "at_hash") for each in ("x", False, 1, "ä")),
        ({"at_hash": half_hash("another", "RS256")}, "at_hash"),
        *(({"exp": each}, "times") for each in (DROP, None, "", "9999999999", True, [1], 1e300)),
        *(({"iat": each}, "times") for each in (DROP, None, "1", False, {}, -1e300)),
        *(({"nbf": each}, "times") for each in ("1", True)),
        *(({"auth_time": each}, "times") for each in ("now", "2000000000", True, [1], 1e300)),
        ({"exp": 1}, "times"),
        ({"exp": float("inf")}, "form"),
        ({"iat": 1}, "clock"),
        ({"iat": 2**40, "exp": 2**41}, "clock"),
        ({"nbf": 2**40}, "clock"),
    ]
    assert [(claims, result(id_token(**claims))) for claims, _ in wrong] == wrong


@pytest.mark.promise(69)
def test_the_token_of_another_login_is_refused(provider, client):
    client.log_in("grace")
    provider.tokens["id_token"] = provider.id_token("grace", nonce="of the other login")
    error = client.refusal()
    assert (error.status, error.reason) == (502, "nonce")


def test_a_claim_that_is_right_is_accepted():
    right = [
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
    ]
    results = [(claims, result(id_token(**claims))) for claims in right]
    assert results == [(claims, claims.get("sub", "ada")) for claims in right]


def test_a_clock_that_is_wrong_is_named(provider, client):
    for ahead in (-180, -50, 50):
        provider.ahead = ahead
        assert client.log_in().subject == "ada"
    for ahead in (-700, 180):
        provider.ahead = ahead
        error = client.refusal()
        assert (error.status, error.reason) == (502, "clock")
        assert error.detail.startswith("The clock of this site or of Google is wrong.")


def test_a_token_that_has_expired_by_our_clock_is_refused():
    assert result(id_token(iat=NOW - 180, exp=NOW - 61)) == "clock"


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


def test_a_logout_token_names_the_sessions_that_end(provider, google):
    for token_type in ("logout+jwt", "JWT", "Logout+JWT"):
        provider.header["typ"] = token_type
        token = google.verify_logout_token(provider.logout_token(jti="j-1", sid="s 1"))
        assert token == ("j-1", "ada", "s 1", provider.issuer)


@pytest.mark.promise(74)
def test_a_logout_token_that_never_expires_counts_for_ten_minutes(provider, google):
    """As those of Ory Hydra and LemonLDAP::NG."""
    for expiry in (DROP, None, ""):
        for age in (0, 550):
            token = provider.logout_token(exp=expiry, iat=time.time() - age)
            assert google.verify_logout_token(token).subject == "ada"
        token = provider.logout_token(exp=expiry, iat=time.time() - 700)
        assert refusal(google, token).reason == "clock"


def test_a_subject_or_a_session_is_enough(provider, google):
    for left_out, expected in (("sub", ("", "s")), ("sid", ("ada", ""))):
        for absent in (DROP, None, ""):
            claims = {"sid": "s", "nonce": absent, left_out: absent}
            found = google.verify_logout_token(provider.logout_token(**claims))
            assert (found.subject, found.sid) == expected


def test_a_logout_token_that_is_wrong_is_refused(provider, google):
    wrong = [
        *(({"events": each}, "events") for each in (DROP, None, [], {}, [LOGOUT_EVENT], "x")),
        ({"events": {"http://schemas.openid.net/event/other": {}}}, "events"),
        *(({"events": {LOGOUT_EVENT: each}}, "events") for each in (None, [], "", True)),
        *(({"nonce": each}, "nonce") for each in ("x", " ", False)),
        *(({"jti": each}, "jti") for each in (DROP, "", None, 1, "x" * 256, "a\x00b")),
        *(({"sub": each}, "sub") for each in (1, False, "x" * 256, "ä")),
        *(({"sid": each}, "sub") for each in (1, [], "x" * 256, ["s"])),
        *(({"sub": each, "sid": each}, "sub") for each in (DROP, None, "")),
        ({"iss": ELSEWHERE}, "iss"),
        ({"aud": "other"}, "aud"),
        *(({"exp": each}, "times") for each in ("x", True, [], 1)),
        ({"exp": 2, "iat": 1}, "clock"),
        *(({"iat": each}, "times") for each in (DROP, None, "")),
        ({"iat": DROP, "exp": DROP}, "times"),
        ({"iat": 1}, "clock"),
        ({"iat": 1, "exp": DROP}, "clock"),
        ({"iat": 2**40, "exp": DROP}, "clock"),
        ({"nbf": 2**40, "exp": DROP}, "clock"),
    ]
    errors = [refusal(google, provider.logout_token(**claims)) for claims, _ in wrong]
    claims = [claims for claims, _ in wrong]
    assert [*zip(claims, (each.reason for each in errors), strict=True)] == wrong
    assert {(each.status, each.code) for each in errors} == {(400, "provider_failed")}


def test_an_id_token_is_no_logout_token(provider, google):
    assert refusal(google, provider.id_token(nonce="x")).reason == "events"
    provider.header["typ"] = "at+jwt"
    assert refusal(google, provider.logout_token()).reason == "typ"


@pytest.mark.promise(70)
def test_a_logout_token_that_the_provider_has_not_signed_is_refused(provider, google):
    reasons = []
    for key in (OTHER_KEY, HmacKey(b"a secret: 100%+/=@&"), NoKey()):
        provider.key = key
        reasons.append(refusal(google, provider.logout_token()).reason)
    assert reasons == ["unknown key", "alg", "form"]


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
