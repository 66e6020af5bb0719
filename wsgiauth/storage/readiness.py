"""Whether the database answers, for probes that strangers can send in any number.

A check runs in a thread and with a connection of its own. So it takes neither from requests, and it
ends for the client in time, whatever the driver waits for.
"""

import logging
import os
import threading
import time
from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from wsgiauth.settings.features import Declaration
from wsgiauth.storage import schema
from wsgiauth.storage.connections import AccountDatabase, discard_connection, reason_of
from wsgiauth.storage.postgres_mysql import Server

LIMIT = 2  # seconds for a check, and for each wait of its connection
SHARED = 1.0  # seconds for which an answer is given again without a check
STALE = 3.0  # seconds after which the last answer no longer counts while a check is running

logger = logging.getLogger("wsgiauth")

_used: WeakSet["Readiness"] = WeakSet()
_inherited: list[object] = []  # connections of the parent process, which must not be closed


class _Check:
    """A check that is running."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.is_late = False  # its request has got an answer


class Readiness:
    """Knows whether the database of a site answers and has the schema of this version.

    Args:
        features: Those of FEATURES, which can have tables.

    Attributes:
        now: The clock, in seconds.
        limit: Seconds that a request waits.
    """

    def __init__(self, features: Iterable[Declaration] = (), *, limit: float = LIMIT) -> None:
        self.now = time.monotonic
        self.limit = limit
        # Those of the running code: a newer version can replace the files.
        self._sequences = schema.sequences_of(features)
        self._migrations = schema.known(self._sequences)
        self._is_ready = True  # the start has used the database
        self._answered_at = self.now()
        self._connection: Any = None
        self._running: _Check | None = None
        self._lock = threading.Lock()
        _used.add(self)

    def is_ready(self, database: AccountDatabase) -> bool:
        """Return whether the database can serve requests.

        At most one caller waits, up to `LIMIT` seconds. The others get the last answer. While a
        check hangs in the driver, no other one begins.
        """
        with self._lock:
            age = self.now() - self._answered_at
            if age < SHARED:
                return self._is_ready
            if self._running is not None:
                return self._is_ready and age <= STALE
            check = self._running = _Check()
        try:
            threading.Thread(
                target=self._run, args=(check, database), name="wsgiauth-readiness", daemon=True
            ).start()
        except RuntimeError:  # too many threads
            self._end(check, "the thread of the check cannot be started")
        if not check.ended.wait(self.limit):
            self._give_up(check)
        return self._is_ready

    def forget_thread(self) -> None:  # pragma: no cover - in a forked process
        """Forget the check, the lock and the connection, which are of the parent process."""
        _inherited.append(self._connection)
        self._connection = self._running = None
        self._lock = threading.Lock()

    def __del__(self) -> None:
        try:  # noqa: SIM105 - at the end of the process, no `suppress` is left
            self._connection.close()
        except Exception:  # noqa: S110 - the database may be gone
            pass

    def _run(self, check: _Check, database: AccountDatabase) -> None:
        try:
            missing = self._migrations - self._applied(database)
            failure = f"the schema lacks {', '.join(sorted(missing))}" if missing else ""
        except Exception as error:  # also of name look-ups and TLS
            failure = f"{type(error).__name__}: {reason_of(error)}"
        self._end(check, failure)

    def _applied(self, database: AccountDatabase) -> set[str]:
        """Return the applied migrations; a server's connection is kept if it has answered."""
        probe = database.make_probe(LIMIT)
        if self._connection is not None:
            probe._state.set_connection(self._connection)
            self._connection = None
        try:
            names = schema.applied(probe, self._sequences)
            if isinstance(probe, Server):
                self._connection = probe._state.conn
            return names
        finally:
            if self._connection is None:
                discard_connection(probe)

    def _end(self, check: _Check, failure: str) -> None:
        with self._lock:
            self._running = None
            has_changed = not check.is_late and self._record(failure)
        if has_changed:
            _report(failure)
        check.ended.set()

    def _give_up(self, check: _Check) -> None:
        failure = f"no answer within {self.limit} seconds"
        with self._lock:
            check.is_late = self._running is check  # it can have ended just now
            has_changed = check.is_late and self._record(failure)
        if has_changed:
            _report(failure)

    def _record(self, failure: str) -> bool:
        """Record the result of a check, and return whether the answer has changed."""
        was_ready, self._is_ready = self._is_ready, not failure
        self._answered_at = self.now()
        return self._is_ready is not was_ready


def _report(failure: str) -> None:
    """Log a change, without the lock, because a handler can be slow."""
    if failure:
        logger.warning("not ready, as the account database failed: %s", failure)
    else:
        logger.info("ready again: the account database answers")


def _forget_threads() -> None:  # pragma: no cover - tested in a process that ends at once
    for each in list(_used):
        each.forget_thread()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    os.register_at_fork(after_in_child=_forget_threads)
