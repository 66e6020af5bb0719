"""The kernel's own figures."""

from collections.abc import Callable, Mapping
from typing import Any

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.figures import Figure, Value, Waiting, figures_of_waiting
from wsgiauth.mail.outbox import Mail
from wsgiauth.settings import Settings
from wsgiauth.throttling.counts import locked_names


def figures_of_kernel(waiting: Mapping[str, Callable[[], Waiting]]) -> dict[str, Figure]:
    """Return the figures by name.

    Args:
        waiting: What counts the messages that wait, by the name of the queue.
    """
    declared = (
        Figure("users", "Users, by whether they can log in.", _users, "state"),
        Figure("sessions", "Sessions that have not expired.", _sessions),
        Figure("locked_names", "Names with which strangers must wait to log in.", locked_names),
        *figures_of_waiting(waiting),
    )
    return {each.name: each for each in declared}


def waiting_of_kernel(settings: Settings) -> dict[str, Callable[[], Waiting]]:
    """Return what counts the emails that wait, if the site sends any."""
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
    rows: Any = Mail.select(peewee.fn.COUNT(peewee.SQL("*")), peewee.fn.MIN(Mail.due_at))
    number, oldest = rows.tuples().get()
    return Waiting(int(number), oldest)
