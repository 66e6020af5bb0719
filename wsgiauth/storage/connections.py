"""What is true of a connection to any database: how it fails, who uses it, and how it is closed."""

import logging
import sqlite3
import threading
from abc import abstractmethod
from typing import Any

import peewee
from playhouse import pool

from wsgiauth.storage import context

# What a database raises when it is unreachable, busy past its timeout, full or damaged. Peewee lets
# through what SQLite raises while rows are fetched.
FAILURES = (peewee.DatabaseError, peewee.InterfaceError, pool.MaxConnectionsExceeded, sqlite3.Error)

logger = logging.getLogger("wsgiauth")

BUSY_TIMEOUT = 5  # seconds to wait for a lock: SQLite's write lock, a server's row or table


class AccountDatabase(peewee.Database):
    """What the databases have in common: each connection belongs to one thread or greenlet.

    The first use of a connection within a request is noted in the request's `context`, so that
    `roll_back_forgotten` can tell a transaction that the request began from one around it.
    """

    _state: Any

    def connection(self) -> Any:
        """Return this thread's connection."""
        self._note_use()
        return super().connection()  # type: ignore[no-untyped-call]

    def cursor(self, named_cursor: Any = None) -> Any:
        """Return a new cursor on this thread's connection."""
        self._note_use()
        return super().cursor(named_cursor)  # type: ignore[no-untyped-call]

    def has_open_transaction(self) -> bool:
        """Return whether this thread's connection is in a transaction, however it began."""
        state = self._state
        if state.closed:
            return False
        return bool(state.transactions) or self._is_in_transaction(state.conn)

    def _note_use(self) -> None:
        uses = context.database_uses()
        if uses is None:
            return
        key = self, threading.get_ident()
        if key not in uses:
            self._end_forgotten()
            uses[key] = self.has_open_transaction()

    def _end_forgotten(self) -> None:
        """Roll back what an answer began, by SQL, while it was streamed after its request.

        Peewee does not know of such a transaction. It knows of one around a request that a program
        makes itself.
        """
        if self.has_open_transaction() and not self._state.transactions:
            roll_back_forgotten(self)

    @abstractmethod
    def _is_in_transaction(self, connection: Any) -> bool:
        """Return what the driver says, which also sees a BEGIN that Peewee does not know of."""

    def _connect(self) -> Any:
        # Peewee's state derives from the class that `threading.local` was at its import. After
        # `monkey.patch_all()` all greenlets of a thread would share its connection, and read each
        # other's rows.
        if not isinstance(self._state, threading.local):
            raise peewee.InterfaceError(
                "greenlets would share one connection, because gevent replaced threads after"
                " wsgiauth was imported: start gunicorn without --preload, or call"
                " gevent.monkey.patch_all() first"
            )
        return super()._connect()  # type: ignore[misc]


def reason_of(failure: Exception) -> str:
    """Return why a database failed, in one line that shows none of its rows."""
    # PostgreSQL's second line may show the row that it refused, hash and all.
    return (str(failure).strip().splitlines() or [""])[0].strip()


def roll_back_forgotten(database: AccountDatabase) -> None:
    """Roll back this thread's transaction by closing the connection, with a warning.

    It would lock other clients out, or keep this thread's reads in a snapshot in which a revoked
    login is still valid.
    """
    logger.warning(
        "A request left a transaction open on the account database; it was rolled back. Begin"
        " transactions with `with database.atomic():`, which ends them."
    )
    database._state.transactions.clear()
    discard_connection(database)


def discard_connection(database: peewee.Database) -> None:
    """Close this thread's connection for good, broken or not; the next query makes a new one.

    One with a transaction on it is left to whoever opened that, and will meet the same fault.
    """
    if database.in_transaction():
        return
    if isinstance(database, pool.PooledDatabase):
        database.manual_close()  # type: ignore[no-untyped-call]
    else:
        database.close()
