"""The databases as Peewee drives them, made to bear what happens to connections.

They are lost, locked out, and left without an answer; files are replaced under them.
"""

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache
from time import monotonic
from typing import Any, Self

import peewee
from playhouse import pool

# What a database raises when it is unreachable, busy past its timeout, full or damaged. Peewee lets
# through what SQLite raises while rows are fetched.
FAILURES = (peewee.DatabaseError, peewee.InterfaceError, pool.MaxConnectionsExceeded, sqlite3.Error)

BUSY_TIMEOUT = 5  # seconds to wait for a lock: SQLite's write lock, a server's row or table
READ_TIMEOUT = 10  # seconds to wait for a server to say something; more than it waits for a lock
CHECK_INTERVAL = 1  # seconds for which a file is taken for the one that it was
SILENCE = 5  # seconds for which nobody tries to reach a server that was silent for more than one

SQLITE: dict[str, Any] = {
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


def reason_of(failure: Exception) -> str:
    """Return why a database failed, in one line that shows none of its rows."""
    # PostgreSQL's second line may show the row that it refused, hash and all.
    return (str(failure).strip().splitlines() or [""])[0].strip()


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


class Server(peewee.Database):
    """A server's database; a connection lost while idle is replaced without an error.

    Only what may run twice is run again: a SELECT, and the BEGIN that opens every transaction. A
    lone write is not repeated, for the lost connection may have carried it out.
    """

    lock_timeout = BUSY_TIMEOUT
    read_timeout: float | None = READ_TIMEOUT
    _state: Any
    _set_lock_timeout: str
    _silent_until = 0.0

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute; a SELECT on a lost connection once more, on a new one."""
        if not sql.startswith("SELECT"):
            return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]
        attempt = super().execute_sql
        return self._twice(lambda: attempt(sql, params))  # type: ignore[no-untyped-call]

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None."""
        with closing(self.execute_sql(sql, parameters)) as cursor:
            return cursor.fetchone()

    def begin(self, *args: Any, **kwargs: Any) -> None:
        """Begin a transaction, on a new connection where this one is lost."""
        attempt = super().begin
        self._twice(lambda: attempt(*args, **kwargs))

    def _twice(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (peewee.OperationalError, peewee.InterfaceError):
            if self.in_transaction() or self.is_closed() or not _is_lost(self._state.conn):
                raise
            discard_connection(self)
            if isinstance(self, pool.PooledDatabase):
                self.close_idle()  # what was idle as well is lost as well
            return action()

    def _connect(self) -> Any:
        begun = monotonic()
        if begun < self._silent_until:
            # Peewee lets threads connect one by one. They shall not all wait for the same silence.
            raise peewee.OperationalError("the server did not answer a moment ago")
        try:
            connection = super()._connect()  # type: ignore[misc]
        except Exception:
            if monotonic() - begun > 1:
                self._silent_until = monotonic() + SILENCE
            raise
        connection.cursor().execute(self._set_lock_timeout.format(self.lock_timeout))
        return connection


def _is_lost(connection: Any) -> bool:  # in psycopg's words, or in PyMySQL's
    return bool(getattr(connection, "closed", False)) or not getattr(connection, "open", True)


class PostgreSQL(Server, peewee.PostgresqlDatabase):
    """PostgreSQL, by psycopg 3."""

    _set_lock_timeout = "SET lock_timeout = '{}s'"

    class psycopg3_adapter(peewee.Psycopg3Adapter):  # noqa: N801 - Peewee's name
        def connect(self, db: Any, **params: Any) -> Any:
            """Return a connection that gives up a silent server."""
            return _psycopg_connection(db.read_timeout).connect(dbname=db.database, **params)


class MariaDB(Server, peewee.MySQLDatabase):
    """MariaDB or MySQL, by PyMySQL."""

    _set_lock_timeout = "SET lock_wait_timeout = {0}, innodb_lock_wait_timeout = {0}"

    def _connect(self) -> Any:
        self.connect_params["read_timeout"] = self.read_timeout
        return super()._connect()


@cache
def _psycopg_connection(read_timeout: float | None) -> Any:
    """Return psycopg's class, made to give up a server that says nothing, as PyMySQL's does."""
    import psycopg

    class Connection(psycopg.Connection[Any]):
        def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
            return super().wait(self._bounded(gen), *args, **kwargs)

        def _bounded(self, gen: Any) -> Any:
            heard = monotonic()
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted  # nothing, ten times a second, while nothing comes
                    if ready:
                        heard = monotonic()
                    elif read_timeout and monotonic() - heard > read_timeout:
                        self.close()
                        raise psycopg.OperationalError("the server has stopped answering")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Connection


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


class File(peewee.SqliteDatabase):
    """An SQLite file; connections do not outlive it when it is deleted or replaced.

    They would go on as if nothing had happened, and all that they wrote would be lost.
    """

    connection: Callable[[], FileConnection]

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute, on a new connection where another file has taken the place of ours."""
        self._follow_file()
        return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None, without Peewee's detours.

        For the one question of every request: that another file has taken the place of ours is
        noticed within a second.
        """
        connection = self.connection()
        if monotonic() - connection.checked_at > CHECK_INTERVAL:
            self._follow_file()
            connection = self.connection()
        rows = connection.reader.execute(sql, parameters).fetchall()
        return rows[0] if rows else None

    def _follow_file(self) -> None:
        while not self.in_transaction() and self.connection().inode != _inode(self.database):
            discard_connection(self)
        self.connection().checked_at = monotonic()

    def rollback(self) -> None:
        """Roll back, unless SQLite has done so by itself, as on a full disk."""
        if self.connection().in_transaction:
            super().rollback()

    def _connect(self) -> FileConnection:
        inode = _inode(self.database)
        if inode is None:  # SQLite would make an empty one, which others may read
            raise peewee.OperationalError("the database file is gone")
        connection: FileConnection = super()._connect()  # type: ignore[misc]
        connection.inode = inode
        connection.checked_at = monotonic()
        connection.reader = connection.cursor(sqlite3.Cursor)
        return connection


class Memory(peewee.SqliteDatabase):
    """SQLite without a file, for tests: all threads reach the same tables, gone with the object."""

    connection: Callable[[], Any]

    def __init__(self) -> None:
        name = next(_memory_names)
        super().__init__(name, uri=True, factory=Connection, **SQLITE)
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


class PooledPostgreSQL(pool.PooledPostgresqlDatabase, PostgreSQL):  # type: ignore[misc]
    """PostgreSQL whose connections are handed around."""

    _is_closed = staticmethod(_is_lost)  # to ask the server would hold all threads up


class PooledMariaDB(pool.PooledMySQLDatabase, MariaDB):  # type: ignore[misc]
    """MariaDB or MySQL whose connections are handed around."""

    _is_closed = staticmethod(_is_lost)


DRIVERS: dict[str, Any] = {
    "sqlite": File,
    "sqlite+pool": PooledFile,
    "postgres": PostgreSQL,
    "postgres+pool": PooledPostgreSQL,
    "mysql": MariaDB,
    "mysql+pool": PooledMariaDB,
}
