"""Access tokens, and all that only looks like one."""

import base64
import hashlib
import hmac
import json
import traceback
from dataclasses import replace

import jwt
import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware
from wsgiauth.authentication.tokens import Claims, Tokens, key_id
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings

KEY = SECRET_KEY + SECRET_KEY.swapcase()  # long enough for each algorithm
OTHER_KEY = KEY[::-1]
OLD_KEY = KEY.swapcase()
OLDER_KEY = OTHER_KEY.swapcase()
NOW = 1_800_000_000
SESSION = "u6GkV5wTQ2mZb9xL0cR3sA"

HEADER = {"alg": "HS256", "typ": "at+jwt"}
CLAIMS = {"sub": "7", "jti": SESSION, "iat": NOW - 60, "exp": NOW + 3540}
VERIFIED = Claims(7, SESSION, NOW + 3540, issued_at=NOW - 60)
JUST_ISSUED = VERIFIED._replace(issued_at=NOW)

HS256, HS384, HS512 = "HS256", "HS384", "HS512"


def tokens_of(**settings):
    return Tokens(Settings(**{"SECRET_KEY": KEY, **settings}), clock=lambda: NOW)


def verify(token, **settings):
    tokens = tokens_of(**settings)
    return tokens.verify(token, tokens.now())


def encoded(part):
    octets = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def forged(header=HEADER, claims=CLAIMS, *, key=KEY, digest="sha256"):
    """Sign by hand whatever is given, as a dictionary or as raw bytes."""
    signed = f"{encoded(header)}.{encoded(claims)}"
    return f"{signed}.{encoded(hmac.digest(key.encode(), signed.encode(), digest))}"


def without(name, whole):
    return {other: value for other, value in whole.items() if other != name}


def of_length(length):
    tokens = (forged(claims={**CLAIMS, "more": "x" * more}) for more in range(length // 2, length))
    return next(token for token in tokens if len(token) == length)


GOOD = forged()
FIRST, SECOND, THIRD = GOOD.split(".")


def test_a_token_signed_by_hand_is_verified():
    assert verify(GOOD) == VERIFIED


@pytest.mark.promise(1)
@pytest.mark.parametrize("algorithm", [HS256, HS384, HS512])
def test_what_is_issued_is_verified(algorithm):
    tokens = tokens_of(JWT_ALGORITHM=algorithm)
    token = tokens.issue(7, SESSION, NOW + 3600)
    assert tokens.verify(token, tokens.now()) == Claims(7, SESSION, NOW + 3600, issued_at=NOW)


@pytest.mark.promise(2)
@pytest.mark.parametrize("algorithm", [HS256, HS384, HS512])
def test_any_jwt_library_reads_a_token_and_finds_nothing_personal(algorithm):
    tokens = tokens_of(JWT_ALGORITHM=algorithm, JWT_EXPIRY_MINUTES=5)
    token = tokens.issue(7, SESSION, NOW + 300)
    assert jwt.decode_complete(
        token, KEY, algorithms=[algorithm], options={"verify_exp": False, "verify_iat": False}
    ) == {
        "header": {"alg": algorithm, "typ": "at+jwt", "kid": key_id(KEY.encode())},
        "payload": {"sub": "7", "jti": SESSION, "iat": NOW, "exp": NOW + 300},
        "signature": jwt.utils.base64url_decode(token.rpartition(".")[2]),
    }


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("configured", "used"),
    [
        (HS256, HS384),
        (HS256, HS512),
        (HS384, HS256),
        (HS384, HS512),
        (HS512, HS256),
        (HS512, HS384),
    ],
)
def test_only_the_configured_algorithm_is_verified(configured, used):
    digest = used.replace("HS", "sha")
    token = forged({**HEADER, "alg": used}, digest=digest)
    assert verify(token, JWT_ALGORITHM=used) == VERIFIED
    assert verify(token, JWT_ALGORITHM=configured) is None


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "algorithm",
    [
        *("none", "None", "NONE", "hs256", "HS256 ", "HS256\0", "HS384", "HS512"),
        *("RS256", "ES256", ""),
        *(None, True, 0, ["HS256"], {"HS256": "HS256"}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("signature", [THIRD, "AA", ""], ids=["good", "bad", "empty"])
def test_the_header_cannot_choose_an_algorithm(algorithm, signature):
    header = {**HEADER, "alg": algorithm}
    assert verify(forged(header)) is None
    assert verify(f"{encoded(header)}.{SECOND}.{signature}") is None


@pytest.mark.promise(1)
def test_a_header_without_an_algorithm_is_refused():
    assert verify(forged(without("alg", HEADER))) is None


KEY_HEADERS = [
    pytest.param({"kid": "other"}, id="kid"),
    pytest.param({"kid": "../../../../dev/null"}, id="kid that is a path"),
    pytest.param({"jku": "http://127.0.0.1:9/keys"}, id="jku"),
    pytest.param({"jwk": {"kty": "oct", "k": encoded(OTHER_KEY.encode())}}, id="jwk"),
    pytest.param({"x5u": "http://127.0.0.1:9/chain"}, id="x5u"),
    pytest.param({"x5c": [encoded(OTHER_KEY.encode())]}, id="x5c"),
]


@pytest.mark.promise(1)
@pytest.mark.parametrize("parameters", KEY_HEADERS)
@pytest.mark.parametrize("key", [OTHER_KEY, ""], ids=["other key", "empty key"])
def test_the_header_cannot_bring_a_key(parameters, key):
    assert verify(forged(HEADER | parameters, key=key)) is None


@pytest.mark.promise(1)
@pytest.mark.parametrize("parameters", KEY_HEADERS)
def test_the_header_cannot_take_our_key_away(parameters):
    assert verify(forged(HEADER | parameters)) == VERIFIED


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"crit": ["exp"]}, id="known name"),
        pytest.param({"crit": ["https://example.org/x"]}, id="unknown name"),
        pytest.param({"crit": ["b64"], "b64": False}, id="unencoded payload"),
        pytest.param({"crit": []}, id="empty"),
        pytest.param({"crit": "exp"}, id="no list"),
    ],
)
def test_a_token_that_demands_an_extension_is_refused(parameters):
    assert verify(forged(HEADER | parameters)) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(without("typ", HEADER), id="missing"),
        *(
            pytest.param({**HEADER, "typ": kind}, id=repr(kind))
            for kind in ("JWT", "jwt", "id+jwt", "dpop+jwt", "", "at+jwt ", None, 1, ["at+jwt"])
        ),
    ],
)
def test_a_signed_token_of_another_kind_is_no_access_token(header):
    assert verify(forged(header)) is None


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "token",
    [
        pytest.param(forged(key=OTHER_KEY), id="another key"),
        pytest.param(f"{FIRST}.{SECOND}.{encoded(bytes(32))}", id="a signature of zeros"),
        pytest.param(f"{FIRST}.{SECOND}.A", id="a signature of impossible length"),
        pytest.param(forged(b"[" * 2800, b"9" * 200, key=OTHER_KEY), id="a costly header"),
        pytest.param(forged(claims=b"[" * 2800, key=OTHER_KEY), id="costly claims"),
        pytest.param(forged({**HEADER, "alg": "none"}, key=""), id="alg none"),
        pytest.param(f"{FIRST}.{SECOND}", id="two segments"),
    ],
)
def test_nothing_is_read_of_a_token_that_we_did_not_sign(monkeypatch, token):
    read = []

    def loads(text, original=json.loads):
        read.append(text)
        return original(text)

    tokens = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY,))
    monkeypatch.setattr(json, "loads", loads)
    assert tokens.verify(token, tokens.now()) is None
    assert read == []
    assert tokens.verify(GOOD, tokens.now()) == VERIFIED
    assert len(read) == 2


# Keys that are replaced.


@pytest.mark.promise(1)
@pytest.mark.parametrize("algorithm", [HS256, HS384, HS512])
@pytest.mark.parametrize("key", [KEY, OLD_KEY, OLDER_KEY], ids=["new", "old", "older"])
def test_a_token_of_any_of_our_keys_is_verified(algorithm, key):
    token = tokens_of(SECRET_KEY=key, JWT_ALGORITHM=algorithm).issue(7, SESSION, NOW + 3540)
    rotated = tokens_of(JWT_ALGORITHM=algorithm, SECRET_KEY_FALLBACKS=(OLD_KEY, OLDER_KEY))
    assert rotated.verify(token, rotated.now()) == JUST_ISSUED


@pytest.mark.promise(1)
@pytest.mark.parametrize("key", [OTHER_KEY, "", OLD_KEY + OLDER_KEY], ids=["other", "", "both"])
def test_a_token_of_a_key_that_is_none_of_ours_is_refused(key):
    rotated = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY, OLDER_KEY))
    assert rotated.verify(forged(key=key), rotated.now()) is None


@pytest.mark.promise(1)
def test_a_fallback_signs_nothing():
    token = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY,)).issue(7, SESSION, NOW + 3540)
    assert verify(token) == JUST_ISSUED
    assert verify(token, SECRET_KEY=OLD_KEY) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize(
    "forgery",
    [
        pytest.param({"header": {**HEADER, "alg": "HS512"}}, id="alg"),
        pytest.param({"header": {**HEADER, "typ": "JWT"}}, id="typ"),
        pytest.param({"header": {**HEADER, "crit": ["exp"]}}, id="crit"),
        pytest.param({"claims": {**CLAIMS, "iss": "https://example.org"}}, id="issuer"),
        pytest.param({"claims": {**CLAIMS, "exp": NOW}}, id="expired"),
    ],
)
def test_a_token_of_a_fallback_is_checked_like_any_other(forgery):
    assert verify(forged(**forgery, key=OLD_KEY), SECRET_KEY_FALLBACKS=(OLD_KEY,)) is None


def key_id_of(key, **settings):
    token = tokens_of(SECRET_KEY=key, **settings).issue(7, SESSION, NOW + 3540)
    return jwt.get_unverified_header(token)["kid"]


def test_a_key_has_one_id_whatever_else_is_configured():
    assert key_id_of(KEY) == key_id_of(KEY, JWT_ALGORITHM=HS512, SECRET_KEY_FALLBACKS=(OLD_KEY,))


def test_each_key_has_another_id():
    keys = (KEY, OLD_KEY, OLDER_KEY, OTHER_KEY, KEY + "x")
    assert len({key_id_of(key) for key in keys}) == len(keys)


@pytest.mark.promise(30)
@pytest.mark.parametrize(
    "digest",
    [
        pytest.param(lambda key: key, id="key"),
        pytest.param(lambda key: key[::-1], id="key backwards"),
        *(
            pytest.param(lambda key, name=name: hashlib.new(name, key).digest(), id=name)
            for name in ("md5", "sha1", "sha256", "sha384", "sha512")
        ),
        pytest.param(lambda key: hmac.digest(key, b"", "sha256"), id="HMAC of nothing"),
        pytest.param(lambda key: hmac.digest(b"", key, "sha256"), id="HMAC of the key"),
    ],
)
def test_an_id_is_no_part_of_its_key_nor_of_a_digest_that_others_may_have(digest):
    of_key = digest(KEY.encode())
    spellings = (of_key.decode("latin-1"), of_key.hex(), encoded(of_key))
    assert all(key_id_of(KEY) not in spelling for spelling in spellings)


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({}, id="none"),
        pytest.param({"kid": key_id(OLD_KEY.encode())}, id="the other key's"),
        pytest.param({"kid": key_id(OTHER_KEY.encode())}, id="a strange key's"),
        *(
            pytest.param({"kid": value}, id=ascii(value)[:20])
            for value in ("", 7, None, True, [], [key_id(KEY.encode())], {"a": 1}, "\ud800", "\0")
        ),
        pytest.param({"kid": "../../../../etc/passwd"}, id="path"),
        pytest.param({"kid": "x' UNION SELECT 'x"}, id="SQL"),
        pytest.param({"kid": "http://127.0.0.1:9/key"}, id="address"),
        pytest.param({"kid": "x" * 2000}, id="long"),
    ],
)
@pytest.mark.parametrize("key", [KEY, OLD_KEY], ids=["new", "old"])
def test_whatever_the_key_id_says_the_signature_decides(parameters, key):
    rotated = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY,))
    assert rotated.verify(forged(HEADER | parameters, key=key), rotated.now()) == VERIFIED
    assert rotated.verify(forged(HEADER | parameters, key=OTHER_KEY), rotated.now()) is None


@pytest.mark.promise(1)
@pytest.mark.parametrize("key", [KEY, OLD_KEY], ids=["new", "old"])
def test_the_right_key_id_helps_no_wrong_signature(key):
    header = {**HEADER, "kid": key_id(key.encode())}
    assert verify(forged(header, key=OTHER_KEY), SECRET_KEY_FALLBACKS=(OLD_KEY,)) is None


def caller(site, **headers):
    seen = TestApp(site).get("/", headers=headers).json
    return seen["user"], seen["error"]


def test_a_rotation_of_keys_logs_nobody_out(site, settings, ada, bearer):
    headers = bearer(ada)
    cookie = headers["Authorization"].replace("Bearer ", "wsgiauth=")
    rotated = replace(settings, SECRET_KEY=OTHER_KEY, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
    for each in (site, AuthMiddleware(echo, rotated)):
        assert caller(each, **headers) == caller(each, Cookie=cookie) == ("Ada", None)
    forgotten = AuthMiddleware(echo, replace(rotated, SECRET_KEY_FALLBACKS=()))
    assert caller(forgotten, **headers) == (None, "invalid_token")
    assert caller(forgotten, Cookie=cookie) == (None, "invalid_token")


def test_who_logs_in_after_a_rotation_stays_logged_in_without_the_old_key(site, settings, ada):
    rotated = replace(settings, SECRET_KEY=OTHER_KEY, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
    login = {"username": USERNAME, "password": PASSWORD}
    token = TestApp(AuthMiddleware(echo, rotated)).post_json("/auth/login", login).json
    headers = {"Authorization": f"Bearer {token['access_token']}"}
    done = AuthMiddleware(echo, replace(rotated, SECRET_KEY_FALLBACKS=()))
    assert caller(done, **headers) == ("Ada", None)
    assert caller(site, **headers) == (None, "invalid_token")


@pytest.mark.promise(2)
@pytest.mark.parametrize("name", ["sub", "jti", "iat", "exp"])
def test_a_token_that_lacks_a_claim_is_refused(name):
    assert verify(forged(claims=without(name, CLAIMS))) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize("name", ["iat", "exp", "nbf"])
@pytest.mark.parametrize(
    "value",
    [str(NOW + 60), True, False, NOW + 60.0, float("nan"), float("inf"), None, [NOW + 60], {}],
    ids=repr,
)
def test_times_are_json_integers(name, value):
    assert verify(forged(claims={**CLAIMS, name: value})) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize("exponent", [b"1.9e9", b"19e8"])
def test_an_integer_written_with_an_exponent_is_none(exponent):
    claims = json.dumps(CLAIMS).encode().replace(str(NOW + 3540).encode(), exponent)
    assert verify(forged(claims=claims)) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize(
    "subject",
    [
        *(
            "",
            "0",
            "07",
            "-7",
            "+7",
            " 7",
            "7\n",
            "7.0",
            "0x7",
            "1e3",
            "\u0667",
            "Ada",
            str(2**63),
            "1" * 20,
        ),
        *(7, 7.0, True, None, ["7"], {"7": 7}),
    ],
    ids=ascii,
)
def test_a_subject_is_a_positive_decimal(subject):
    assert verify(forged(claims={**CLAIMS, "sub": subject})) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize("subject", ["1", "10", str(2**63 - 1)])
def test_a_subject_is_the_id_of_a_user(subject):
    assert verify(forged(claims={**CLAIMS, "sub": subject})).user_id == int(subject)


@pytest.mark.promise(2)
@pytest.mark.parametrize(
    "session_id",
    [
        *(pytest.param(value, id=repr(value)) for value in (7, True, None, [SESSION], "")),
        pytest.param("\ud800", id="surrogate"),
        pytest.param(f"{SESSION}\0", id="NUL"),
        pytest.param("x" * 44, id="44 characters"),
        pytest.param("x" * 2000, id="2,000 characters"),
    ],
)
def test_a_session_id_is_such_as_we_issue(session_id):
    assert verify(forged(claims={**CLAIMS, "jti": session_id})) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize("session_id", ["x", "x" * 43], ids=len)
def test_a_session_id_has_up_to_43_characters(session_id):
    assert verify(forged(claims={**CLAIMS, "jti": session_id})).session_id == session_id


@pytest.mark.promise(2)
@pytest.mark.parametrize("number", ["1", True, 1.0, None, [1], -1, 10**9], ids=repr)
def test_the_number_of_a_pair_is_such_as_we_issue(number):
    assert verify(forged(claims={**CLAIMS, "wsgiauth_generation": number})) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize("number", [0, 1, 10**9 - 1])
def test_the_number_of_a_pair_has_up_to_nine_digits(number):
    token = forged(claims={**CLAIMS, "wsgiauth_generation": number})
    assert verify(token).generation == number


@pytest.mark.promise(2)
@pytest.mark.parametrize("setting", ["JWT_ISSUER", "JWT_AUDIENCE"])
def test_issuer_and_audience_are_set_and_checked_when_configured(setting):
    tokens = tokens_of(**{setting: "https://example.org"})
    token = tokens.issue(7, SESSION, NOW + 3540)
    assert tokens.verify(token, tokens.now()) == JUST_ISSUED


@pytest.mark.promise(2)
@pytest.mark.parametrize(("setting", "claim"), [("JWT_ISSUER", "iss"), ("JWT_AUDIENCE", "aud")])
@pytest.mark.parametrize(
    "value",
    [
        *("https://example.com", "https://example.org/", "HTTPS://EXAMPLE.ORG", ""),
        *(None, True, ["https://example.org"], {"https://example.org": True}),
    ],
    ids=repr,
)
def test_a_token_of_another_issuer_or_for_another_audience_is_refused(setting, claim, value):
    configured = {setting: "https://example.org"}
    assert verify(forged(claims={**CLAIMS, claim: "https://example.org"}), **configured) == VERIFIED
    assert verify(forged(claims={**CLAIMS, claim: value}), **configured) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize("setting", ["JWT_ISSUER", "JWT_AUDIENCE"])
def test_a_token_of_no_issuer_or_audience_is_refused_where_one_is_configured(setting):
    assert verify(GOOD, **{setting: "https://example.org"}) is None


@pytest.mark.promise(2)
@pytest.mark.parametrize("claim", ["iss", "aud"])
def test_a_token_for_somebody_else_is_refused_where_nobody_is_configured(claim):
    assert verify(forged(claims={**CLAIMS, claim: "https://example.org"})) is None


@pytest.mark.promise(3)
@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param(FIRST, id="one segment"),
        pytest.param(f"{FIRST}.{SECOND}", id="two segments"),
        pytest.param(f"{GOOD}.", id="an empty fourth"),
        pytest.param(f"{GOOD}.{THIRD}", id="four segments"),
        pytest.param(f"{FIRST}.{SECOND}.{THIRD}.{THIRD}.{THIRD}", id="encrypted"),
        pytest.param(f".{SECOND}.{THIRD}", id="no header"),
        pytest.param(f"{FIRST}..{THIRD}", id="no payload"),
        pytest.param(f"{FIRST}.{SECOND}.", id="no signature"),
        pytest.param("..", id="dots"),
        pytest.param(f"{GOOD}=", id="padded signature"),
        pytest.param(f"{FIRST}=.{SECOND}.{THIRD}", id="padded header"),
        pytest.param(f"{FIRST}.{SECOND}=.{THIRD}", id="padded payload"),
        pytest.param(f" {GOOD}", id="leading space"),
        pytest.param(f"{GOOD}\n", id="trailing line feed"),
        pytest.param(f"{FIRST}.{SECOND}. {THIRD}", id="inner space"),
        pytest.param(f"{FIRST}.{SECOND}.{THIRD[:-1]}+", id="plus"),
        pytest.param(f"{FIRST}.{SECOND}.{THIRD[:-1]}/", id="slash"),
        pytest.param(f'"{GOOD}"', id="quoted"),
        pytest.param(f"{GOOD}é", id="Latin-1"),
        pytest.param(f"\uff21{GOOD}", id="fullwidth"),
        pytest.param(f"{GOOD}\ud800", id="surrogate"),
        pytest.param(f"{GOOD}\0", id="NUL"),
        pytest.param(GOOD[:-2], id="cut off"),
        pytest.param("A.B.C", id="impossible length"),
    ],
)
def test_what_is_not_three_segments_of_base64url_is_refused(token):
    assert verify(token) is None


@pytest.mark.promise(3)
def test_a_token_has_4096_characters_at_most():
    assert verify(of_length(4096)) == VERIFIED
    assert verify(of_length(4097)) is None


@pytest.mark.promise(3)
@pytest.mark.parametrize("part", ["header", "claims"])
@pytest.mark.parametrize(
    "octets",
    [
        pytest.param(b"[]", id="list"),
        pytest.param(b"7", id="number"),
        pytest.param(b'"text"', id="text"),
        pytest.param(b"null", id="null"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b"{}", id="empty object"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b"[" * 2800, id="deep lists"),
        pytest.param(b'{"a":' * 560, id="deep objects"),
        pytest.param(b"9" * 2800, id="long number"),
    ],
)
def test_what_is_no_json_object_is_refused(part, octets):
    assert verify(forged(**{part: octets})) is None


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "token",
    [
        pytest.param(forged(key=OTHER_KEY), id="another key"),
        pytest.param(forged(key=KEY + "\n"), id="our key and a line feed"),
        pytest.param(forged(key=""), id="empty key"),
        pytest.param(f"{FIRST}.{encoded({**CLAIMS, 'sub': '1'})}.{THIRD}", id="another subject"),
        pytest.param(f"{encoded({**HEADER, 'kid': '1'})}.{SECOND}.{THIRD}", id="another header"),
        pytest.param(f"{FIRST}.{SECOND}.{THIRD[:22]}", id="half a signature"),
        pytest.param(f"{FIRST}.{SECOND}.{THIRD.swapcase()}", id="another case"),
    ],
)
def test_what_our_key_did_not_sign_is_refused(token):
    assert verify(token) is None


@pytest.mark.parametrize(
    ("expires_at", "is_accepted"),
    [
        pytest.param(NOW + 1, True, id="in a second"),
        pytest.param(NOW, False, id="now"),
        pytest.param(NOW - 1, False, id="a second ago"),
        pytest.param(0, False, id="in 1970"),
        pytest.param(-1, False, id="before"),
    ],
)
def test_a_token_expires_in_its_second(expires_at, is_accepted):
    token = forged(claims={**CLAIMS, "exp": expires_at})
    assert (verify(token) is not None) is is_accepted


@pytest.mark.promise(2)
@pytest.mark.parametrize(
    ("not_before", "is_accepted"),
    [
        pytest.param(NOW + 1, False, id="in a second"),
        pytest.param(NOW + 10**30, False, id="in the distant future"),
        pytest.param(NOW, True, id="now"),
        pytest.param(NOW - 1, True, id="a second ago"),
        pytest.param(-1, True, id="before 1970"),
    ],
)
def test_a_token_is_accepted_from_its_nbf_on(not_before, is_accepted):
    token = forged(claims={**CLAIMS, "nbf": not_before})
    assert (verify(token) is not None) is is_accepted


@pytest.mark.promise(2)
def test_the_nbf_of_a_token_that_was_verified_before_is_compared_again():
    moments = iter([NOW, NOW - 0.5, NOW - 1, NOW])
    tokens = Tokens(Settings(SECRET_KEY=KEY), clock=lambda: next(moments))
    token = forged(claims={**CLAIMS, "nbf": NOW})
    assert [tokens.verify(token, tokens.now()) is not None for _ in range(4)] == [
        True,
        False,
        False,
        True,
    ]


def test_a_token_that_was_verified_before_expires_all_the_same():
    moments = iter([NOW, NOW + 3539.5, NOW + 3540, NOW])
    tokens = Tokens(Settings(SECRET_KEY=KEY), clock=lambda: next(moments))
    assert [tokens.verify(GOOD, tokens.now()) for _ in range(4)] == [
        VERIFIED,
        VERIFIED,
        None,
        VERIFIED,
    ]


@pytest.mark.promise(29)
def test_without_a_key_no_tokens_are_made():
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY must be set: `python -m wsgiauth"):
        Tokens(Settings())


@pytest.mark.promise(29)
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(
            f"-----BEGIN PUBLIC KEY-----\n{KEY}\n-----END PUBLIC KEY-----\n", id="PEM public key"
        ),
        pytest.param(f"ssh-rsa {KEY}", id="SSH public key"),
        pytest.param(json.dumps({"kty": "oct", "k": KEY}), id="JWK"),
    ],
)
def test_a_key_of_another_kind_is_refused_without_printing_it(key):
    for name, settings in (
        ("SECRET_KEY", Settings(SECRET_KEY=key)),
        ("SECRET_KEY_FALLBACKS", Settings(SECRET_KEY=KEY, SECRET_KEY_FALLBACKS=(OLD_KEY, key))),
    ):
        with pytest.raises(ConfigurationError, match=f"^{name} must be a secret string") as caught:
            Tokens(settings)
        assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.promise(1)
@pytest.mark.promise(2)
@pytest.mark.parametrize(
    "header",
    [
        pytest.param({**HEADER, "alg": "none"}, id="alg none"),
        pytest.param({**HEADER, "typ": "JWT"}, id="typ JWT"),
        pytest.param({**HEADER, "crit": ["exp"]}, id="crit"),
    ],
)
def test_a_forgery_for_a_login_that_stands_is_answered_as_nobody(client, ada, bearer, header):
    token = bearer(ada)["Authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, options={"verify_signature": False})
    forgery = forged(header, claims, key=SECRET_KEY)
    seen = client.get("/", headers={"Authorization": f"Bearer {forgery}"}).json
    assert (seen["user"], seen["error"]) == (None, "invalid_token")
