"""The secret keys: which are refused as too short or predictable, and that none is shown."""

import base64
import random
import traceback

import pytest

from tests.support.settings import LONG_KEY, refused
from tests.support.sites import SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.exceptions import ConfigurationError

pytestmark = pytest.mark.promise(29)


@pytest.mark.parametrize(
    ("algorithm", "length"), [("HS256", 32), ("HS384", 48), ("HS512", 64)], ids=str
)
def test_a_key_is_at_least_as_long_as_the_hash(algorithm, length):
    long_enough, too_short = LONG_KEY[:length], LONG_KEY[: length - 1]
    assert Settings(SECRET_KEY=long_enough, JWT_ALGORITHM=algorithm)
    with pytest.raises(ConfigurationError, match=f"at least {length} bytes for {algorithm}"):
        Settings(SECRET_KEY=too_short, JWT_ALGORITHM=algorithm)


def test_a_fallback_is_at_least_as_long_as_the_hash():
    keys = {"SECRET_KEY": LONG_KEY, "SECRET_KEY_FALLBACKS": (LONG_KEY[:63],)}
    assert Settings(**keys)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY_FALLBACKS .* 64 bytes for HS512"):
        Settings(**keys, JWT_ALGORITHM="HS512")


def test_the_length_of_a_key_is_counted_in_bytes():
    assert Settings(SECRET_KEY="éèàüöäñçßøåæœðþł")


@pytest.mark.parametrize("key", [f" {SECRET_KEY} ", f"{SECRET_KEY}\n", f"'{SECRET_KEY}'"], ids=repr)
def test_a_key_is_used_as_it_is_written(key):
    assert Settings.from_mapping({"SECRET_KEY": key}).require_secret_key() == key


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("", id="empty"),
        pytest.param("hunter2canary", id="short"),
        pytest.param("x" * 64, id="one character"),
        pytest.param("abcdefg" * 10, id="seven characters"),
        pytest.param("0" * 63 + "1", id="nearly one character"),
        pytest.param("change-me-change-me-change-me-now-4711", id="change-me"),
        pytest.param("CHANGEME-3f1c9a7d2e8b4056a1b2c3d4e5f60718", id="CHANGEME"),
        pytest.param("please change this before you go live!", id="change this"),
        pytest.param("your-256-bit-secret-goes-right-in-here", id="your-256-bit-secret"),
        pytest.param("my_very_own_secret_of_32_characters_xyz", id="my_secret"),
        pytest.param("django-insecure-3f1c9a7d2e8b4056a1b2c3d4", id="insecure"),
        pytest.param("this is a placeholder for the real thing", id="placeholder"),
        pytest.param("an example of a key that is long enough", id="example"),
        pytest.param("secret-key-3f1c9a7d2e8b4056a1b2c3d4e5f6", id="secret-key"),
        pytest.param("<a random text of 32 or more characters>", id="angle brackets"),
        pytest.param("abcdefgh" * 4, id="short period"),
        pytest.param("correct-horse-battery-staple;" * 2 + "correct", id="long period"),
        pytest.param("supersecretsupersecretsupersecret!", id="almost a period"),
        pytest.param("kR3vJ8qWz1mT6yBnkR3vJ8qWz1mT6yBn", id="half a key twice"),
        pytest.param("a b c d e f g h" + " " * 20 + "i j k", id="mostly spaces"),
        pytest.param("abcdefghijklmnopqrstuvwxyz0123456789", id="alphabet"),
        pytest.param("1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,", id="keyboard"),
        pytest.param("The key of the development server, 2026", id="development"),
        pytest.param("f81a6c0e-do-not-use-in-production-93bd", id="do-not-use"),
        pytest.param("b7Q don't use this one anywhere at all", id="don't use"),
        pytest.param("only for local tests, not for production", id="not for production"),
        pytest.param("Replace-Me-3f1c9a7d2e8b4056a1b2c3d4e5f6", id="replace me"),
        pytest.param("3f1c9a7d TopSecret 2e8b4056a1b2c3d4e5f6", id="top secret"),
        pytest.param("this password is only for the database!", id="password"),
        pytest.param("keyboard cat and a few more characters", id="keyboard cat"),
        pytest.param("REPLACE-WITH-32-RANDOM-BYTES-XXX", id="replace with"),
        pytest.param("generate-a-random-string-here-32", id="generate a random string"),
        pytest.param("put-your-own-random-bytes-here!!", id="put your own"),
        pytest.param("fixmefixmefixmefixme-32-bytes-ok", id="fixme"),
        pytest.param("MySuperLongSigningKeyForProduct!", id="signing key"),
        pytest.param("todo: set a real key before live!", id="todo"),
        pytest.param("my" + "_x" * 40 + "_key", id="my key, far apart"),
        pytest.param("\ud800" + SECRET_KEY, id="unpaired surrogate"),
    ],
)
@pytest.mark.parametrize(
    ("name", "value_of"),
    [
        pytest.param("SECRET_KEY", str, id="the key"),
        pytest.param("SECRET_KEY_FALLBACKS", lambda key: (key,), id="a fallback"),
        pytest.param("SECRET_KEY_FALLBACKS", lambda key: (LONG_KEY, key), id="another fallback"),
    ],
)
def test_a_key_that_protects_nothing_is_refused_without_printing_it(key, name, value_of):
    error = refused(name, value_of(key))
    assert "`python -m wsgiauth secret`" in str(error)
    shown = "".join(traceback.format_exception(error))
    assert not key or key not in shown
    assert LONG_KEY not in shown


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("fbchgaedbfaghcdebahgfcedhbgafcde", id="eight different characters"),
        pytest.param("correct horse battery staple violin gravel", id="unrelated words"),
        pytest.param(
            "my_" + "_".join(SECRET_KEY[::2]) + SECRET_KEY,
            id="what a careless expression takes ages to refuse",
        ),
        pytest.param(f"{SECRET_KEY}{SECRET_KEY[:20]}", id="less than a period repeated"),
    ],
)
def test_a_key_that_is_hard_to_guess_is_accepted(key):
    assert Settings(SECRET_KEY=key)


@pytest.mark.parametrize("length", [32, 48, 64], ids=str)
@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(bytes.hex, id="token_hex"),
        pytest.param(lambda key: base64.urlsafe_b64encode(key).decode(), id="token_urlsafe"),
        pytest.param(lambda key: base64.b64encode(key).decode(), id="base64"),
        pytest.param(lambda key: base64.b85encode(key).decode(), id="base85"),
    ],
)
@pytest.mark.uncounted
def test_no_key_of_a_generator_is_refused(encode, length):
    # Seeded: one key in some millions is refused, and a test must not fail at random.
    generator = random.Random(length)  # noqa: S311
    for _ in range(200):
        assert Settings(SECRET_KEY=encode(generator.randbytes(length))[:length])


def test_a_missing_key_is_refused_where_it_is_asked_for():
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY must be set"):
        Settings().require_secret_key()


def test_fallbacks_do_not_stand_in_for_a_missing_key():
    settings = Settings(SECRET_KEY_FALLBACKS=(LONG_KEY,))
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY must be set") as caught:
        settings.secret_keys()
    assert LONG_KEY not in str(caught.value)


def test_the_key_that_signs_comes_before_those_that_only_verify():
    settings = Settings(SECRET_KEY=SECRET_KEY, SECRET_KEY_FALLBACKS=(LONG_KEY, LONG_KEY[::-1]))
    assert settings.secret_keys() == [
        ("SECRET_KEY", SECRET_KEY),
        ("SECRET_KEY_FALLBACKS", LONG_KEY),
        ("SECRET_KEY_FALLBACKS", LONG_KEY[::-1]),
    ]


def test_fallbacks_may_be_a_list():
    assert Settings(SECRET_KEY_FALLBACKS=[LONG_KEY]).SECRET_KEY_FALLBACKS == (LONG_KEY,)


def test_the_middleware_does_not_start_without_a_key(tmp_path):
    database = tmp_path / "accounts.db"
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY must be set"):
        AuthMiddleware(echo, Settings(DATABASE_URL=f"sqlite:///{database}"))
    assert not database.exists()
