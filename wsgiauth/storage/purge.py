"""Rows whose time is over, deleted a few at a time, so that requests go on meanwhile.

For models with an `id` and an indexed `expires_at`, in seconds since the epoch.
"""

import logging
from typing import Any

from wsgiauth.storage import database
from wsgiauth.storage.connections import FAILURES

SOME = 10  # rows that a new one clears away

logger = logging.getLogger("wsgiauth")


def purge_expired(model: Any, now: float, *, limit: int = 1000) -> int:
    """Delete every row that has expired at `now`, and return how many.

    Args:
        model: Whose rows.
        now: Seconds since the epoch.
        limit: How many at a time.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    deleted = 0
    while True:
        some = _purge_batch(model, int(now), limit)
        deleted += some
        if some < limit:
            return deleted


def purge_some(model: Any, now: float) -> None:
    """Delete up to `SOME` such rows, by the way; what stays behind, the next call deletes."""
    try:
        _purge_batch(model, int(now), SOME)
    except FAILURES as error:
        # Whatever the caller came for is safe in the database.
        table = model._meta.table_name
        logger.warning("expired rows of %s stay for now: %s", table, type(error).__name__)


def _purge_batch(model: Any, now: int, limit: int) -> int:
    # By primary key, so that no other row is locked.
    expired = model.select(model.id).where(model.expires_at <= now)
    ids = [each.id for each in expired.order_by(model.expires_at).limit(limit)]
    if not ids:
        return 0
    # As many each time, the last one over again: a connection keeps the statements that it has
    # prepared, and would soon keep one of every length.
    as_many = ids + ids[-1:] * (limit - len(ids))
    with database.atomic():
        # Once more by time: a count may have begun anew meanwhile.
        model.delete().where(model.id.in_(as_many), model.expires_at <= now).execute()
    return len(ids)
