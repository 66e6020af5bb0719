"""How long the audit trail keeps a row: AUDIT_DAYS, for the site of a database."""

from weakref import WeakKeyDictionary

import peewee

from wsgiauth.events.models import RecordedEvent
from wsgiauth.storage.upkeep import purge_expired, purge_some

DAY = 86_400  # seconds

_days: WeakKeyDictionary[peewee.Database, int] = WeakKeyDictionary()


def keep(database: peewee.Database, days: int) -> None:
    """Delete rows of the trail of `database` after so many days, as new ones are written.

    Args:
        database: The database.
        days: The number of days; 0: for ever.
    """
    _days[database] = days


def purge_old(database: peewee.Database, now: float) -> None:
    """Delete a few rows that are too old; on failure, log a warning and leave them."""
    days = _days.get(database, 0)
    if days:
        purge_some(RecordedEvent, now - days * DAY, by=RecordedEvent.time)


def purge(now: float, days: int) -> int:
    """Delete the rows that are older than so many days, none if 0; return how many.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    if not days:
        return 0
    return purge_expired(RecordedEvent, now - days * DAY, by=RecordedEvent.time)
