"""The account database at work: which one it is, what is asked of it, and when it fails.

Models speak to `database`, which stands for the database of the `AuthMiddleware` at work in the
current context. Nothing here knows what is stored.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import peewee
from playhouse.pool import PooledDatabase

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings
from wsgiauth.storage import context, forks, postgres_mysql, schema
from wsgiauth.storage.connections import (
    FAILURES,
    AccountDatabase,
    discard_connection,
    reason_of,
    roll_back_forgotten,
)
from wsgiauth.storage.databases import database_of

logger = logging.getLogger("wsgiauth")

_opened_last: peewee.Database | None = None


class _CurrentDatabase(peewee.DatabaseProxy):
    """Stands for `current()` wherever Peewee wants a database."""

    __slots__ = ("_callbacks",)  # Peewee's proxies refuse to set anything else

    def initialize(self, obj: peewee.Database | None) -> None:
        """Leave the choice to `current()`."""

    @property
    def obj(self) -> peewee.Database:
        return current()


def current() -> peewee.Database:
    """Return the database of the `AuthMiddleware` at work in this context (thread, greenlet).

    Outside any, it is the one opened last; and where none was opened, as in a script that begins
    with `User.objects.create(...)`, the DATABASE_URL of the process environment is opened. A
    process with several databases must therefore hand its context to threads of its own
    (`contextvars.copy_context`).

    Raises:
        ConfigurationError: See `open_database`.
    """
    chosen = context.database()
    if chosen is not None:
        return chosen
    if _opened_last is not None:
        return _opened_last
    url = os.environ.get("DATABASE_URL")
    settings = Settings(DATABASE_URL=url) if url else Settings()
    return open_database(settings.DATABASE_URL)


def open_database(
    url: str, *, prepare: Callable[[peewee.Database], object] = schema.make_ready
) -> AccountDatabase:
    """Open the database at `url` and make it the current one.

    SQLite's file and schema are made, and brought up to date, on the way; any number of processes
    may do so at once. No connection is left open, so that a server may fork afterwards.

    Args:
        url: See `Settings.DATABASE_URL`.
        prepare: What is done with the database to see that it can be used.

    Raises:
        ConfigurationError: The URL is not understood, its driver is not installed, the database
            does not answer, or a server's schema is behind. Never shows the password.
    """
    global _opened_last  # the one fallback that `current` documents
    try:
        with _parameters_understood():
            opened = database_of(url)
        try:
            with _starting(opened):
                with _parameters_understood():
                    opened.connect()
                prepare(opened)
        finally:
            discard_connection(opened)
    except ConfigurationError:
        raise
    except peewee.ImproperlyConfigured:
        is_postgresql = isinstance(opened, peewee.PostgresqlDatabase)
        driver = "psycopg[binary]" if is_postgresql else "PyMySQL"
        message = f"DATABASE_URL needs a driver: pip install '{driver}'."
        raise ConfigurationError(message) from None
    except FAILURES as error:
        message = f"DATABASE_URL cannot be opened: {str(error).strip()}"
        raise ConfigurationError(message) from error
    _opened_last = opened
    forks.watch(opened)
    context.use(opened)
    return opened


def release_connection(opened: peewee.Database) -> None:
    """Give a pooled connection back; one that belongs to the thread stays open."""
    if not isinstance(opened, PooledDatabase) or opened.is_closed():
        return
    pooled: Any = opened
    if not pooled.has_open_transaction():  # whoever began it still needs the connection
        pooled.close()


def is_left_open(uses: context.DatabaseUses) -> bool:
    """Return whether a transaction is open that was not when the request first used its database.

    Args:
        uses: See `context.database_uses`.
    """
    return any(True for _ in _left_open(uses))


def roll_back_left_open(uses: context.DatabaseUses) -> None:
    """Roll back every transaction that a request began in this thread and did not end.

    Args:
        uses: See `context.database_uses`.
    """
    for each in _left_open(uses):
        roll_back_forgotten(each)


def _left_open(uses: context.DatabaseUses) -> Iterator[Any]:
    here = threading.get_ident()
    for (each, thread), was_open in list(uses.items()):  # the application's threads may add
        if thread == here and not was_open and each.has_open_transaction():
            yield each


def report_failure(error: Exception) -> None:
    """Log that the database failed, in one line, and drop this thread's connection to it."""
    logger.error("the account database failed: %s: %s", type(error).__name__, reason_of(error))
    discard_connection(current())


class Statement:
    """A SELECT that Peewee writes once and that is only executed from then on.

    Building a query costs thirty times what running it does.

    Args:
        query: Returns the query. Its values are placeholders, replaced in the order in which they
            stand in the SQL by the parameters of `fetchone` and `fetchall`.
    """

    def __init__(self, query: Callable[[], Any]) -> None:
        self._query = query
        self._sql: dict[type[peewee.Database], str] = {}

    def fetchone(self, *parameters: object) -> tuple[Any, ...] | None:
        """Execute and return the first row, or None."""
        opened: Any = current()
        sql = self._sql.get(type(opened)) or self._write_for(opened)
        row: tuple[Any, ...] | None = opened.fetchone(sql, parameters)
        return row

    def fetchall(self, *parameters: object) -> list[tuple[Any, ...]]:
        """Execute and return every row."""
        opened = current()
        sql = self._sql.get(type(opened)) or self._write_for(opened)
        return list(opened.execute_sql(sql, parameters).fetchall())

    def _write_for(self, opened: peewee.Database) -> str:
        sql: str
        sql, _ = opened.get_sql_context().sql(self._query()).query()
        self._sql[type(opened)] = sql
        return sql


@contextmanager
def _parameters_understood() -> Iterator[None]:
    """Turn what drivers raise for a parameter of the URL into one sentence."""
    try:
        yield
    except ConfigurationError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        message = f"DATABASE_URL has a parameter that its driver does not accept: {error}"
        raise ConfigurationError(message) from error


@contextmanager
def _starting(opened: AccountDatabase) -> Iterator[None]:
    """Meanwhile, a server may take longer to answer than in a request, but not forever."""
    if not isinstance(opened, postgres_mysql.Server):
        yield
        return
    usual, opened.read_timeout = opened.read_timeout, postgres_mysql.START_TIMEOUT
    try:
        yield
    finally:
        opened.read_timeout = usual


database = _CurrentDatabase()
