"""Optional writes, for which no request waits or fails: deleting expired rows, noting a use."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import peewee

from wsgiauth.storage import current, database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.connections import DATABASE_ERRORS, reason_of
from wsgiauth.storage.statements import Statement, given

SOME = 10  # rows that `purge_some` deletes at most
PAUSE = 60  # seconds without an attempt after a failure, as of a read-only database

logger = logging.getLogger("wsgiauth")


def purge_expired(model: Any, now: float, *, by: Any = None, limit: int = 1000) -> int:
    """Delete every row that has expired at `now`, and return their number.

    Args:
        model: A model with an `id`.
        now: Seconds since the epoch.
        by: The indexed column of the time, in seconds since the epoch; None: `expires_at`.
        limit: The most rows that one transaction deletes, so that others wait briefly.
    """
    deleted = since = 0
    while True:
        # Begin where the last batch ended: until a vacuum, the index also has the deleted rows.
        number, times = _purge_batch(model, by, int(now), limit, since)
        deleted += number
        if len(times) < limit:
            return deleted
        since = times[-1]


def purge_some(model: type[peewee.Model], now: float, *, by: peewee.Field | None = None) -> None:
    """Delete up to `SOME` expired rows; on failure, log a warning.

    In a transaction, wait for its commit: on MariaDB, a deadlock would end the transaction
    unnoticed.

    Example:
        purge_some(Badge, site.now())
    """
    chosen = current()
    if chosen.in_transaction():
        chosen.after_commit(lambda: purge_some(model, now, by=by))
        return
    try:
        _purge_batch(model, by, int(now), SOME)
    except DATABASE_ERRORS as error:
        # The caller's own change is already in the database.
        table = model._meta.table_name
        logger.warning("expired rows of %s stay for now: %s", table, type(error).__name__)


@cache
def _expired(model: Any, by: Any) -> Statement:
    """Return the SELECT of rows by the times from which, and until which, they expired."""
    is_expired = (by >= given(by, "since")) & (by <= given(by, "now"))
    return Statement(
        lambda: model.select(model.id, by).where(is_expired).order_by(by).limit(given(by, "limit"))
    )


def _purge_batch(
    model: Any, by: Any, now: int, limit: int, since: int = 0
) -> tuple[int, list[int]]:
    """Delete rows whose times are from `since` to `now`; return their number and times found."""
    by = by or model.expires_at
    # Delete by primary key, which locks no other row.
    rows = _expired(model, by).fetchall(since=since, now=now, limit=limit)
    if not rows:
        return 0, []
    ids = [row_id for row_id, _ in rows]
    # Repeat the last id, because a connection would keep a prepared statement for each length.
    padded = ids + ids[-1:] * (limit - len(ids))
    # Compare the time again: a count may have restarted since the SELECT. Adding 0 keeps MariaDB
    # from the index on the time, in which it would also lock the next row.
    doomed = model.id.in_(padded) & (by + 0 <= now)
    if database.skip_locked:  # concurrent purges would lock the rows in different orders
        locked = model.select(model.id).where(doomed).for_update(database.skip_locked)
        doomed = model.id.in_(locked)
    with database.atomic():
        number = model.delete().where(doomed).execute()
    return number, [time for _, time in rows]


def delete_all(model: Any, *conditions: Any, limit: int = 1000) -> int:
    """Delete every row, in transactions of about `limit` rows; return their number.

    Args:
        model: Any model; its rows are deleted in the order of the first column of the primary key.
        conditions: Of the rows.
        limit: More rows are deleted at once if they have the same value in that column.
    """
    key = model._meta.primary_key
    first = getattr(model, key.field_names[0]) if isinstance(key, peewee.CompositeKey) else key
    deleted, after = 0, first.is_null(False)  # true of each row
    while True:
        remaining = (*conditions, after)
        rows = model.select(first).where(*remaining).order_by(first)
        last = rows.offset(limit - 1).limit(1).scalar()
        batch = remaining if last is None else (*remaining, first <= last)
        deleted += _delete(model, batch)
        if last is None:
            return deleted
        after = first > last  # not again the rows that stay


@repeated_after_conflict
def _delete(model: Any, conditions: tuple[Any, ...]) -> int:
    with database.atomic():
        return int(model.delete().where(*conditions).execute())


class OptionalWrites:
    """Writes of one kind; `failure` is the log line if one fails."""

    def __init__(self, failure: str) -> None:
        self._failure = failure
        self._failed_at: WeakKeyDictionary[peewee.Database, int] = WeakKeyDictionary()

    def execute(self, write: Callable[[], object], now: int) -> None:
        """Call `write`, whose UPDATE waits for no lock; log a failure, once a minute.

        In a transaction of the request, which would keep the lock, write nothing. The condition of
        the UPDATE must say that it is still due, because of concurrent requests. `now` is in
        seconds since the epoch.
        """
        database: Any = current()
        is_paused = 0 <= now - self._failed_at.get(database, -PAUSE) < PAUSE
        if is_paused or database.has_open_transaction():
            return
        try:
            with database.without_waiting():
                write()
        except DATABASE_ERRORS as error:
            self._failed_at[database] = now
            reason = f"{type(error).__name__}: {reason_of(error)}"
            logger.warning("%s: %s", self._failure, reason)
