"""Writes that a request neither waits for nor fails with, such as when something was last used."""

import logging
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import peewee

from wsgiauth import storage
from wsgiauth.storage.connections import DATABASE_ERRORS, reason_of

PAUSE = 60  # seconds without an attempt after a failure, such as that of a read-only database

logger = logging.getLogger("wsgiauth")


class OptionalWrites:
    """Writes of one kind.

    Args:
        failure: What a failure means, for the log.
    """

    def __init__(self, failure: str) -> None:
        self._failure = failure
        self._failed_at: WeakKeyDictionary[peewee.Database, int] = WeakKeyDictionary()

    def execute(self, make_query: Callable[[], Any], now: int) -> None:
        """Execute a query, unless it would wait for a lock; log a failure, once a minute.

        In a transaction of the request, which would keep the lock, nothing is written.

        Args:
            make_query: Returns an UPDATE. It has the condition that it is still due, because of
                concurrent requests.
            now: Seconds since the epoch.
        """
        database: Any = storage.current()
        is_paused = 0 <= now - self._failed_at.get(database, -PAUSE) < PAUSE
        if is_paused or database.has_open_transaction():
            return
        try:
            with database.without_waiting():
                make_query().execute()
        except DATABASE_ERRORS as error:
            self._failed_at[database] = now
            reason = f"{type(error).__name__}: {reason_of(error)}"
            logger.warning("%s: %s", self._failure, reason)
