"""SQLite through Peewee: files, which can be replaced while open, and memory for tests."""

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Self

import peewee
from playhouse import pool

from wsgiauth.storage.connections import AccountDatabase, TimeLimitError, discard_connection

CHECK_INTERVAL = 1  # seconds between two checks whether the file was replaced
_INSTRUCTIONS = 10_000  # of SQLite between two looks at the clock: less than a millisecond

OPTIONS: dict[str, Any] = {
    # With synchronous=NORMAL, a revoked session could be valid again after a power failure. Commits
    # that revoke nothing follow a bcrypt hash, which takes a thousand times as long as an fsync.
    "pragmas": {"foreign_keys": 1, "synchronous": "full"},
    # IMMEDIATE takes the write lock at BEGIN. Otherwise a transaction that reads and then writes
    # fails without waiting, if another transaction has written in between.
    "lock_type": "IMMEDIATE",
    # A connection has one thread at a time, but another thread may close it.
    "check_same_thread": False,
}

_memory_names = (f"file:/wsgiauth-{number}?vfs=memdb" for number in itertools.count(1))


class FetchedCursor(sqlite3.Cursor):
    """A cursor that fetches all rows on execute, as the drivers of PostgreSQL and MariaDB do.

    A view can leave a cursor open, which would pin the connection's WAL snapshot: the connection
    would not see a logout, and could not write.
    """

    _rows: Iterator[Any] = iter(())

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        """Execute, and fetch all rows."""
        super().execute(sql, parameters)
        self._rows = iter(super().fetchall())
        return self

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """Return the next rows."""
        return list(itertools.islice(self._rows, self.arraysize if size is None else size))

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""
        return list(self._rows)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._rows)


class Connection(sqlite3.Connection):
    """A connection that closes itself when its thread has ended."""

    def cursor(self, factory: Any = FetchedCursor) -> Any:
        """Return a cursor."""
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        """Execute on a new cursor, and fetch all rows."""
        return self.cursor().execute(sql, parameters)

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it was never opened
            self.close()


class FileConnection(Connection):
    """A connection to an SQLite file."""

    inode: tuple[int, int]  # the device and inode of the open file
    checked_at: float  # when the path last led to the open file (`monotonic`)
    reader: sqlite3.Cursor  # for SELECTs of requests, to save a new cursor


class _Savepoint(peewee._savepoint):
    """A savepoint that leaves the error that SQLite has ended the whole transaction for."""

    def rollback(self, begin: bool = True) -> None:
        """Roll back, unless SQLite already has, as on a full disk."""
        if self.db.connection().in_transaction:
            super().rollback(begin)


class SQLite(AccountDatabase, peewee.SqliteDatabase):
    """An SQLite database, in a file or in memory."""

    def savepoint(self) -> _Savepoint:
        """Return the context manager of a savepoint."""
        return _Savepoint(self)

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Leave a `with` block with one change rather than wait for a lock or the disk.

        With synchronous=NORMAL, a commit in WAL mode waits for no fsync. The next commit with FULL
        syncs both changes.
        """
        try:
            self.pragma("busy_timeout", 0)
            self.pragma("synchronous", "normal")
            yield
        except peewee.OperationalError as error:
            # SQLite reports LOCKED for a database in memory.
            if _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        finally:
            self.pragma("synchronous", OPTIONS["pragmas"]["synchronous"])
            self.pragma("busy_timeout", int(self.timeout * 1000))

    @contextmanager
    def time_limit(self, seconds: float) -> Iterator[None]:
        """Cancel the SELECT in a `with` block with a TimeLimitError."""
        end = monotonic() + seconds
        self.connection().set_progress_handler(lambda: monotonic() > end, _INSTRUCTIONS)
        try:
            yield
        except peewee.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_INTERRUPT:
                raise
            raise TimeLimitError from error
        finally:
            self.connection().set_progress_handler(None, 0)

    def skip_numbers(self, table: str, skip: int) -> int:
        """Leave out the next numbers of a table."""
        execute: Callable[..., Any] = self.execute_sql
        with self.atomic():
            (last,) = execute(
                "SELECT MAX((SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = ?),"  # noqa: S608
                f" (SELECT COALESCE(MAX(id), 0) FROM {table}))",
                (table,),
            ).fetchone()
            # A table that never had a row is not in it.
            execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last + skip))
        return int(last) + skip

    def _is_in_transaction(self, connection: sqlite3.Connection) -> bool:
        return connection.in_transaction


class File(SQLite):
    """An SQLite file, which closes its connections when it is deleted or replaced.

    An old connection would work without an error, but all its changes would be lost.
    """

    def make_probe(self, timeout: int) -> "File":
        """Return the same file, without a pool."""
        return File(self.database, timeout=timeout, factory=FileConnection, **OPTIONS)

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute, on a new connection if the file was replaced."""
        self._reconnect_if_replaced()
        return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]

    def fetchall(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a SELECT, of a replaced file after `CHECK_INTERVAL` at most."""
        if self.query_hooks:
            return super().fetchall(sql, parameters)
        connection = self._state.conn or self._quick_connection()
        if connection.in_transaction:
            connection = self.connection()  # records the use: it may be a forgotten transaction
        if monotonic() - connection.checked_at > CHECK_INTERVAL:
            self._reconnect_if_replaced()
            connection = self._quick_connection()
        try:
            rows: list[Any] = connection.reader.execute(sql, parameters).fetchall()
        except sqlite3.Error:
            with peewee.__exception_wrapper__:  # type: ignore[attr-defined]
                raise
        return rows

    def rollback(self) -> None:
        """Roll back, unless SQLite already has, as on a full disk."""
        if self._quick_connection().in_transaction:
            super().rollback()

    def _reconnect_if_replaced(self) -> None:
        while not self.in_transaction() and self._quick_connection().inode != _inode(self.database):
            discard_connection(self)
        self._quick_connection().checked_at = monotonic()

    def _connect(self) -> FileConnection:
        inode = _inode(self.database)
        if inode is None:  # SQLite would create an empty file, which other users could read
            raise peewee.OperationalError("the database file does not exist")
        connection: FileConnection = super()._connect()
        connection.inode = inode
        connection.checked_at = monotonic()
        connection.reader = connection.cursor(sqlite3.Cursor)
        return connection


class PooledFile(pool.PooledSqliteDatabase, File):  # type: ignore[misc]
    """An SQLite file with a connection pool."""


class Memory(SQLite):
    """SQLite in memory, for tests. All threads share its tables."""

    def __init__(self) -> None:
        name = next(_memory_names)
        super().__init__(name, uri=True, factory=Connection, **OPTIONS)
        # SQLite deletes the database with its last connection.
        self.anchor = sqlite3.connect(name, uri=True, factory=Connection, check_same_thread=False)

    def make_probe(self, timeout: int) -> "Memory":
        """Return this database: each thread has a connection of its own."""
        return self


def _code(error: peewee.OperationalError) -> int:
    cause = getattr(error, "orig", None)  # none if it is our own error
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - takes half as long as Path.stat
    except OSError:
        return None
    return found.st_dev, found.st_ino
