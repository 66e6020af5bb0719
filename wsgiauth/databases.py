"""From DATABASE_URL to a Peewee database, set up as accounts need it."""

import itertools
import os
import sqlite3
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import peewee
from playhouse import db_url
from playhouse.pool import MaxConnectionsExceeded, PooledDatabase

from wsgiauth.exceptions import ConfigurationError

# What a database raises when it is unreachable, busy past its timeout, full or damaged.
FAILURES = (peewee.DatabaseError, peewee.InterfaceError, MaxConnectionsExceeded)

CONNECT_TIMEOUT = 5  # seconds to wait for a database server
BUSY_TIMEOUT = 5  # seconds to wait for SQLite's write lock

_KINDS = {  # by scheme, in Peewee's words
    "sqlite": "sqlite",
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
}

_SQLITE: dict[str, Any] = {
    # Every commit here either follows a bcrypt hash, a thousand times dearer than an fsync, or
    # takes a right away. synchronous=NORMAL would save the fsync and could bring a revoked session
    # back to life after a power cut; FULL cannot.
    "pragmas": {"foreign_keys": 1, "synchronous": "full"},
    # IMMEDIATE takes the write lock at BEGIN: a transaction that first reads and then writes would
    # otherwise fail at once, without waiting, when another has written in between.
    "lock_type": "IMMEDIATE",
}

_memory_names = (f"file:/wsgiauth-{number}?vfs=memdb" for number in itertools.count(1))


def database_of(url: str) -> peewee.Database:
    """Return the Peewee database that `url` names; nothing is connected yet.

    It keeps one connection for each thread that uses it, or with `+pool` a pool of them. SQLite's
    file is made on the way.

    Args:
        url: See `Settings.DATABASE_URL`.

    Raises:
        ConfigurationError: The URL is not understood, or the file cannot be had. Never shows the
            password.
        TypeError, ValueError: A parameter is not accepted.
    """
    scheme, _, rest = url.partition("://")
    kind, plus, option = scheme.lower().partition("+")
    if kind not in _KINDS or (plus and option != "pool"):
        raise ConfigurationError(
            "DATABASE_URL must begin with sqlite://, postgresql:// or mysql://, each with or"
            " without +pool, as in postgresql+pool://."
        )
    driver = _KINDS[kind] + plus + option
    try:
        parameters = db_url.parse(f"{driver}://{rest}", unquote_password=True, unquote_user=True)
    except ValueError:  # a port that is none; the message would show the URL
        raise ConfigurationError("DATABASE_URL is not a well-formed URL.") from None
    if _KINDS[kind] == "sqlite":
        return _sqlite(db_url.schemes[driver], parameters)
    if not parameters["database"]:
        raise ConfigurationError(f"DATABASE_URL lacks a name, as in {kind}://host/name.")
    parameters.setdefault("connect_timeout", CONNECT_TIMEOUT)
    if _KINDS[kind] == "postgres":
        parameters |= {"prefer_psycopg3": True, "client_encoding": "UTF8"}
    else:
        if parameters.setdefault("charset", "utf8mb4") != "utf8mb4":
            raise ConfigurationError("DATABASE_URL must leave the charset utf8mb4.")
        # Peewee's name for it is one that PyMySQL gives up; and PyMySQL takes a text for Latin-1.
        password = parameters.pop("passwd", None) or parameters.pop("password", "")
        parameters["password"] = password.encode()
    return _reconnecting(db_url.schemes[driver])(**parameters)


def file_risks(database: peewee.Database) -> list[str]:
    """Return what is unwise about the database's file, if it has one, as sentences."""
    if not isinstance(database, peewee.SqliteDatabase) or not Path(database.database).is_file():
        return []
    mode = stat.S_IMODE(Path(database.database).stat().st_mode)
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return []
    return [f"{database.database} can be opened by other users (mode {mode:04o}): chmod 600."]


def discard_connection(database: peewee.Database) -> None:
    """Close this thread's connection for good, broken or not; the next query makes a new one."""
    try:
        if isinstance(database, PooledDatabase):
            database.manual_close()  # type: ignore[no-untyped-call]
        else:
            database.close()
    except FAILURES:
        # The connection was broken, which is why it goes; or a transaction is open on it, and
        # whoever opened that will meet the same fault.
        pass


class _Reconnecting(peewee.Database):
    """A server's database; a connection lost while idle is replaced without an error.

    Only what may run twice is run again: a SELECT, and the BEGIN that opens every transaction. A
    lone write is not repeated, for the lost connection may have carried it out.
    """

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        if not sql.startswith("SELECT"):
            return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]
        attempt = super().execute_sql
        return self._twice(lambda: attempt(sql, params))  # type: ignore[no-untyped-call]

    def begin(self, *args: Any, **kwargs: Any) -> None:
        attempt = super().begin
        self._twice(lambda: attempt(*args, **kwargs))

    def _twice(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (peewee.OperationalError, peewee.InterfaceError):
            if self.in_transaction() or self.is_closed():
                raise
            discard_connection(self)
            return action()


class _Memory(peewee.SqliteDatabase):
    """SQLite without a file, for tests: all threads reach the same tables, gone with the object."""

    def __init__(self) -> None:
        name = next(_memory_names)
        super().__init__(name, uri=True, **_SQLITE)
        # SQLite drops such a database with its last connection.
        self.anchor = sqlite3.connect(name, uri=True, check_same_thread=False)


@cache  # so that a driver has one class, under which `Statement` finds its SQL
def _reconnecting(driver: type[peewee.Database]) -> type[peewee.Database]:
    return type(f"Reconnecting{driver.__name__}", (_Reconnecting, driver), {})


def _sqlite(
    driver: type[peewee.SqliteDatabase], parameters: dict[str, Any]
) -> peewee.SqliteDatabase:
    if "host" in parameters:  # what stands between the second slash and the third
        raise ConfigurationError(
            "DATABASE_URL takes three slashes before a file, as in sqlite:///file.db."
        )
    if parameters["database"] == ":memory:":
        return _Memory()
    _make_private_file(Path(parameters["database"]))
    parameters.setdefault("timeout", BUSY_TIMEOUT)
    if issubclass(driver, PooledDatabase):
        parameters["check_same_thread"] = False  # a pool exists to hand connections around
    return driver(**_SQLITE, **parameters)


def _make_private_file(path: Path) -> None:
    """Make the file, so that it is never for a moment readable by others: it will hold hashes."""
    if not path.parent.is_dir():
        raise ConfigurationError(
            f"DATABASE_URL names a file in a folder that does not exist: {path.parent}"
        )
    try:
        # SQLite gives its -wal and -shm files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise ConfigurationError(
            f"DATABASE_URL names a file that cannot be written: {error.strerror}: {path}"
        ) from None
