"""The columns for bcrypt hashes and for moments in UTC."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.support.sites import EMAIL, USERNAME
from wsgiauth.accounts.models import User
from wsgiauth.storage.models import BcryptHashField, UTCDateTimeField, utc_now

SALT, DIGEST = "Habn84NOMbJTHnvKyPs8te", "BdZtUj8DmEjU8y5okYMVrT8f2IEN5Sa"
HASH = f"$2b$12${SALT}{DIGEST}"
MOMENT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ZONE = timezone(timedelta(hours=-9, minutes=-30))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(HASH, id="2b"),
        pytest.param(f"$2a$12${SALT}{DIGEST}", id="2a"),
        pytest.param(f"$2y$12${SALT}{DIGEST}", id="2y"),
        pytest.param(f"$2b$04${SALT}{DIGEST}", id="lowest cost"),
        pytest.param(f"$2b$31${SALT}{DIGEST}", id="highest cost"),
    ],
)
def test_a_bcrypt_hash_is_stored_as_it_is(value):
    assert BcryptHashField().db_value(value) == value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("four unrelated words", id="password"),
        pytest.param(None, id="nothing"),
        pytest.param(HASH.encode(), id="bytes"),
        pytest.param(HASH[:-1], id="cut off"),
        pytest.param(HASH + "\n", id="line feed"),
        pytest.param(f"$2b$03${SALT}{DIGEST}", id="cost below bcrypt's"),
        pytest.param(f"$2b$32${SALT}{DIGEST}", id="cost above bcrypt's"),
        pytest.param(f"$2x$12${SALT}{DIGEST}", id="broken version"),
        pytest.param(f"$2b$12${SALT[:-1]}f{DIGEST}", id="salt that bcrypt cannot read"),
        pytest.param("$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$aGFzaA", id="another scheme"),
    ],
)
def test_anything_but_a_bcrypt_hash_is_refused_without_repeating_it(value):
    with pytest.raises(
        ValueError, match=r"^hashed_password must be a hash from hash_password\(\)$"
    ):
        BcryptHashField().db_value(value)


@pytest.mark.every_database
@pytest.mark.parametrize("zone", [UTC, ZONE], ids=str)
def test_a_moment_of_any_zone_is_read_back_in_utc(database, zone):
    User.create(
        username=USERNAME, email=EMAIL, hashed_password=HASH, created_at=MOMENT.astimezone(zone)
    )
    stored = User.get().created_at
    assert (stored, stored.tzinfo) == (MOMENT, UTC)


@pytest.mark.parametrize(
    ("moment", "stored"),
    [
        pytest.param(MOMENT.astimezone(ZONE), datetime(2026, 11, 21, 9, 30), id="another zone"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_moment_is_stored_in_utc_without_a_zone(moment, stored):
    assert UTCDateTimeField().db_value(moment) == stored


@pytest.mark.parametrize("stored", [datetime(2026, 11, 21, 9, 30), "2026-11-21 09:30:00"], ids=repr)
def test_what_a_database_keeps_without_a_zone_is_utc(stored):
    assert UTCDateTimeField().python_value(stored) == MOMENT


def test_this_moment_is_in_utc_and_whole_seconds():
    before = datetime.now(UTC)
    now = utc_now()
    assert now.tzinfo is UTC
    assert now.microsecond == 0
    assert before - timedelta(seconds=1) < now <= datetime.now(UTC)
