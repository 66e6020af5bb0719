"""The secret keys: which are refused as too short or predictable, and that none is shown."""

import base64
import random
import traceback

import pytest

from tests.support.settings import LONG_KEY, accepted, refused
from tests.support.sites import SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.exceptions import ConfigurationError

pytestmark = pytest.mark.promise(29)


def test_a_key_is_at_least_as_long_as_the_hash():
    for algorithm, length in {"HS256": 32, "HS384": 48, "HS512": 64}.items():
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


def test_a_key_is_used_as_it_is_written():
    for key in (f" {SECRET_KEY} ", f"{SECRET_KEY}\n", f"'{SECRET_KEY}'"):
        assert Settings.from_mapping({"SECRET_KEY": key}).require_secret_key() == key


PREDICTABLE = [
    "",  # empty
    "hunter2canary",  # short
    "x" * 64,  # one character
    "abcdefg" * 10,  # seven characters
    "0" * 63 + "1",  # nearly one character
    "change-me-change-me-change-me-now-4711",  # change-me
    "CHANGEME-3f1c9a7d2e8b4056a1b2c3d4e5f60718",  # CHANGEME
    "please change this before you go live!",  # change this
    "your-256-bit-secret-goes-right-in-here",  # your-256-bit-secret
    "my_very_own_secret_of_32_characters_xyz",  # my_secret
    "django-insecure-3f1c9a7d2e8b4056a1b2c3d4",  # insecure
    "this is a placeholder for the real thing",  # placeholder
    "an example of a key that is long enough",  # example
    "secret-key-3f1c9a7d2e8b4056a1b2c3d4e5f6",  # secret-key
    "<a random text of 32 or more characters>",  # angle brackets
    "abcdefgh" * 4,  # short period
    "correct-horse-battery-staple;" * 2 + "correct",  # long period
    "supersecretsupersecretsupersecret!",  # almost a period
    "kR3vJ8qWz1mT6yBnkR3vJ8qWz1mT6yBn",  # half a key twice
    "a b c d e f g h" + " " * 20 + "i j k",  # mostly spaces
    "abcdefghijklmnopqrstuvwxyz0123456789",  # alphabet
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,",  # keyboard
    "The key of the development server, 2026",  # development
    "f81a6c0e-do-not-use-in-production-93bd",  # do-not-use
    "b7Q don't use this one anywhere at all",  # don't use
    "only for local tests, not for production",  # not for production
    "Replace-Me-3f1c9a7d2e8b4056a1b2c3d4e5f6",  # replace me
    "3f1c9a7d TopSecret 2e8b4056a1b2c3d4e5f6",  # top secret
    "this password is only for the database!",  # password
    "keyboard cat and a few more characters",  # keyboard cat
    "REPLACE-WITH-32-RANDOM-BYTES-XXX",  # replace with
    "generate-a-random-string-here-32",  # generate a random string
    "put-your-own-random-bytes-here!!",  # put your own
    "fixmefixmefixmefixme-32-bytes-ok",  # fixme
    "MySuperLongSigningKeyForProduct!",  # signing key
    "todo: set a real key before live!",  # todo
    "my" + "_x" * 40 + "_key",  # my key, far apart
    "\ud800" + SECRET_KEY,  # unpaired surrogate
]


def test_a_key_that_protects_nothing_is_refused_without_printing_it():
    for key in PREDICTABLE:
        error = refused("SECRET_KEY", key)
        assert "`python -m wsgiauth secret`" in str(error)
        assert not key or key not in "".join(traceback.format_exception(error))


def test_a_fallback_that_protects_nothing_is_refused_without_printing_it():
    assert accepted("SECRET_KEY_FALLBACKS", [(key,) for key in PREDICTABLE]) == []
    for key in PREDICTABLE:
        error = refused("SECRET_KEY_FALLBACKS", (LONG_KEY, key))
        assert "`python -m wsgiauth secret`" in str(error)
        shown = "".join(traceback.format_exception(error))
        assert not key or key not in shown
        assert LONG_KEY not in shown


HARD_TO_GUESS = [
    "fbchgaedbfaghcdebahgfcedhbgafcde",  # eight different characters
    "correct horse battery staple violin gravel",  # unrelated words
    "my_"
    + "_".join(SECRET_KEY[::2])
    + SECRET_KEY,  # what a careless expression takes ages to refuse
    f"{SECRET_KEY}{SECRET_KEY[:20]}",  # less than a period repeated
]


def test_a_key_that_is_hard_to_guess_is_accepted():
    assert accepted("SECRET_KEY", HARD_TO_GUESS) == HARD_TO_GUESS


ENCODERS = [
    bytes.hex,  # token_hex
    lambda key: base64.urlsafe_b64encode(key).decode(),  # token_urlsafe
    lambda key: base64.b64encode(key).decode(),
    lambda key: base64.b85encode(key).decode(),
]


@pytest.mark.slow
@pytest.mark.uncounted
def test_no_key_of_a_generator_is_refused():
    for length in (32, 48, 64):
        # Seeded: one key in some millions is refused, and a test must not fail at random.
        generator = random.Random(length)  # noqa: S311
        for encode in ENCODERS:
            keys = [encode(generator.randbytes(length))[:length] for _ in range(100)]
            assert accepted("SECRET_KEY", keys) == keys


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
