"""The kernel's own figures."""

from collections.abc import Callable, Collection
from typing import Any

import peewee

from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.figures import Figure, Value, Waiting, event_counts
from wsgiauth.mail.outbox import LIFETIME, Mail
from wsgiauth.settings import Settings
from wsgiauth.storage import schema
from wsgiauth.storage.connections import AccountDatabase
from wsgiauth.throttling.counts import locked_names

RECENT = 5 * event_counts.MINUTE  # seconds


def figures_of_kernel(events: Collection[str]) -> dict[str, Figure]:
    """Return the figures by name.

    Args:
        events: The names of all events.
    """

    def recent_events(now: int) -> Value:
        counted = event_counts.by_name(now - RECENT, now)
        return {name: counted.get(name, 0) for name in events}

    declared = (
        Figure("users", "Users, by whether they can log in.", _users, "state"),
        Figure("sessions", "Sessions that have not expired.", _sessions),
        Figure("locked_names", "Names with which strangers must wait to log in.", locked_names),
        Figure("events_5m", "Events of the last five minutes, by name.", recent_events, "event"),
        Figure("schema_info", "The newest migrations of the database.", _version, "version"),
    )
    return {each.name: each for each in declared}


def waiting_of_kernel(settings: Settings) -> dict[str, Callable[[], Waiting]]:
    """Return the function that counts the emails that wait, if the site sends any."""
    return {} if settings.MAIL_URL is None else {"emails": _emails}


def _users(_now: int) -> Value:
    counted: Any = User.select(User.is_active, peewee.fn.COUNT(peewee.SQL("*"))).group_by(
        User.is_active
    )
    numbers = {bool(is_active): number for is_active, number in counted.tuples()}
    return {"active": numbers.get(True, 0), "inactive": numbers.get(False, 0)}


def _sessions(now: int) -> Value:
    return int(Session.select().where(Session.expires_at > now).count())


def _emails() -> Waiting:
    # `due_at` moves with each attempt.
    rows: Any = Mail.select(peewee.fn.COUNT(peewee.SQL("*")), peewee.fn.MIN(Mail.expires_at))
    number, expires_at = rows.tuples().get()
    return Waiting(int(number), None if expires_at is None else expires_at - LIFETIME)


def _version(_now: int) -> Value:
    database: AccountDatabase = storage.current()  # type: ignore[assignment]
    return dict.fromkeys(schema.newest(database), 1)
