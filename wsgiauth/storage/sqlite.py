"""SQLite as Peewee drives it, in files that may be replaced under it, and in memory for tests."""

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any, ClassVar, Self

import peewee
from playhouse import pool

from wsgiauth.storage.connections import AccountDatabase, discard_connection

CHECK_INTERVAL = 1  # seconds for which a file is taken for the one that it was

OPTIONS: dict[str, Any] = {
    # Every commit here either follows a bcrypt hash, a thousand times dearer than an fsync, or
    # takes a right away. synchronous=NORMAL would save the fsync and could bring a revoked session
    # back to life after a power cut; FULL cannot.
    "pragmas": {"foreign_keys": 1, "synchronous": "full"},
    # IMMEDIATE takes the write lock at BEGIN: a transaction that first reads and then writes would
    # otherwise fail at once, without waiting, when another has written in between.
    "lock_type": "IMMEDIATE",
    # Only one thread at a time has a connection; but another may be the one that closes it.
    "check_same_thread": False,
}

_memory_names = (f"file:/wsgiauth-{number}?vfs=memdb" for number in itertools.count(1))


class FetchedCursor(sqlite3.Cursor):
    """A cursor that has fetched every row by the time that it returns one, as servers' drivers do.

    While a SELECT is unfinished, its connection stays in the past: a logout would not be seen, and
    nothing could be written. A view may forget to finish one, or take its time.
    """

    _rows: Iterator[Any] = iter(())

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        """Execute, and fetch."""
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
        """Return the other rows."""
        return list(self._rows)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._rows)


class Connection(sqlite3.Connection):
    """A connection to SQLite, which is closed when nothing refers to it: its thread has ended."""

    def cursor(self, factory: Any = FetchedCursor) -> Any:
        """Return a cursor."""
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        """Execute on a new cursor, and fetch."""
        return self.cursor().execute(sql, parameters)

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it was never opened
            self.close()


class FileConnection(Connection):
    """A connection to an SQLite file.

    Attributes:
        inode: The file that it has open.
        checked_at: When that was last seen to be the one at the path, as `monotonic` counts.
        reader: Executes what is asked on every request; making a cursor takes its time.
    """

    inode: tuple[int, int]
    checked_at: float
    reader: sqlite3.Cursor


class SQLite(AccountDatabase, peewee.SqliteDatabase):
    """A database of SQLite, in a file or in memory."""

    def _is_in_transaction(self, connection: sqlite3.Connection) -> bool:
        return connection.in_transaction


class File(SQLite):
    """An SQLite file; connections do not outlive it when it is deleted or replaced.

    They would go on as if nothing had happened, and all that they wrote would be lost.
    """

    # Takes no note of the use, for what it is used for begins no transaction.
    _quick_connection: ClassVar[Callable[[Any], FileConnection]] = peewee.Database.connection

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute, on a new connection where another file has taken the place of ours."""
        self._follow_file()
        return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None, without Peewee's detours.

        For the one question of every request: that another file has taken the place of ours is
        noticed within a second.
        """
        connection = self._quick_connection()
        if connection.in_transaction:
            connection = self.connection()  # takes note: the transaction may be a forgotten one
        if monotonic() - connection.checked_at > CHECK_INTERVAL:
            self._follow_file()
            connection = self._quick_connection()
        rows = connection.reader.execute(sql, parameters).fetchall()
        return rows[0] if rows else None

    def _follow_file(self) -> None:
        while not self.in_transaction() and self._quick_connection().inode != _inode(self.database):
            discard_connection(self)
        self._quick_connection().checked_at = monotonic()

    def rollback(self) -> None:
        """Roll back, unless SQLite has done so by itself, as on a full disk."""
        if self._quick_connection().in_transaction:
            super().rollback()

    def _connect(self) -> FileConnection:
        inode = _inode(self.database)
        if inode is None:  # SQLite would make an empty one, which others may read
            raise peewee.OperationalError("the database file is gone")
        connection: FileConnection = super()._connect()
        connection.inode = inode
        connection.checked_at = monotonic()
        connection.reader = connection.cursor(sqlite3.Cursor)
        return connection


class Memory(SQLite):
    """SQLite without a file, for tests: all threads reach the same tables, gone with the object."""

    def __init__(self) -> None:
        name = next(_memory_names)
        super().__init__(name, uri=True, factory=Connection, **OPTIONS)
        # SQLite drops such a database with its last connection.
        self.anchor = sqlite3.connect(name, uri=True, factory=Connection, check_same_thread=False)

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None."""
        return self.connection().execute(sql, parameters).fetchone()


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, on every request
    except OSError:
        return None
    return found.st_dev, found.st_ino


class PooledFile(pool.PooledSqliteDatabase, File):  # type: ignore[misc]
    """An SQLite file whose connections are handed around."""
