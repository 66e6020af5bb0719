"""The schema: migrations of the package and of features, applied by one process at a time.

Each start brings an SQLite file up to date. An operator changes the schema of a server before the
start of the processes that need the change; otherwise they raise a ConfigurationError.

wsgiauth and each feature of FEATURES that has tables have a sequence of migrations of their own.
Each sequence is recorded in a table of its own, which other versions of the others do not read.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import MethodType
from typing import Any, NamedTuple

import peewee

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.features import PACKAGE, Declaration
from wsgiauth.storage import context
from wsgiauth.storage.connections import AccountDatabase, discard_connection, reason_of
from wsgiauth.storage.sqlite import Memory

MIGRATIONS = Path(__file__).with_name("migrations")
LOCK_TIMEOUT = 60  # seconds to wait for the migration of another process

_NAME = re.compile(r"[0-9]{4}_[a-z0-9_]+")  # so that the order of names is that of numbers
_FIRST = "0001_schema"
_LAST_BEFORE_1_0 = "0012_email_domains"  # the first migration accepts its tables
_ADVISORY_LOCK = 0x77736769  # any number that no other application uses in the database
_NAMED_LOCK = "CONCAT('wsgiauth.', LEFT(MD5(DATABASE()), 16))"  # MariaDB's locks are server-wide


class Sequence(NamedTuple):
    """The migrations of wsgiauth or of a feature.

    Attributes:
        owner: The name of the feature, or of the package.
    """

    owner: str
    folder: Path

    @property
    def table(self) -> str:
        """The table that records the applied migrations."""
        return f"{self.owner}_migration"

    def known(self) -> set[str]:
        """Return the names of the migrations of this version.

        Raises:
            ConfigurationError: A feature has no migrations in its folder, or wrongly named ones.
        """
        names = {path.stem for path in self.folder.glob("*.py")} - {"__init__"}
        wrong = [each for each in names if not _NAME.fullmatch(each)]
        if wrong or not (names or self.owner == PACKAGE):
            found = f"{min(wrong)}.py is another file" if wrong else "there is none"
            raise ConfigurationError(
                f"The feature {self.owner} must have migrations such as 0001_tables.py in"
                f" {self.folder}; {found}."
            )
        return names

    def label(self, name: str) -> str:
        """Return the name of a migration, after that of a feature."""
        return name if self.owner == PACKAGE else f"{self.owner}: {name}"


def sequences_of(features: Iterable[Declaration]) -> tuple[Sequence, ...]:
    """Return the sequences of wsgiauth and of those features that have one, in their order."""
    folders = {each.name: each.migrations for each in features}
    of_features = (Sequence(name, each) for name, each in folders.items() if each is not None)
    return Sequence(PACKAGE, MIGRATIONS), *of_features


def make_ready(database: AccountDatabase) -> None:
    """Bring the schema of SQLite up to date; check the schema of a server."""
    if isinstance(database, Memory):  # which is empty
        with_tables = tuple(each for each in database.features if each.migrations is not None)
        _migrated_memory(with_tables).anchor.backup(database.anchor)
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
def _migrated_memory(features: tuple[Declaration, ...]) -> Memory:
    """Return a database to copy: tests make many, and a migration takes most of their start."""
    database = Memory()
    database.features = features
    if features:  # further ones than of another site of the process
        _migrated_memory(()).anchor.backup(database.anchor)
    migrate(database)
    discard_connection(database)
    return database


def pending_at_start(database: AccountDatabase) -> list[str]:
    """Return the migrations that the next start will apply."""
    if isinstance(database, peewee.SqliteDatabase):
        return pending(database)
    make_ready(database)
    return []


def migrate(database: AccountDatabase) -> list[str]:
    """Bring the schema up to date and return the labels of the applied migrations.

    Each migration is applied once, also by processes that migrate at the same time.

    Raises:
        ConfigurationError: A migration of a feature failed.
    """
    if isinstance(database, peewee.SqliteDatabase):
        _switch_to_wal(database)
        return _apply_pending(database)
    _check_server_settings(database)
    with database.patient(LOCK_TIMEOUT):
        return _apply_pending(database)


def pending(database: AccountDatabase) -> list[str]:
    """Return the labels of the migrations that are not applied yet, in order."""
    return [sequence.label(name) for sequence, name in _pending(database)]


def known(sequences: Iterable[Sequence]) -> set[str]:
    """Return the labels of the migrations of this version."""
    return {each.label(name) for each in sequences for name in each.known()}


def applied(database: AccountDatabase, sequences: Iterable[Sequence]) -> set[str]:
    """Return the labels of the applied migrations, also of a newer version, in one SELECT."""
    owners = {each.owner: each for each in sequences}
    select = " UNION ALL ".join(
        f"SELECT '{each.owner}', name FROM {each.table}"  # noqa: S608
        for each in owners.values()
    )
    return {owners[owner].label(name) for owner, name in database.fetchall(select, ())}


def newest(database: AccountDatabase) -> list[str]:
    """Return the label of the newest migration of each sequence, perhaps of a later version."""
    sequences = sequences_of(database.features)
    selects = {each: f"SELECT MAX(name) FROM {each.table}" for each in sequences}  # noqa: S608
    return [each.label(*database.fetchone(select, ())) for each, select in selects.items()]


def _pending(database: AccountDatabase) -> Iterator[tuple[Sequence, str]]:
    for sequence in sequences_of(database.features):
        found = set()  # also migrations of a newer version
        if database.table_exists(sequence.table):
            select = f"SELECT name FROM {sequence.table}"  # noqa: S608
            found = {name for (name,) in database.fetchall(select, ())}
        if sequence.owner == PACKAGE and found and found.isdisjoint({_FIRST, _LAST_BEFORE_1_0}):
            raise ConfigurationError(
                "DATABASE_URL names a database of a version before 1.0: first upgrade it as the"
                ' changelog of 1.0.0rc1 says below "Coming from a checkout of 0.x".'
            )
        for name in sorted(sequence.known() - found):
            yield sequence, name


def _apply_pending(database: AccountDatabase) -> list[str]:
    labels: list[str] = []
    while missing := next(_pending(database), None):
        sequence, name = missing
        apply = _apply if sequence.owner == PACKAGE else _apply_of_feature
        with _migration_lock(database):
            labels += map(sequence.label, apply(database, sequence, name))
    return labels


def _runner(database: AccountDatabase, sequence: Sequence) -> Any:
    from playhouse.migrations import Runner  # few starts need it

    return Runner(database, str(sequence.folder), sequence.table)


def _apply(database: AccountDatabase, sequence: Sequence, name: str) -> list[str]:
    """Apply a migration; return an empty list if another process has applied it meanwhile."""
    names: list[str] = _runner(database, sequence).up(name)
    return names


def _apply_of_feature(database: AccountDatabase, sequence: Sequence, name: str) -> list[str]:
    """Apply a migration of a feature, a program which can raise anything."""
    owner, before = sequence.owner, {*database.get_tables()}
    runner = _runner(database, sequence)
    runner.migrator = watched = _WatchedMigrator(runner.migrator)
    try:
        with context.using(database):  # not the one of another site
            names: list[str] = runner.up(name)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {reason_of(error)}"
        message = f"The migration {name} of the feature {owner} failed ({reason})."
        raise ConfigurationError(message) from error
    for operation in watched.waiting.values():
        _forget(database, sequence, name)
        raise ConfigurationError(
            f"The migration {name} of the feature {owner} does not execute its {operation}: write"
            f" `migrator.migrate(migrator.{operation}(...))`."
        )
    added, own = {*database.get_tables()} - before, (f"{owner}_", "sqlite_")  # of ANALYZE
    if wrong := [each for each in sorted(added) if not each.startswith(own)]:
        raise ConfigurationError(
            f"The migration {name} of the feature {owner} makes the table {wrong[0]}; the names of"
            f" its tables must begin with {owner}_."
        )
    return names


def _forget(database: AccountDatabase, sequence: Sequence, name: str) -> None:
    """Remove the record of a migration, which MariaDB does not roll back."""
    delete = f"DELETE FROM {sequence.table} WHERE name = '{name}'"  # noqa: S608 - both are checked
    database.execute_sql(delete)  # type: ignore[no-untyped-call]


class _WatchedMigrator:
    """A migrator of Peewee that knows which of the operations it made are not executed yet."""

    def __init__(self, migrator: Any) -> None:
        self._migrator = migrator
        self.waiting: dict[object, str] = {}  # names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._migrator, name)
        return partial(self._call, name, found) if isinstance(found, MethodType) else found

    def _call(self, name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        from playhouse.migrate import Operation  # as above

        made = function(*args, **options)
        if isinstance(made, Operation):
            self.waiting[made] = name
            vars(made)["run"] = partial(self._run, made, made.run)
        return made

    def _run(self, operation: object, run: Callable[[], None]) -> None:
        self.waiting.pop(operation, None)
        run()


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
