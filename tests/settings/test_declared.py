"""The settings of second factors: what they need of others, and that their key is not shown."""

import pytest

from tests.support.factors import FACTOR_KEY
from tests.support.settings import LONG_KEY, refused
from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError

NAME = "PUBLIC_URL must be a URL with a name such as localhost, not with an IP address, because"


@pytest.mark.promise(29)
def test_a_weak_factor_key_is_refused():
    for key, expected in {
        "x": "at least 32 bytes; ",
        "a" * 40: "random, not a placeholder",
        "change-me" + FACTOR_KEY: "random, not a placeholder",
    }.items():
        error = refused("FACTOR_KEY", key)
        assert expected in str(error)
        assert key not in str(error).replace("random", "")


def test_a_weak_former_factor_key_is_refused():
    weak = ("change-me" + LONG_KEY,)
    with pytest.raises(ConfigurationError, match=r"^FACTOR_KEY_FALLBACKS must be .*placeholder"):
        Settings(FACTOR_KEY=FACTOR_KEY, FACTOR_KEY_FALLBACKS=weak)


def test_there_is_no_former_factor_key_without_a_present_one():
    with pytest.raises(
        ConfigurationError, match=r"^FACTOR_KEY must be set, because FACTOR_KEY_FALLBACKS is\.$"
    ):
        Settings(FACTOR_KEY_FALLBACKS=(FACTOR_KEY,))


@pytest.mark.promise(30)
def test_the_factor_keys_are_not_shown():
    shown = repr(Settings(FACTOR_KEY=FACTOR_KEY, FACTOR_KEY_FALLBACKS=(LONG_KEY,)))
    assert FACTOR_KEY not in shown
    assert LONG_KEY not in shown


def test_a_key_that_signs_tokens_derives_no_others():
    for name, signing in {"SECRET_KEY": LONG_KEY, "SECRET_KEY_FALLBACKS": [LONG_KEY]}.items():
        with pytest.raises(ConfigurationError, match=r"^FACTOR_KEY must be different from the key"):
            Settings(FACTOR_KEY=LONG_KEY, **{name: signing})
        former = {"FACTOR_KEY": FACTOR_KEY, "FACTOR_KEY_FALLBACKS": [LONG_KEY]}
        with pytest.raises(ConfigurationError, match=r"^FACTOR_KEY_FALLBACKS must be different"):
            Settings(**former, **{name: signing})


@row_by_row("of", ["staff", "all"])
def test_a_second_factor_cannot_be_demanded_where_there_is_none(of):
    expected = (
        f"^FACTOR_KEY must be set, because SECOND_FACTOR is {of}; `python -m wsgiauth secret`"
    )
    with pytest.raises(ConfigurationError, match=expected):
        Settings(SECOND_FACTOR=of)
    made = Settings(SECOND_FACTOR=of, FACTOR_KEY=FACTOR_KEY)
    assert of == made.SECOND_FACTOR


def test_passkeys_need_the_name_of_the_site():
    for url in ("https://example.org", "https://example.org/a", "http://localhost"):
        assert Settings(PASSKEYS=True, PUBLIC_URL=url).PASSKEYS


NO_PLACE_FOR_PASSKEYS = [
    (None, "PUBLIC_URL must be set, because PASSKEYS is on."),
    ("http://127.0.0.1:8080", f"{NAME} PASSKEYS is on."),
    ("http://[::1]", f"{NAME} PASSKEYS is on."),
    ("https://192.0.2.1.", f"{NAME} PASSKEYS is on."),
    ("http://example.org", "PUBLIC_URL must be an https URL in lower case, without a query"),
]


@pytest.mark.promise(29)
def test_a_site_that_browsers_make_no_passkeys_for_is_refused():
    for url, message in NO_PLACE_FOR_PASSKEYS:
        with pytest.raises(ConfigurationError) as caught:
            Settings(PASSKEYS=True, PUBLIC_URL=url)
        assert str(caught.value).startswith(message)
