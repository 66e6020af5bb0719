"""Maintenance commands: migrate, purge, secret."""

import secrets
import time

from wsgiauth import storage
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.console.command import Arguments, open_database, read_settings
from wsgiauth.console.output import print_line
from wsgiauth.console.parser import Parser
from wsgiauth.events.models import purge_events
from wsgiauth.messages import counted
from wsgiauth.storage import schema
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.failed_logins import FailedLogins


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    parser.command("purge", purge)
    parser.command("migrate", migrate)
    parser.command("secret", print_secret, examples=("> secret.key",))


def purge(arguments: Arguments) -> None:
    """Delete expired rows, and old events."""
    from wsgiauth.feature import expiring_of
    from wsgiauth.features.registry import features_of  # here, because few commands need it

    settings = open_database(arguments)
    now = time.time()
    deleted = (
        counted(purge_expired(Session, now), "expired session"),
        counted(purge_expired(OneTimeSecret, now), "expired link"),
        *(
            counted(purge_expired(model, now), f"expired {name}")
            for name, model in expiring_of(features_of(settings)).items()
        ),
        counted(purge_expired(FailedLogins, now), "expired failure list"),
        counted(purge_expired(AttemptCount, now), "expired count"),
    )
    old = counted(purge_events(now, settings.AUDIT_DAYS), "event")
    print_line(f"Deleted {', '.join(deleted)} of attempts and {old} of the audit trail.")


def migrate(arguments: Arguments) -> None:
    """Create or update the database's tables."""
    applied: list[str] = []
    storage.open_for(
        read_settings(arguments),
        prepare=lambda opened: applied.extend(schema.migrate(opened)),
        is_command=True,
    )
    print_line(f"Applied {', '.join(applied)}." if applied else "The schema is up to date.")


def print_secret(_: Arguments) -> None:
    """Print a new SECRET_KEY: 48 random bytes as 64 characters, enough for HS512."""
    print_line(secrets.token_urlsafe(48))
