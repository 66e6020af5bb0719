"""Maintenance commands: migrate, purge, secret."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from wsgiauth import storage
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.console.command import Arguments, CommandError, open_database, read_settings
from wsgiauth.console.output import print_line
from wsgiauth.console.parser import Parser
from wsgiauth.events.actors import is_outage
from wsgiauth.events.models import purge_events
from wsgiauth.messages import counted
from wsgiauth.storage import schema
from wsgiauth.storage.connections import reason_of
from wsgiauth.storage.models import Model
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.failed_logins import FailedLogins

# Around those of features, in the sentence about what was deleted.
_OWN: tuple[Mapping[str, type[Model]], ...] = (
    {"session": Session, "link": OneTimeSecret},
    {"failure list": FailedLogins, "count": AttemptCount},
)


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
    first, last = (
        [counted(purge_expired(model, now), f"expired {name}") for name, model in models.items()]
        for models in _OWN
    )
    old = counted(purge_events(now, settings.AUDIT_DAYS), "event")
    failed: list[str] = []
    models = {f"expired {name}": each for name, each in expiring_of(features_of(settings)).items()}
    of_features = delete_of_features(models, lambda model: purge_expired(model, now), failed)
    deleted = (*first, *(counted(number, name) for name, number in of_features), *last)
    print_line(f"Deleted {', '.join(deleted)} of attempts and {old} of the audit trail.")
    refuse_failed(failed)


def delete_of_features(
    models: Mapping[str, type[Model]], delete: Callable[[type[Model]], int], failed: list[str]
) -> Iterator[tuple[str, int]]:
    """Delete rows of each model of features, also if another one fails; yield how many.

    Args:
        models: By what a row is, which is also yielded.
        failed: Gets the models that fail, in words.
    """
    for name, model in models.items():
        try:
            number = delete(model)
        except (Exception, SystemExit) as error:  # of a feature
            if is_outage(error):
                raise
            failed.append(f"{name} ({type(error).__name__}: {reason_of(error)})")
        else:
            yield name, number


def refuse_failed(failed: Sequence[str]) -> None:
    """Raise CommandError for rows of features that could not be deleted."""
    if failed:
        raise CommandError(f"these rows stay, because their feature fails: {', '.join(failed)}")


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
