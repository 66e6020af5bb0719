"""Commands for the database and its key: migrate, purge, secret."""

import secrets
import time

from wsgiauth import storage
from wsgiauth.authentication import sessions
from wsgiauth.cli.command import Arguments, open_database, read_settings
from wsgiauth.cli.output import counted
from wsgiauth.storage import schema
from wsgiauth.throttling import counts


def purge(arguments: Arguments) -> None:
    """Delete what has expired: sessions, and counts of attempts."""
    open_database(arguments)
    ended = counted(sessions.purge(time.time()), "expired session")
    attempts = counted(counts.purge(time.time()), "expired count")
    print(f"Deleted {ended} and {attempts} of attempts.")


def migrate(arguments: Arguments) -> None:
    """Bring the database's schema up to date."""
    applied: list[str] = []
    storage.open_database(
        read_settings(arguments).DATABASE_URL,
        prepare=lambda opened: applied.extend(schema.migrate(opened)),
    )
    print(f"Applied {', '.join(applied)}." if applied else "The schema is up to date.")


def print_secret(_: Arguments) -> None:
    """Print a new SECRET_KEY: 64 characters that hold 48 random bytes, enough for HS512."""
    print(secrets.token_urlsafe(48))
