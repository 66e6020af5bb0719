"""Access tokens, and all that only looks like one."""

import base64
import hashlib
import hmac
import json
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import jwt
import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware
from wsgiauth.authentication.signatures import key_id
from wsgiauth.authentication.tokens import Claims, Tokens
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
    return signed(f"{encoded(header)}.{encoded(claims)}", key, digest)


def signed(segments, key=KEY, digest="sha256"):
    return f"{segments}.{encoded(hmac.digest(key.encode(), segments.encode(), digest))}"


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
def test_what_is_issued_is_verified():
    for algorithm in [HS256, HS384, HS512]:
        tokens = tokens_of(JWT_ALGORITHM=algorithm)
        token = tokens.issue(7, SESSION, NOW + 3600)
        assert tokens.verify(token, tokens.now()) == Claims(
            7, SESSION, NOW + 3600, issued_at=NOW
        ), algorithm


@pytest.mark.promise(2)
def test_any_jwt_library_reads_a_token_and_finds_nothing_personal():
    for algorithm in [HS256, HS384, HS512]:
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
def test_only_the_configured_algorithm_is_verified():
    for configured, used in [
        (HS256, HS384),
        (HS256, HS512),
        (HS384, HS256),
        (HS384, HS512),
        (HS512, HS256),
        (HS512, HS384),
    ]:
        digest = used.replace("HS", "sha")
        token = forged({**HEADER, "alg": used}, digest=digest)
        assert verify(token, JWT_ALGORITHM=used) == VERIFIED, (configured, used)
        assert verify(token, JWT_ALGORITHM=configured) is None, (configured, used)


@pytest.mark.promise(1)
def test_the_header_cannot_choose_an_algorithm():
    for case, signature in {
        "good": THIRD,
        "bad": "AA",
        "empty": "",
    }.items():
        for algorithm in [
            *("none", "None", "NONE", "hs256", "HS256 ", "HS256\0", "HS384", "HS512"),
            *("RS256", "ES256", ""),
            *(None, True, 0, ["HS256"], {"HS256": "HS256"}),
        ]:
            header = {**HEADER, "alg": algorithm}
            assert verify(forged(header)) is None, (case, algorithm)
            assert verify(f"{encoded(header)}.{SECOND}.{signature}") is None, (case, algorithm)


@pytest.mark.promise(1)
def test_a_header_without_an_algorithm_is_refused():
    assert verify(forged(without("alg", HEADER))) is None


@pytest.mark.promise(1)
def test_the_header_can_neither_bring_a_key_nor_take_ours_away():
    for parameters in (
        {"kid": "other"},
        {"kid": "../../../../dev/null"},
        {"jku": "http://127.0.0.1:9/keys"},
        {"jwk": {"kty": "oct", "k": encoded(OTHER_KEY.encode())}},
        {"x5u": "http://127.0.0.1:9/chain"},
        {"x5c": [encoded(OTHER_KEY.encode())]},
    ):
        header = HEADER | parameters
        assert verify(forged(header)) == VERIFIED, parameters
        for key in (OTHER_KEY, ""):
            assert verify(forged(header, key=key)) is None, (parameters, key)


@pytest.mark.promise(1)
def test_a_token_that_demands_an_extension_is_refused():
    for case, parameters in {
        "known name": {"crit": ["exp"]},
        "unknown name": {"crit": ["https://example.org/x"]},
        "unencoded payload": {"crit": ["b64"], "b64": False},
        "empty": {"crit": []},
        "no list": {"crit": "exp"},
    }.items():
        assert verify(forged(HEADER | parameters)) is None, case


@pytest.mark.promise(2)
def test_a_signed_token_of_another_kind_is_no_access_token():
    assert verify(forged(without("typ", HEADER))) is None
    for kind in ("JWT", "jwt", "id+jwt", "dpop+jwt", "", "at+jwt ", None, 1, ["at+jwt"]):
        assert verify(forged({**HEADER, "typ": kind})) is None, kind


@pytest.mark.promise(1)
def test_nothing_is_read_of_a_token_that_we_did_not_sign(monkeypatch):
    read = []

    def raw_decode(self, text, idx=0, original=json.JSONDecoder.raw_decode):
        read.append(text)
        return original(self, text, idx)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", raw_decode)
    for case, token in {
        "another key": forged(key=OTHER_KEY),
        "a signature of zeros": f"{FIRST}.{SECOND}.{encoded(bytes(32))}",
        "a signature of impossible length": f"{FIRST}.{SECOND}.A",
        "a costly header": forged(b"[" * 2800, b"9" * 200, key=OTHER_KEY),
        "costly claims": forged(claims=b"[" * 2800, key=OTHER_KEY),
        "alg none": forged({**HEADER, "alg": "none"}, key=""),
        "two segments": f"{FIRST}.{SECOND}",
    }.items():
        tokens = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY,))
        read.clear()
        assert tokens.verify(token, tokens.now()) is None, case
        assert read == [], case
        assert tokens.verify(GOOD, tokens.now()) == VERIFIED, case
        assert len(read) == 2, case


# Keys that are replaced.


@pytest.mark.promise(1)
def test_a_token_of_any_of_our_keys_is_verified():
    for case, key in {"new": KEY, "old": OLD_KEY, "older": OLDER_KEY}.items():
        for algorithm in [HS256, HS384, HS512]:
            token = tokens_of(SECRET_KEY=key, JWT_ALGORITHM=algorithm).issue(7, SESSION, NOW + 3540)
            rotated = tokens_of(JWT_ALGORITHM=algorithm, SECRET_KEY_FALLBACKS=(OLD_KEY, OLDER_KEY))
            assert rotated.verify(token, rotated.now()) == JUST_ISSUED, (case, algorithm)


@pytest.mark.promise(1)
def test_threads_verify_tokens_of_several_keys_at_the_same_time():
    rotated = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY, OLDER_KEY))
    keys = (KEY, OLD_KEY, OLDER_KEY, OTHER_KEY)
    tokens = [
        forged(claims={**CLAIMS, "sub": str(each)}, key=keys[each % 4]) for each in range(400)
    ]
    with ThreadPoolExecutor(4) as pool:
        verified = [*pool.map(lambda token: rotated.verify(token, NOW), tokens)]
    assert [each and each.user_id for each in verified] == [
        each if each and each % 4 < 3 else None for each in range(400)
    ]


@pytest.mark.promise(1)
def test_a_token_of_a_key_that_is_none_of_ours_is_refused():
    for key in (OTHER_KEY, "", OLD_KEY + OLDER_KEY):
        rotated = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY, OLDER_KEY))
        assert rotated.verify(forged(key=key), rotated.now()) is None, key


@pytest.mark.promise(1)
def test_a_fallback_signs_nothing():
    token = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY,)).issue(7, SESSION, NOW + 3540)
    assert verify(token) == JUST_ISSUED
    assert verify(token, SECRET_KEY=OLD_KEY) is None


@pytest.mark.promise(2)
def test_a_token_of_a_fallback_is_checked_like_any_other():
    for case, forgery in {
        "alg": {"header": {**HEADER, "alg": "HS512"}},
        "typ": {"header": {**HEADER, "typ": "JWT"}},
        "crit": {"header": {**HEADER, "crit": ["exp"]}},
        "issuer": {"claims": {**CLAIMS, "iss": "https://example.org"}},
        "expired": {"claims": {**CLAIMS, "exp": NOW}},
    }.items():
        assert verify(forged(**forgery, key=OLD_KEY), SECRET_KEY_FALLBACKS=(OLD_KEY,)) is None, case


def key_id_of(key, **settings):
    token = tokens_of(SECRET_KEY=key, **settings).issue(7, SESSION, NOW + 3540)
    return jwt.get_unverified_header(token)["kid"]


def test_a_key_has_one_id_whatever_else_is_configured():
    assert key_id_of(KEY) == key_id_of(KEY, JWT_ALGORITHM=HS512, SECRET_KEY_FALLBACKS=(OLD_KEY,))


def test_each_key_has_another_id():
    keys = (KEY, OLD_KEY, OLDER_KEY, OTHER_KEY, KEY + "x")
    assert len({key_id_of(key) for key in keys}) == len(keys)


@pytest.mark.promise(30)
def test_an_id_is_no_part_of_its_key_nor_of_a_digest_that_others_may_have():
    key = KEY.encode()
    names = ("md5", "sha1", "sha256", "sha384", "sha512")
    for case, of_key in {
        "key": key,
        "key backwards": key[::-1],
        **{name: hashlib.new(name, key).digest() for name in names},
        "HMAC of nothing": hmac.digest(key, b"", "sha256"),
        "HMAC of the key": hmac.digest(b"", key, "sha256"),
    }.items():
        spellings = (of_key.decode("latin-1"), of_key.hex(), encoded(of_key))
        assert all(key_id_of(KEY) not in spelling for spelling in spellings), case


@pytest.mark.promise(1)
def test_whatever_the_key_id_says_the_signature_decides():
    rotated = tokens_of(SECRET_KEY_FALLBACKS=(OLD_KEY,))
    key_ids = (
        *(key_id(key.encode()) for key in (KEY, OLD_KEY, OTHER_KEY)),
        *("", 7, None, True, [], [key_id(KEY.encode())], {"a": 1}, "\ud800", "\0"),
        *("../../../../etc/passwd", "x' UNION SELECT 'x", "http://127.0.0.1:9/key", "x" * 2000),
    )
    for header in (HEADER, *({**HEADER, "kid": each} for each in key_ids)):
        verified = {
            key: rotated.verify(forged(header, key=key), rotated.now())
            for key in (KEY, OLD_KEY, OTHER_KEY)
        }
        assert verified == {KEY: VERIFIED, OLD_KEY: VERIFIED, OTHER_KEY: None}, header


@pytest.mark.promise(1)
def test_the_right_key_id_helps_no_wrong_signature():
    for key in (KEY, OLD_KEY):
        header = {**HEADER, "kid": key_id(key.encode())}
        assert verify(forged(header, key=OTHER_KEY), SECRET_KEY_FALLBACKS=(OLD_KEY,)) is None, key


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
def test_a_token_that_lacks_a_claim_is_refused():
    for name in ["sub", "jti", "iat", "exp"]:
        assert verify(forged(claims=without(name, CLAIMS))) is None


@pytest.mark.promise(2)
def test_times_are_json_integers():
    for value in [
        str(NOW + 60),
        True,
        False,
        NOW + 60.0,
        float("nan"),
        float("inf"),
        None,
        [NOW + 60],
        {},
    ]:
        for name in ["iat", "exp", "nbf"]:
            assert verify(forged(claims={**CLAIMS, name: value})) is None, (value, name)


@pytest.mark.promise(2)
def test_an_integer_written_with_an_exponent_is_none():
    for exponent in [b"1.9e9", b"19e8"]:
        claims = json.dumps(CLAIMS).encode().replace(str(NOW + 3540).encode(), exponent)
        assert verify(forged(claims=claims)) is None, exponent


@pytest.mark.promise(2)
def test_a_subject_is_a_positive_decimal():
    for subject in [
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
            "1_0",
            "-0",
            "Ada",
            str(2**63),
            "1" * 20,
            "1" * 2000,
        ),
        *(7, 7.0, True, None, ["7"], {"7": 7}),
    ]:
        assert verify(forged(claims={**CLAIMS, "sub": subject})) is None


@pytest.mark.promise(2)
def test_a_subject_is_the_id_of_a_user():
    for subject in ["1", "10", str(2**63 - 1)]:
        assert verify(forged(claims={**CLAIMS, "sub": subject})).user_id == int(subject)


@pytest.mark.promise(2)
def test_a_session_id_is_such_as_we_issue():
    strings = ("", "\ud800", f"{SESSION}\0", "x" * 44, "x" * 2000)
    for session_id in (7, True, None, [SESSION], *strings):
        assert verify(forged(claims={**CLAIMS, "jti": session_id})) is None, session_id


@pytest.mark.promise(2)
def test_a_session_id_has_up_to_43_characters():
    for session_id in ["x", "x" * 43]:
        assert verify(forged(claims={**CLAIMS, "jti": session_id})).session_id == session_id


@pytest.mark.promise(2)
def test_the_number_of_a_pair_is_such_as_we_issue():
    for number in ["1", True, 1.0, None, [1], -1, 10**9]:
        assert verify(forged(claims={**CLAIMS, "wsgiauth_generation": number})) is None


@pytest.mark.promise(2)
def test_the_number_of_a_pair_has_up_to_nine_digits():
    for number in [0, 1, 10**9 - 1]:
        token = forged(claims={**CLAIMS, "wsgiauth_generation": number})
        assert verify(token).generation == number


@pytest.mark.promise(2)
def test_issuer_and_audience_are_set_and_checked_when_configured():
    for setting in ["JWT_ISSUER", "JWT_AUDIENCE"]:
        tokens = tokens_of(**{setting: "https://example.org"})
        token = tokens.issue(7, SESSION, NOW + 3540)
        assert tokens.verify(token, tokens.now()) == JUST_ISSUED, setting


@pytest.mark.promise(2)
def test_a_token_of_another_issuer_or_for_another_audience_is_refused():
    for value in [
        *("https://example.com", "https://example.org/", "HTTPS://EXAMPLE.ORG", ""),
        *(None, True, ["https://example.org"], {"https://example.org": True}),
    ]:
        for setting, claim in [("JWT_ISSUER", "iss"), ("JWT_AUDIENCE", "aud")]:
            configured = {setting: "https://example.org"}
            assert (
                verify(forged(claims={**CLAIMS, claim: "https://example.org"}), **configured)
                == VERIFIED
            ), (value, setting, claim)
            assert verify(forged(claims={**CLAIMS, claim: value}), **configured) is None, (
                value,
                setting,
                claim,
            )


@pytest.mark.promise(2)
def test_a_token_of_no_issuer_or_audience_is_refused_where_one_is_configured():
    for setting in ["JWT_ISSUER", "JWT_AUDIENCE"]:
        assert verify(GOOD, **{setting: "https://example.org"}) is None


@pytest.mark.promise(2)
def test_a_token_for_somebody_else_is_refused_where_nobody_is_configured():
    for claim in ["iss", "aud"]:
        assert verify(forged(claims={**CLAIMS, claim: "https://example.org"})) is None


@pytest.mark.promise(3)
def test_what_is_not_three_segments_of_base64url_is_refused():
    for case, token in {
        "empty": "",
        "one segment": FIRST,
        "two segments": f"{FIRST}.{SECOND}",
        "an empty fourth": f"{GOOD}.",
        "four segments": f"{GOOD}.{THIRD}",
        "encrypted": f"{FIRST}.{SECOND}.{THIRD}.{THIRD}.{THIRD}",
        "no header": f".{SECOND}.{THIRD}",
        "no payload": f"{FIRST}..{THIRD}",
        "no signature": f"{FIRST}.{SECOND}.",
        "dots": "..",
        "padded signature": f"{GOOD}=",
        "padded header": f"{FIRST}=.{SECOND}.{THIRD}",
        "padded payload": f"{FIRST}.{SECOND}=.{THIRD}",
        "leading space": f" {GOOD}",
        "trailing line feed": f"{GOOD}\n",
        "inner space": f"{FIRST}.{SECOND}. {THIRD}",
        "plus": f"{FIRST}.{SECOND}.{THIRD[:-1]}+",
        "slash": f"{FIRST}.{SECOND}.{THIRD[:-1]}/",
        "quoted": f'"{GOOD}"',
        "Latin-1": f"{GOOD}é",
        "fullwidth": f"\uff21{GOOD}",
        "surrogate": f"{GOOD}\ud800",
        "NUL": f"{GOOD}\0",
        "cut off": GOOD[:-2],
        "impossible length": "A.B.C",
    }.items():
        assert verify(token) is None, case


@pytest.mark.promise(3)
def test_a_signed_token_is_refused_if_it_is_not_two_segments_of_base64url():
    claims = encoded({**CLAIMS, "more": "???>>>"})
    assert verify(signed(f"{FIRST}.{claims}")) == VERIFIED
    for case, segments in {
        "one segment": FIRST,
        "three segments": f"{FIRST}.{SECOND}.{SECOND}",
        "no header": f".{SECOND}",
        "no payload": f"{FIRST}.",
        "padded header": f"{FIRST}==.{SECOND}",
        "padded payload": f"{FIRST}.{SECOND}==",
        "line feed": f"{FIRST}.{SECOND}\n",
        "Latin-1": f"{FIRST}.{SECOND}é",
        "plus": f"{FIRST}.{claims.replace('-', '+')}",
        "slash": f"{FIRST}.{claims.replace('_', '/')}",
    }.items():
        assert verify(signed(segments)) is None, case


@pytest.mark.promise(3)
def test_a_token_has_4096_characters_at_most():
    assert verify(of_length(4096)) == VERIFIED
    assert verify(of_length(4097)) is None


@pytest.mark.promise(3)
def test_what_is_no_json_object_is_refused():
    for case, octets in {
        "list": b"[]",
        "number": b"7",
        "text": b'"text"',
        "null": b"null",
        "cut off": b"{",
        "empty object": b"{}",
        "two objects": json.dumps(HEADER | CLAIMS).encode() * 2,
        "another character": json.dumps(HEADER | CLAIMS).encode() + b"}",
        "form feed": json.dumps(HEADER | CLAIMS).encode() + b"\f",
        "byte order mark": b"\xef\xbb\xbf" + json.dumps(HEADER | CLAIMS).encode(),
        "no UTF-8": b"\xff\xfe",
        "deep lists": b"[" * 2800,
        "deep objects": b'{"a":' * 560,
        "long number": b"9" * 2800,
    }.items():
        for part in ["header", "claims"]:
            assert verify(forged(**{part: octets})) is None, (case, part)


def test_the_whitespace_of_json_around_an_object_is_ignored():
    header, claims = (b" \t" + json.dumps(each).encode() + b"\r\n" for each in (HEADER, CLAIMS))
    assert verify(forged(header, claims)) == VERIFIED


@pytest.mark.promise(1)
def test_what_our_key_did_not_sign_is_refused():
    for case, token in {
        "another key": forged(key=OTHER_KEY),
        "our key and a line feed": forged(key=KEY + "\n"),
        "empty key": forged(key=""),
        "another subject": f"{FIRST}.{encoded({**CLAIMS, 'sub': '1'})}.{THIRD}",
        "another header": f"{encoded({**HEADER, 'kid': '1'})}.{SECOND}.{THIRD}",
        "half a signature": f"{FIRST}.{SECOND}.{THIRD[:22]}",
        "another case": f"{FIRST}.{SECOND}.{THIRD.swapcase()}",
    }.items():
        assert verify(token) is None, case


def test_a_token_expires_in_its_second():
    for case, (expires_at, is_accepted) in {
        "in a second": (NOW + 1, True),
        "now": (NOW, False),
        "a second ago": (NOW - 1, False),
        "in 1970": (0, False),
        "before": (-1, False),
    }.items():
        token = forged(claims={**CLAIMS, "exp": expires_at})
        assert (verify(token) is not None) is is_accepted, case


@pytest.mark.promise(2)
def test_a_token_is_accepted_from_its_nbf_on():
    for case, (not_before, is_accepted) in {
        "in a second": (NOW + 1, False),
        "in the distant future": (NOW + 10**30, False),
        "now": (NOW, True),
        "a second ago": (NOW - 1, True),
        "before 1970": (-1, True),
    }.items():
        token = forged(claims={**CLAIMS, "nbf": not_before})
        assert (verify(token) is not None) is is_accepted, case


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
def test_a_key_of_another_kind_is_refused_without_printing_it():
    for case, key in {
        "PEM public key": f"-----BEGIN PUBLIC KEY-----\n{KEY}\n-----END PUBLIC KEY-----\n",
        "SSH public key": f"ssh-rsa {KEY}",
        "JWK": json.dumps({"kty": "oct", "k": KEY}),
    }.items():
        for name, settings in (
            ("SECRET_KEY", Settings(SECRET_KEY=key)),
            ("SECRET_KEY_FALLBACKS", Settings(SECRET_KEY=KEY, SECRET_KEY_FALLBACKS=(OLD_KEY, key))),
        ):
            with pytest.raises(
                ConfigurationError, match=f"^{name} must be a secret string"
            ) as caught:
                Tokens(settings)
            assert KEY not in "".join(traceback.format_exception(caught.value)), case


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
