"""The two kinds of column that Peewee does not have: bcrypt hashes, and moments in UTC."""

import re
from datetime import UTC, datetime

import peewee

# What `bcrypt.hashpw` returns: version, cost, 22 characters of salt, 31 of digest. The salt's last
# character carries two bits; bcrypt refuses a salt whose other four are not zero.
BCRYPT_HASH = re.compile(
    r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}"
)


class BcryptHashField(peewee.CharField):
    """A column for bcrypt hashes and nothing else, so that no password is stored as it is."""

    def db_value(self, value: str) -> str:
        """Return `value` for the database.

        Raises:
            ValueError: It is not a bcrypt hash. The message does not repeat it.
        """
        if not (isinstance(value, str) and BCRYPT_HASH.fullmatch(value)):
            raise ValueError("hashed_password must be what hash_password() returns")
        return value


class UTCDateTimeField(peewee.DateTimeField):
    """A moment with its time zone: stored as UTC without one, read back as UTC with one."""

    def db_value(self, value: datetime) -> datetime:
        """Return `value` in UTC, without its time zone."""
        return value.astimezone(UTC).replace(tzinfo=None)

    def python_value(self, value: datetime | str) -> datetime:
        """Return `value` as an aware datetime in UTC."""
        return as_utc(value)


def as_utc(stored: datetime | str) -> datetime:
    """Return a stored moment with its time zone; SQLite keeps it as ISO 8601 text."""
    if isinstance(stored, str):
        return datetime.fromisoformat(f"{stored}+00:00")
    return stored.replace(tzinfo=UTC)


def utc_text(moment: datetime) -> str:
    """Return a moment in UTC as people and programs are shown it (RFC 3339)."""
    return moment.isoformat().replace("+00:00", "Z")


def utc_now() -> datetime:
    """Return this moment in UTC, in whole seconds: what every database keeps alike."""
    return datetime.now(UTC).replace(microsecond=0)
