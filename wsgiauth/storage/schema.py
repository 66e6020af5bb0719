"""The schema: migrations from the package, applied by one process at a time.

Each start brings an SQLite file up to date. An operator changes the schema of a server before the
start of the processes that need the change; otherwise they raise a ConfigurationError.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import peewee

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage.connections import AccountDatabase, discard_connection
from wsgiauth.storage.sqlite import Memory

MIGRATIONS = Path(__file__).with_name("migrations")
LOCK_TIMEOUT = 60  # seconds to wait for the migration of another process

_TABLE = "wsgiauth_migration"
_FIRST = "0001_schema"
_LAST_BEFORE_1_0 = "0012_email_domains"  # the first migration accepts its tables
_ADVISORY_LOCK = 0x77736769  # any number that no other application uses in the database
_NAMED_LOCK = "CONCAT('wsgiauth.', LEFT(MD5(DATABASE()), 16))"  # MariaDB's locks are server-wide


def make_ready(database: peewee.Database) -> None:
    """Bring the schema of SQLite up to date; check the schema of a server."""
    if isinstance(database, Memory):  # which is empty
        _migrated_memory().anchor.backup(database.anchor)
        return
    if isinstance(database, peewee.SqliteDatabase):
        migrate(database)
        return
    _check_server_settings(database)
    missing = pending(database)
    if missing:
        raise ConfigurationError(
            "DATABASE_URL names a database whose schema is behind (missing:"
            f" {', '.join(missing)}): run `python -m wsgiauth migrate`."
        )


@cache
def _migrated_memory() -> Memory:
    """Return a database to copy: tests make many, and a migration takes most of their start."""
    database = Memory()
    migrate(database)
    discard_connection(database)
    return database


def pending_at_start(database: peewee.Database) -> list[str]:
    """Return the migrations that the next start will apply."""
    if isinstance(database, peewee.SqliteDatabase):
        return pending(database)
    make_ready(database)
    return []


def migrate(database: peewee.Database) -> list[str]:
    """Bring the schema up to date and return the names of the applied migrations.

    Each migration is applied once, also by processes that migrate at the same time.
    """
    if isinstance(database, peewee.SqliteDatabase):
        _switch_to_wal(database)
        return _apply_pending(database)
    _check_server_settings(database)
    server: Any = database
    with server.patient(LOCK_TIMEOUT):
        return _apply_pending(database)


def pending(database: peewee.Database) -> list[str]:
    """Return the names of the migrations that are not applied yet, in order."""
    found: set[str] = set()  # also migrations of a newer version
    if database.table_exists(_TABLE):
        found |= {name for (name,) in database.execute_sql(f"SELECT name FROM {_TABLE}")}  # noqa: S608
    if found and found.isdisjoint({_FIRST, _LAST_BEFORE_1_0}):
        raise ConfigurationError(
            "DATABASE_URL names a database of a version before 1.0: first upgrade it as the"
            ' changelog of 1.0.0rc1 says below "Coming from a checkout of 0.x".'
        )
    return sorted(known() - found)


def known() -> frozenset[str]:
    """Return the names of the migrations of this version."""
    return frozenset(path.stem for path in MIGRATIONS.glob("[0-9]*.py"))


def applied(database: AccountDatabase) -> set[str]:
    """Return the names of the applied migrations, also of a newer version, in one SELECT."""
    return {name for (name,) in database.fetchall(f"SELECT name FROM {_TABLE}", ())}  # noqa: S608


def newest(database: peewee.Database) -> str:
    """Return the name of the newest migration that the database has, perhaps of a later version."""
    ((name,),) = database.execute_sql(f"SELECT MAX(name) FROM {_TABLE}").fetchall()  # noqa: S608
    return str(name)


def _apply_pending(database: peewee.Database) -> list[str]:
    names: list[str] = []
    while missing := pending(database):
        from playhouse.migrations import Runner  # few starts need it

        with _migration_lock(database):
            runner = Runner(database, str(MIGRATIONS), table_name=_TABLE)
            names += runner.up(missing[0])
    return names


def _check_server_settings(database: peewee.Database) -> None:
    """Check the encoding and the isolation level of a PostgreSQL database.

    Only a direct connection sets its own isolation level; a pooler keeps the default of the
    database. (MariaDB's tables specify utf8mb4.)
    """
    if not isinstance(database, peewee.PostgresqlDatabase):
        return
    encoding, isolation = database.execute_sql(
        "SELECT current_setting('server_encoding'), current_setting('transaction_isolation')"
    ).fetchone()
    if encoding != "UTF8":
        raise ConfigurationError(
            f"DATABASE_URL names a database whose encoding is {encoding}; it must be UTF8."
        )
    if isolation != "read committed":
        raise ConfigurationError(
            "DATABASE_URL names a connection pooler in front of a database whose"
            f" default_transaction_isolation is {isolation}: run"
            " `ALTER DATABASE ... SET default_transaction_isolation = 'read committed'`, or `ALTER"
            " ROLE` if it is set there."
        )


def _switch_to_wal(database: peewee.SqliteDatabase) -> None:
    """Let readers and a writer work at the same time. The file keeps this mode."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    while database.pragma("journal_mode") not in ("wal", "memory"):
        try:
            database.pragma("journal_mode", "wal")
        except peewee.OperationalError:
            # Only this statement does not wait for a lock, such as the one of another start.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def _migration_lock(database: peewee.Database) -> Iterator[None]:
    if isinstance(database, peewee.SqliteDatabase):
        database.pragma("foreign_keys", 0)  # rebuilding a table must not cascade
        try:
            with database.atomic():
                yield
        finally:
            database.pragma("foreign_keys", 1)
    elif isinstance(database, peewee.PostgresqlDatabase):
        # The lock belongs to a transaction, because a pooler such as PgBouncer can run the
        # statements of one session on several connections to the server.
        with database.atomic():
            database.execute_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}s'")
            database.execute_sql("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK,))
            yield
    else:
        granted = database.execute_sql(f"SELECT GET_LOCK({_NAMED_LOCK}, %s)", (LOCK_TIMEOUT,))
        if granted.fetchone() != (1,):
            raise peewee.OperationalError(
                f"another process has been migrating for {LOCK_TIMEOUT} seconds"
            )
        try:
            yield
        finally:
            database.execute_sql(f"SELECT RELEASE_LOCK({_NAMED_LOCK})")
