"""Challenges: for one purpose and one binding, for ten minutes, once."""

from dataclasses import replace

import pytest

from tests.support.settings import LONG_KEY
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings, storage
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication.browser_keys import CONFIRM, LOG_IN
from wsgiauth.features.factors.passkeys import challenges
from wsgiauth.features.factors.passkeys.challenges import LIFETIME, MOST_BYTES, REGISTER, Challenges
from wsgiauth.storage.upkeep import purge_expired

NOW = 2_000_000_000
SETTINGS = Settings(SECRET_KEY=SECRET_KEY)
OURS = Challenges(SETTINGS)


@pytest.mark.promise(56)
def test_a_challenge_is_valid_for_its_purpose_and_binding_alone():
    made = OURS.make(CONFIRM, "7", "session", now=NOW, payload=b"handle")
    assert OURS.verify(made, CONFIRM, "7", "session", now=NOW) == (made, NOW + LIFETIME, b"handle")
    assert OURS.verify(made, LOG_IN, "7", "session", now=NOW) is None
    assert OURS.verify(made, CONFIRM, "8", "session", now=NOW) is None
    assert OURS.verify(made, CONFIRM, "7", now=NOW) is None
    assert OURS.verify(made, CONFIRM, "7session", now=NOW) is None


@pytest.mark.promise(56)
def test_a_challenge_expires():
    made = OURS.make(LOG_IN, now=NOW)
    assert OURS.verify(made, LOG_IN, now=NOW + LIFETIME - 1)
    assert OURS.verify(made, LOG_IN, now=NOW + LIFETIME) is None


@pytest.mark.promise(56)
def test_a_challenge_of_which_anything_was_changed_is_refused():
    made = OURS.make(LOG_IN, now=NOW, payload=b"p")
    for position in range(len(made)):
        forged = bytearray(made)
        forged[position] ^= 1
        assert OURS.verify(bytes(forged), LOG_IN, now=NOW) is None
    for forged in (b"", made[:-1], made[:40], made + b"x", made + bytes(100)):
        assert OURS.verify(forged, LOG_IN, now=NOW) is None


def test_the_longest_challenge_is_read():
    made = OURS.make(REGISTER, "7", now=NOW, payload=bytes(64))
    assert len(made) == MOST_BYTES
    assert OURS.verify(made, REGISTER, "7", now=NOW).payload == bytes(64)


def test_a_former_key_verifies_challenges_that_other_processes_make():
    made = OURS.make(LOG_IN, now=NOW)
    swapped = replace(SETTINGS, SECRET_KEY=LONG_KEY, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
    assert Challenges(swapped).verify(made, LOG_IN, now=NOW)
    assert Challenges(replace(SETTINGS, SECRET_KEY=LONG_KEY)).verify(made, LOG_IN, now=NOW) is None


def use_once(url, value):
    storage.open_database(url)
    challenge = OURS.verify(bytes.fromhex(value), LOG_IN, now=NOW)
    with storage.database.atomic():
        return challenges.use(challenge)


@pytest.mark.every_database
@pytest.mark.promise(56)
def test_of_eight_processes_with_one_challenge_one_uses_it(in_processes, database, settings):
    value = OURS.make(LOG_IN, now=NOW).hex()
    used = in_processes(use_once, settings.DATABASE_URL, [value] * 8)
    assert sorted(used) == [False] * 7 + [True]


def test_a_used_challenge_is_remembered_for_longer_than_it_is_valid(database):
    made = OURS.make(LOG_IN, now=NOW)
    assert not OneTimeSecret.select().exists()
    challenges.use(OURS.verify(made, LOG_IN, now=NOW))
    purge_expired(OneTimeSecret, NOW + LIFETIME)
    assert OneTimeSecret.select().exists()
    assert made.hex() not in str([*OneTimeSecret.select().dicts()])
    purge_expired(OneTimeSecret, NOW + LIFETIME + 60)
    assert not OneTimeSecret.select().exists()
