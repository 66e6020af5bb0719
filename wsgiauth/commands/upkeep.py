"""Commands for the database and its key: migrate, purge, secret."""

import secrets
import time

from wsgiauth import attempts, schema, sessions, storage
from wsgiauth.commands import Arguments, open_database, read_settings
from wsgiauth.commands.output import counted


def purge(arguments: Arguments) -> None:
    """Delete what has expired: sessions, and counts of attempts."""
    open_database(arguments)
    ended = counted(sessions.purge(time.time()), "expired session")
    counts = counted(attempts.purge(time.time()), "expired count")
    print(f"Deleted {ended} and {counts} of attempts.")


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
