"""Maintenance commands: migrate, purge, secret."""

import secrets
import time

from wsgiauth import storage
from wsgiauth.authentication import sessions
from wsgiauth.cli.command import Arguments, open_database, read_settings
from wsgiauth.cli.output import counted
from wsgiauth.storage import schema
from wsgiauth.throttling import counts


def purge(arguments: Arguments) -> None:
    """Delete expired sessions and expired counts of attempts."""
    open_database(arguments)
    ended = counted(sessions.purge(time.time()), "expired session")
    attempts = counted(counts.purge(time.time()), "expired count")
    print(f"Deleted {ended} and {attempts} of attempts.")


def migrate(arguments: Arguments) -> None:
    """Create or update the database's tables."""
    applied: list[str] = []
    storage.open_database(
        read_settings(arguments).DATABASE_URL,
        prepare=lambda opened: applied.extend(schema.migrate(opened)),
    )
    print(f"Applied {', '.join(applied)}." if applied else "The schema is up to date.")


def print_secret(_: Arguments) -> None:
    """Print a new SECRET_KEY: 48 random bytes as 64 characters, enough for HS512."""
    print(secrets.token_urlsafe(48))
