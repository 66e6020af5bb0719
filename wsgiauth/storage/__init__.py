"""Open and find the account database. Models use `database`, a proxy for the current one.

A failed database raises one of `connections.DATABASE_ERRORS`, mostly a peewee.DatabaseError.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import peewee
from playhouse.pool import PooledDatabase

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings
from wsgiauth.settings.features import Declaration, load
from wsgiauth.storage import context, postgres_mysql, schema
from wsgiauth.storage.connections import (
    BUSY_TIMEOUT,
    DATABASE_ERRORS,
    AccountDatabase,
    discard_connection,
    watch_forks,
)
from wsgiauth.storage.context import current_request, default_database
from wsgiauth.storage.databases import make_database, refuse_file_of_other_user

_opened_last: peewee.Database | None = None


class _CurrentDatabase(peewee.DatabaseProxy):
    """A proxy for `current()`, for code in which Peewee needs a database."""

    __slots__ = ("_callbacks",)  # Peewee's proxies do not allow other attributes

    def initialize(self, obj: peewee.Database | None) -> None:
        """Do nothing: `current()` chooses the database."""

    def savepoint(self) -> Any:
        """Return a savepoint of the database, which can have its own class."""
        return current().savepoint()

    @property
    def obj(self) -> peewee.Database:
        return current()


def current() -> peewee.Database:
    """Return the database of the `AuthMiddleware` that serves this context (thread, greenlet).

    Without such a middleware, return the database that was opened last. If none was opened, as in
    a script that begins with `User.objects.create(...)`, open the DATABASE_URL of the process
    environment, with the tables of its FEATURES. A process with several databases must therefore
    pass its context to the threads that it starts (`contextvars.copy_context`).
    """
    chosen = current_request()[0] or default_database()  # faster than `context.database`
    if chosen is not None:
        return chosen
    if _opened_last is not None:
        return _opened_last
    names = ("DATABASE_URL", "FEATURES", "USERNAMES")
    return open_for(Settings.from_mapping({name: os.environ.get(name, "") for name in names}))


def current_or_none() -> peewee.Database | None:
    """Return the current database if one is open, else None."""
    return context.database() or _opened_last


def open_for(
    settings: Settings,
    *,
    prepare: Callable[[AccountDatabase], object] = schema.make_ready,
    is_command: bool = False,
) -> AccountDatabase:
    """Open the database of a site; see `open_database`."""
    return open_database(
        settings.DATABASE_URL,
        has_usernames=settings.USERNAMES,
        features=load(settings.FEATURES),
        prepare=prepare,
        is_command=is_command,
    )


def open_database(
    url: str,
    *,
    has_usernames: bool = True,
    features: tuple[Declaration, ...] = (),
    prepare: Callable[[AccountDatabase], object] = schema.make_ready,
    is_command: bool = False,
) -> AccountDatabase:
    """Open the database at `url` and make it the current one.

    `prepare` checks or migrates the schema; any number of processes can do this at the same time.
    No connection stays open, so that a server can fork afterwards. A command refuses an SQLite file
    of another user.

    Raises:
        ConfigurationError: The database cannot be used. The message never shows the password.
    """
    global _opened_last  # the fallback that `current` documents
    try:
        with _driver_parameter_errors():
            opened = make_database(url)
        opened.has_usernames, opened.features = has_usernames, features
        if is_command:  # after the file exists: another user could have created it just before
            refuse_file_of_other_user(url)
        try:
            with opened.patient(BUSY_TIMEOUT, postgres_mysql.START_TIMEOUT):
                with _driver_parameter_errors():
                    opened.connect()
                prepare(opened)
        finally:
            discard_connection(opened)
    except peewee.ImproperlyConfigured:
        is_postgresql = isinstance(opened, peewee.PostgresqlDatabase)
        driver = "psycopg[binary]" if is_postgresql else "PyMySQL"
        message = f"DATABASE_URL needs a driver: pip install '{driver}'."
        raise ConfigurationError(message) from None
    except DATABASE_ERRORS as error:
        message = f"DATABASE_URL cannot be opened: {str(error).strip()}"
        raise ConfigurationError(message) from error
    _opened_last = opened
    watch_forks(opened)
    context.use(opened)
    return opened


@contextmanager
def _driver_parameter_errors() -> Iterator[None]:
    """Turn a driver's error about a parameter of the URL into a ConfigurationError."""
    try:
        yield
    except ConfigurationError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        message = f"DATABASE_URL has a parameter that its driver does not accept: {error}"
        raise ConfigurationError(message) from error


def release_connection(opened: peewee.Database) -> None:
    """Return a pooled connection to its pool; a connection without a pool stays open."""
    if not isinstance(opened, PooledDatabase) or opened.is_closed():
        return
    pooled: Any = opened
    if not pooled.has_open_transaction():  # the code that began it still needs the connection
        pooled.close()


database: peewee.DatabaseProxy = _CurrentDatabase()
