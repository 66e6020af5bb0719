"""The columns for bcrypt hashes and for moments in UTC."""

from datetime import UTC, datetime, timedelta, timezone

import peewee
import pytest

from tests.support.sites import EMAIL, USERNAME
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage.models import BcryptHashField, Model, UTCDateTimeField, utc_now

SALT, DIGEST = "Habn84NOMbJTHnvKyPs8te", "BdZtUj8DmEjU8y5okYMVrT8f2IEN5Sa"
HASH = f"$2b$12${SALT}{DIGEST}"
MOMENT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ZONE = timezone(timedelta(hours=-9, minutes=-30))


def test_a_bcrypt_hash_is_stored_as_it_is():
    for case, value in {
        "2b": HASH,
        "2a": f"$2a$12${SALT}{DIGEST}",
        "2y": f"$2y$12${SALT}{DIGEST}",
        "lowest cost": f"$2b$04${SALT}{DIGEST}",
        "highest cost": f"$2b$31${SALT}{DIGEST}",
    }.items():
        assert BcryptHashField().db_value(value) == value, case


def test_anything_but_a_bcrypt_hash_is_refused_without_repeating_it():
    refusal = r"^hashed_password must be a hash from hash_password\(\)$"
    for value in (
        "four unrelated words",
        None,
        HASH.encode(),
        HASH[:-1],
        HASH + "\n",
        f"$2b$03${SALT}{DIGEST}",  # the cost is below bcrypt's
        f"$2b$32${SALT}{DIGEST}",  # or above
        f"$2x$12${SALT}{DIGEST}",  # a broken version
        f"$2b$12${SALT[:-1]}f{DIGEST}",  # bcrypt cannot read the salt
        "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$aGFzaA",
    ):
        with pytest.raises(ValueError, match=refusal):
            BcryptHashField().db_value(value)


@pytest.mark.every_database
def test_a_moment_of_any_zone_is_read_back_in_utc(database):
    User.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    for zone in (UTC, ZONE):
        User.update(created_at=MOMENT.astimezone(zone)).execute()
        stored = User.get().created_at
        assert (stored, stored.tzinfo) == (MOMENT, UTC), zone


def test_a_moment_is_stored_in_utc_without_a_zone():
    for case, (moment, stored) in {
        "another zone": (MOMENT.astimezone(ZONE), datetime(2026, 11, 21, 9, 30)),
        "none": (None, None),
    }.items():
        assert UTCDateTimeField().db_value(moment) == stored, case


def test_what_a_database_keeps_without_a_zone_is_utc():
    for stored in [datetime(2026, 11, 21, 9, 30), "2026-11-21 09:30:00"]:
        assert UTCDateTimeField().python_value(stored) == MOMENT


def test_this_moment_is_in_utc_and_whole_seconds():
    before = datetime.now(UTC)
    now = utc_now()
    assert now.tzinfo is UTC
    assert now.microsecond == 0
    assert before - timedelta(seconds=1) < now <= datetime.now(UTC)


def model_of(base, field):
    """Return a model that refers to another one."""
    return type(base)("Sticker", (base,), {"owner": field})


NAMES = ("groups", "permissions", "sessions", "is_staff", "is_superuser", "has_permission", "email")


@pytest.mark.promise(105)
@pytest.mark.parametrize("base", [Model, peewee.Model])
@pytest.mark.parametrize("name", [*NAMES, "database", "save"])
def test_another_model_replaces_no_attribute_of_users(base, name):
    former = vars(User).get(name)
    with pytest.raises(ConfigurationError) as caught:
        model_of(base, peewee.ForeignKeyField(User, backref=name))
    assert str(caught.value) == (
        f"The backref {name} of Sticker would replace the attribute {name} of User:"
        ' choose another name, or "+" for none.'
    )
    assert vars(User).get(name) is former


@pytest.mark.promise(105)
def test_a_relation_of_many_to_many_replaces_no_attribute_of_users():
    with pytest.raises(ConfigurationError, match="The backref groups of Sticker would replace"):
        model_of(Model, peewee.ManyToManyField(User, backref="groups"))


def test_a_backref_can_have_a_name_of_its_own():
    class Owner(Model):
        """A model of which others are."""

    for _ in range(2):  # such as a module that is imported again
        model_of(Model, peewee.ForeignKeyField(Owner, backref="stickers"))
        model_of(Model, peewee.ManyToManyField(Owner, backref="shared"))
    assert {"stickers", "shared"} <= set(dir(Owner))
