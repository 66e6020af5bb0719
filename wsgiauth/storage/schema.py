"""The tables' shape: migrations that ship in the package, applied by one process at a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import peewee
from playhouse.migrations import Runner

from wsgiauth.exceptions import ConfigurationError

MIGRATIONS = Path(__file__).with_name("migrations")
LOCK_TIMEOUT = 60  # seconds to wait for another process that migrates

_ADVISORY_LOCK = 0x77736769  # any number will do, as long as nobody else in the database uses it
_NAMED_LOCK = "CONCAT('wsgiauth.', LEFT(MD5(DATABASE()), 16))"  # MariaDB's are the whole server's


def make_ready(database: peewee.Database) -> None:
    """Bring SQLite up to date; of a server's database, only demand that it is.

    A file belongs to this application. A server's schema is changed by its operator, before the
    processes that need the change are started.

    Raises:
        ConfigurationError: A server's schema is behind.
        peewee.DatabaseError: The database failed.
    """
    if isinstance(database, peewee.SqliteDatabase):
        migrate(database)
        return
    _refuse_server_settings(database)
    missing = pending(database)
    if missing:
        raise ConfigurationError(
            "DATABASE_URL names a database whose schema is behind (it lacks"
            f" {', '.join(missing)}): run `python -m wsgiauth migrate`."
        )


def pending_at_start(database: peewee.Database) -> list[str]:
    """Return the migrations that the next start will apply; change nothing.

    Raises:
        ConfigurationError: The start would be refused.
        peewee.DatabaseError: The database failed.
    """
    if isinstance(database, peewee.SqliteDatabase):
        return pending(database)
    make_ready(database)
    return []


def _refuse_server_settings(database: peewee.Database) -> None:
    """Refuse a PostgreSQL database whose settings wsgiauth cannot work with.

    A direct connection sets its isolation level itself; a pooled one has the database's default.
    (MariaDB's tables say utf8mb4 themselves.)
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
            "DATABASE_URL leads through a connection pooler to a database whose"
            f" default_transaction_isolation is {isolation}: run"
            " `ALTER DATABASE ... SET default_transaction_isolation = 'read committed'`."
        )


def migrate(database: peewee.Database) -> list[str]:
    """Bring the schema up to date and return the names of the migrations that did it.

    Other processes that migrate at the same time wait; each migration is applied once.

    Raises:
        ConfigurationError: The database cannot hold every name.
        peewee.DatabaseError: The database failed, or its lock was not to be had in time.
    """
    if isinstance(database, peewee.SqliteDatabase):
        _switch_to_wal(database)
        return _apply_pending(database)
    _refuse_server_settings(database)
    server: Any = database
    with server.patient(LOCK_TIMEOUT):
        return _apply_pending(database)


def _apply_pending(database: peewee.Database) -> list[str]:
    applied: list[str] = []
    while missing := pending(database):
        with _sole_migration(database):
            applied += _runner(database).up(missing[0])
    return applied


def pending(database: peewee.Database) -> list[str]:
    """Return the names of the migrations that the schema lacks, in their order."""
    return [each.name for each in _runner(database).status() if not each.applied]


def _runner(database: peewee.Database) -> Runner:
    return Runner(database, str(MIGRATIONS), table_name="wsgiauth_migration")


def _switch_to_wal(database: peewee.SqliteDatabase) -> None:
    """Let readers and a writer work side by side; the file remembers it."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    while database.pragma("journal_mode") not in ("wal", "memory"):
        try:
            database.pragma("journal_mode", "wal")
        except peewee.OperationalError:
            # The one statement that does not wait for the locks of others, such as a process
            # that starts at the same moment.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def _sole_migration(database: peewee.Database) -> Iterator[None]:
    """Hold the lock under which a schema changes, whichever the database offers."""
    if isinstance(database, peewee.SqliteDatabase):
        database.pragma("foreign_keys", 0)  # a table rebuilt by a migration must not cascade
        try:
            with database.atomic():
                yield
        finally:
            database.pragma("foreign_keys", 1)
    elif isinstance(database, peewee.PostgresqlDatabase):
        # The transaction's lock, not the session's: behind a connection pooler such as PgBouncer,
        # other statements of the same session may run on other connections to the server.
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
