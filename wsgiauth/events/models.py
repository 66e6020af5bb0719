"""The audit trail's table, and how long it keeps a row: AUDIT_DAYS."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import peewee

from wsgiauth.storage.models import Model
from wsgiauth.storage.upkeep import purge_expired, purge_some

DAY = 86_400  # seconds

_days: WeakKeyDictionary[peewee.Database, int] = WeakKeyDictionary()


class RecordedEvent(Model):
    """A change of an account, written in the transaction of the change.

    Users are plain numbers, without a foreign key, because the trail outlives them.
    """

    # Never used twice. Of concurrent changes, a lower one can be committed later.
    id: peewee.BigAutoField[int] = peewee.BigAutoField()
    time: peewee.BigIntegerField[int] = peewee.BigIntegerField()  # seconds since the epoch
    name: peewee.CharField[str] = peewee.CharField(max_length=32)  # of a `kinds.Change`
    # The account, or None for an event of all accounts.
    user_id: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True)
    actor: peewee.CharField[str] = peewee.CharField(max_length=32)  # without these details:
    # The user of the operating system who ran the command line, or as `key 4fD8…` the API key.
    system_user: peewee.CharField[str | None] = peewee.CharField(max_length=64, null=True)
    address: peewee.CharField[str | None] = peewee.CharField(max_length=64, null=True)
    reason: peewee.TextField[str | None] = peewee.TextField(null=True)

    class Meta:
        table_name = "wsgiauth_event"
        # Each ends with the order of the pages.
        indexes = (
            (("time", "id"), False),
            (("user_id", "time", "id"), False),
            (("actor", "time", "id"), False),
            (("name", "time", "id"), False),
        )


def printable(text: str | None) -> str | None:
    """Return a short string that every database can store; `?` replaces control characters."""
    if text is None:
        return None
    return "".join(each if each.isprintable() else "?" for each in text[:64])


def keep_events(database: peewee.Database, days: int) -> None:
    """Delete rows of `database` after so many days, as new ones are written; 0 keeps them."""
    _days[database] = days


def purge_some_events(database: peewee.Database, now: float) -> None:
    """Delete a few rows that are too old; on failure, log a warning and leave them."""
    days = _days.get(database, 0)
    if days:
        purge_some(RecordedEvent, now - days * DAY, by=RecordedEvent.time)


def purge_events(now: float, days: int) -> int:
    """Delete the rows that are older than so many days, none if 0; return how many."""
    return purge_expired(RecordedEvent, now - days * DAY, by=RecordedEvent.time) if days else 0
