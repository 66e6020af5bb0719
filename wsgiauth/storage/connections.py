"""The base class of all databases, the end of their connections, and forks.

A server can load the application and then fork: no two processes share a connection. With SQLite,
a process must fork before it starts threads, as servers do. A child cannot safely close a file that
another thread had open during the fork.
"""

import logging
import os
import re
import sqlite3
import threading
import traceback
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar
from weakref import WeakSet

import peewee
from playhouse import pool

from wsgiauth.settings.features import Declaration
from wsgiauth.storage import context

# The database is unreachable, busy past its timeout, full or damaged. Peewee does not convert the
# errors that SQLite raises while rows are fetched.
DATABASE_ERRORS = (
    peewee.DatabaseError,
    peewee.InterfaceError,
    pool.MaxConnectionsExceeded,
    sqlite3.Error,
)

logger = logging.getLogger("wsgiauth")

_OF_STATEMENTS = (
    peewee.DataError,
    peewee.IntegrityError,
    peewee.NotSupportedError,
    peewee.ProgrammingError,
)
_WRONG_COLUMN = ((1054,), (1364,))  # MariaDB: unknown; without a value

_VALUE = re.compile("(Duplicate entry|near) '.*'(?= for key | at line )")

BUSY_TIMEOUT = 5  # seconds to wait for a lock: SQLite's write lock, a server's row or table lock


class TimeLimitError(Exception):
    """A SELECT was cancelled at its time limit."""


class AccountDatabase(peewee.Database):
    """The base of all databases; each connection belongs to one thread or greenlet.

    The request's `context` records the first use of a connection, and whether a transaction was
    open then. So a transaction that the request began differs from one that surrounds it.
    """

    _state: Any

    # Whether the site has usernames; see `User.label`.
    has_usernames: bool = True
    # The features of FEATURES, which can have tables.
    features: tuple[Declaration, ...] = ()

    # Lets a SELECT in a transaction see the commits of others since its begin.
    shared_lock: ClassVar[str] = ""
    # Lets a SELECT lock rows, and skip the rows that others have locked. Empty where a DELETE locks
    # rows in the order of their ids.
    skip_locked: ClassVar[str] = ""
    # Whether a transaction must change a row to lock it.
    locks_by_writing: ClassVar[bool] = False

    # Does not record the use, because its callers begin no transaction.
    _quick_connection: ClassVar[Callable[[Any], Any]] = peewee.Database.connection

    def connection(self) -> Any:
        """Return this thread's connection."""
        self._record_use()
        return super().connection()  # type: ignore[no-untyped-call]

    def cursor(self, named_cursor: Any = None) -> Any:
        """Return a new cursor on this thread's connection."""
        self._record_use()
        return super().cursor(named_cursor)  # type: ignore[no-untyped-call]

    def has_open_transaction(self) -> bool:
        """Return whether this thread has a transaction, even one begun by SQL."""
        state = self._state
        if state.closed:
            return False
        return bool(state.transactions) or self._is_in_transaction(state.conn)

    def _record_use(self) -> None:
        uses = context.current_request()[2]
        if uses is None:
            return
        key = self, threading.get_ident()
        if key not in uses:
            uses[key] = False  # a pool that closes its connection calls this again
            # Peewee does not know of a transaction that a response, which is still streamed, began
            # by SQL. It does know of one around the request, if a program calls the application.
            if self.has_open_transaction() and not self._state.transactions:
                roll_back_forgotten(self)
            uses[key] = self.has_open_transaction()

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None."""
        rows = self.fetchall(sql, parameters)
        return rows[0] if rows else None

    def fetchall(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a SELECT; without Peewee's overhead, except in memory."""
        return list(self.execute_sql(sql, parameters).fetchall())  # type: ignore[no-untyped-call]

    def patient(
        self, lock_timeout: int, read_timeout: float | None = None
    ) -> AbstractContextManager[None]:
        """In a `with` block, use new connections to a server, with these timeouts in seconds."""
        return nullcontext()

    @abstractmethod
    def make_probe(self, timeout: int) -> "AccountDatabase":
        """Return the same database for one connection, which waits at most `timeout` seconds.

        The limit is of each wait: for the server to accept and to answer, and for a lock.
        """

    @abstractmethod
    def without_waiting(self) -> AbstractContextManager[None]:
        """Leave a `with` block with one change, outside a transaction, rather than wait for a lock.

        Some databases do not wait for the disk either: a power failure can lose the change.
        """

    @abstractmethod
    def time_limit(self, seconds: float) -> AbstractContextManager[None]:
        """Cancel the SELECT in a `with` block, outside a transaction, with a TimeLimitError."""

    @abstractmethod
    def skip_numbers(self, table: str, skip: int) -> int:
        """Leave out the next numbers of a table whose rows have numbers, outside a transaction.

        Return the last of them. Also of deleted rows, no number is given again.
        """

    @abstractmethod
    def _is_in_transaction(self, connection: Any) -> bool:
        """Ask the driver, which also knows of a BEGIN that Peewee did not send."""

    def _connect(self) -> Any:
        # If `monkey.patch_all()` runs after the import of Peewee, all greenlets of a thread share
        # one connection and read each other's rows.
        if not isinstance(self._state, threading.local):
            raise peewee.InterfaceError(
                "greenlets would share one connection, because gevent replaced threads after"
                " wsgiauth was imported: start gunicorn without --preload, or call"
                " gevent.monkey.patch_all() first"
            )
        return super()._connect()  # type: ignore[misc]


def reason_of(failure: BaseException) -> str:
    """Return why a database failed, in one line that shows no row."""
    # PostgreSQL's second line can show the rejected row with its password hash; MariaDB's first
    # line shows a name that is taken, or the statement with its values.
    reason = (str(failure).strip().splitlines() or [""])[0].strip()
    return _VALUE.sub(r"\1", reason)


def is_of_statement(failure: Exception) -> bool:
    """Return whether a statement is wrong, so that another try fails, too."""
    if isinstance(failure, _OF_STATEMENTS) or failure.args[:1] in _WRONG_COLUMN:
        return True
    cause = getattr(failure, "orig", None) or failure  # Peewee does not convert all
    return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR


def frames_of(failure: BaseException) -> str:
    """Return the lines of code that led to an error, without its message, which can show a row."""
    return "".join(traceback.format_tb(failure.__traceback__)).rstrip()


def roll_back_forgotten(database: AccountDatabase) -> None:
    """Log a warning and roll back this thread's transaction by closing the connection.

    It would block other clients, or pin a snapshot in which a revoked session is still valid.
    """
    logger.warning(
        "A request left a transaction open on the account database; it was rolled back. Begin"
        " transactions with `with database.atomic():`, which ends them."
    )
    database._state.transactions.clear()
    discard_connection(database)


def can_go_on(database: AccountDatabase) -> bool:
    """Return whether a database answers after an error of a statement in this thread.

    Return False in a transaction, which PostgreSQL aborts. A transaction that was begun by SQL is
    rolled back.
    """
    if database.in_transaction():
        return False
    if database.has_open_transaction():
        roll_back_forgotten(database)
    try:
        database.fetchall("SELECT id FROM wsgiauth_user LIMIT 1", ())  # SQLite reads the file
    except DATABASE_ERRORS:
        return False
    return True


def discard_connection(database: peewee.Database) -> None:
    """Close this thread's connection, broken or not; the next query opens a new one.

    A connection in a transaction stays open: the code that began the transaction gets the error.
    """
    if database.in_transaction():
        return
    if isinstance(database, pool.PooledDatabase) and not database.is_closed():
        # Before `close`, so that the pool counts the connection until it is closed. Peewee's
        # `manual_close` removes it from the count, and then waits for a thread that connects, which
        # in turn waits for its place at a pooler.
        pooled: Any = database
        pooled._close_raw(pooled._state.conn)
    database.close()


_watched: WeakSet[AccountDatabase] = WeakSet()
_inherited: list[object] = []  # the parent's connections


def watch_forks(database: AccountDatabase) -> None:
    """Let no child process use the connections of `database` after a fork."""
    _watched.add(database)


def _close_files() -> None:
    """Close SQLite's files before a fork: the child would rely on locks that it does not inherit.

    See "How To Corrupt An SQLite Database File", section 2.6.
    """
    for opened in list(_watched):
        if isinstance(opened, peewee.SqliteDatabase):
            discard_connection(opened)
            if isinstance(opened, pool.PooledDatabase):
                opened.close_idle()


def _forget_connections() -> None:
    """Drop the connections in the child; closing them would close the parent's."""
    for each in list(_watched):
        opened: Any = each
        _inherited.append(vars(opened).copy())  # Python closes a connection without a reference
        opened._lock = threading.Lock()  # another thread may have held it
        opened._state = peewee._ConnectionLocal()
        if hasattr(opened, "_unconfirmed"):  # see `synchronous`
            opened._unconfirmed = []
        if isinstance(opened, pool.PooledDatabase):
            opened._connections, opened._in_use = [], {}
            opened._pool_lock = threading.RLock()
            opened._pool_available = threading.Condition(opened._pool_lock)


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    # The application may use the database while it is loaded, before the fork.
    os.register_at_fork(before=_close_files, after_in_child=_forget_connections)
