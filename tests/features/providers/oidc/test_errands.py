"""Errands: bound to one browser and one provider, for ten minutes."""

from dataclasses import replace

import pytest

from tests.support.provider_keys import challenge
from tests.support.settings import LONG_KEY
from tests.support.sites import SECRET_KEY
from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.features.providers.oidc.errands import (
    CONFIRM,
    CONNECT,
    LIFETIME,
    LOG_IN,
    Begun,
    Errand,
    Errands,
)
from wsgiauth.web.cookies import TAG_LENGTH, TaggedCookie

pytestmark = pytest.mark.promise(69)

NOW = 2_000_000_000
SETTINGS = Settings(SECRET_KEY=SECRET_KEY)
OURS = Errands(SETTINGS)


@row_by_row(
    "errand",
    [
        Errand(LOG_IN),
        Errand(LOG_IN, "/" + "x" * 2047, remember=True),
        Errand(LOG_IN, "/" + '"' * 2047, remember=True),
        Errand(CONNECT, "/auth/account", user_id=7),
        Errand(CONFIRM, user_id=2**63 - 1),
    ],
    ids=["login", "long destination", "quotation marks", "connect", "confirm"],
)
def test_the_browser_that_began_comes_back_with_its_errand(errand):
    begun, cookie = OURS.begin(errand, "google", NOW + 0.9)
    assert len(cookie) < 3000
    assert OURS.find(cookie, "google", begun.state) == begun
    assert begun.errand == errand
    assert (begun.begun_at, begun.expires_at) == (NOW, NOW + LIFETIME)


def test_another_browser_provider_or_state_is_refused():
    begun, cookie = OURS.begin(Errand(LOG_IN), "google", NOW)
    other, other_cookie = OURS.begin(Errand(LOG_IN), "google", NOW)
    assert OURS.find(other_cookie, "google", begun.state) is None
    assert OURS.find(cookie, "google", other.state) is None
    assert OURS.find(cookie, "work", begun.state) is None
    for state in ("", begun.state[:-1], begun.nonce, "ä", "\ud800"):
        assert OURS.find(cookie, "google", state) is None


def test_an_errand_ends_after_ten_minutes():
    begun, cookie = OURS.begin(Errand(LOG_IN), "google", NOW)
    assert begun.expires_at == NOW + LIFETIME
    assert OURS.find(cookie, "google", begun.state) == begun
    assert OURS.find(cookie, "work", begun.state) is None


def test_a_cookie_of_which_anything_was_changed_is_refused():
    begun, cookie = OURS.begin(Errand(LOG_IN, "/"), "google", NOW)
    for position, character in enumerate(cookie):
        forged = cookie[:position] + ("A" if character != "A" else "Q") + cookie[position + 1 :]
        assert OURS.find(forged, "google", begun.state) is None
    for forged in ("", ".", cookie[:-1], cookie.partition(".")[0], cookie * 9, f"{cookie}.", "ä"):
        assert OURS.find(forged, "google", begun.state) is None
    for length in range(1, 9):  # base64 can stand for nothing in a quarter of them
        assert OURS.find(f"{'A' * length}.{'A' * 43}", "google", begun.state) is None


def test_a_former_key_reads_cookies_of_before_the_change():
    begun, cookie = OURS.begin(Errand(LOG_IN), "google", NOW)
    swapped = replace(SETTINGS, SECRET_KEY=LONG_KEY, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
    assert Errands(swapped).find(cookie, "google", begun.state) == begun
    other = replace(SETTINGS, SECRET_KEY=LONG_KEY)
    assert Errands(other).find(cookie, "google", begun.state) is None


def test_state_nonce_and_verifier_are_unrelated_and_not_in_the_cookie():
    begun, cookie = OURS.begin(Errand(LOG_IN), "google", NOW)
    tag, code = begun.state[:TAG_LENGTH], begun.state[TAG_LENGTH:]
    secrets = {code, begun.nonce, begun.verifier}
    assert (len(secrets), tag) == (3, begun.tag)
    assert all(len(each) == 43 and each not in cookie for each in secrets)
    assert begun.challenge == challenge(begun.verifier)


def test_no_repr_has_a_secret():
    begun, cookie = OURS.begin(Errand(LOG_IN), "google", NOW)
    shown = repr(begun) + repr(
        Begun(f"https://example.org/?state={begun.state}", TaggedCookie(begun.tag, cookie))
    )
    assert [
        each for each in (begun.state, begun.nonce, begun.verifier, cookie) if each in shown
    ] == []
