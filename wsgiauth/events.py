"""What happened to whose account, told to the log and to the host: every path calls `emit`.

An event names a user by id only. What was typed as a name stays untold: people type their
passwords there.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple
from weakref import WeakKeyDictionary

import peewee

from wsgiauth.storage import context
from wsgiauth.storage.columns import utc_now, utc_text

logger = logging.getLogger("wsgiauth")

REFUSALS = ("login_failed", "throttled", "refused")
CHANGES = (
    "registration",
    "login",
    "logout",
    "password_changed",
    "names_changed",
    "rights_changed",
    "user_deleted",
)
LEVELS = dict.fromkeys(CHANGES, logging.INFO) | dict.fromkeys(REFUSALS, logging.WARNING)

_PLAIN = re.compile(r"(?!-$)[\w.:/-]+", re.ASCII)  # a dash alone stands for None


class Event(NamedTuple):
    """Something that happened.

    Attributes:
        name: One of `LEVELS`.
        time: When (UTC).
        user_id: Whose account it was, or None where there is none or nobody knows.
        address: The client's, from REMOTE_ADDR; None outside a request, and while the answer is
            streamed afterwards.
        reason: Why, or what exactly; None where the name says it all.
    """

    name: str
    time: datetime
    user_id: int | None
    address: str | None
    reason: str | None

    def __str__(self) -> str:
        """Return the event in one line of `key=value` pairs, whatever the values hold."""
        pairs = {
            "time": utc_text(self.time),
            "event": self.name,
            "user_id": self.user_id,
            "address": self.address,
            "reason": self.reason,
        }
        return " ".join(f"{key}={_quoted(value)}" for key, value in pairs.items())


Subscriber = Callable[[Event], object]

# By database, so that a site hears of its own accounts only, and of what its code does to them
# outside requests as well.
_subscribers: WeakKeyDictionary[peewee.Database, tuple[Subscriber, ...]] = WeakKeyDictionary()


def subscribe(database: peewee.Database, subscribers: Iterable[Subscriber]) -> None:
    """Call `subscribers` for every event of the accounts in `database`."""
    _subscribers[database] = tuple(subscribers)


def emit(name: str, *, user_id: int | None = None, reason: str | None = None) -> None:
    """Log an event in one line and tell the subscribers.

    What was done inside a transaction of the application waits for its end: what is rolled back
    has not happened. What was refused is told at once. A subscriber that raises is logged and
    changes nothing.

    Args:
        name: One of `LEVELS`.
        user_id: Whose account it is about.
        reason: Why, or what exactly. Never anything that a client sent.
    """
    event = Event(name, utc_now(), user_id, context.client_address(), reason)
    chosen = context.database()
    if chosen is None or name in REFUSALS or not chosen.in_transaction():
        _tell(event, chosen)
        return
    try:
        chosen.after_commit(lambda: _tell(event, chosen))
    except ValueError:  # in a `manual_commit` nobody learns how it ends
        _tell(event, chosen)


def _tell(event: Event, database: peewee.Database | None) -> None:
    fields = {name: getattr(event, name) for name in ("user_id", "address", "reason")}
    logger.log(LEVELS[event.name], "%s", event, extra={"event": event.name, **fields})
    with context.using(database):
        for subscriber in _subscribers.get(database, ()) if database is not None else ():
            try:
                subscriber(event)
            except Exception:
                logger.exception("a subscriber failed on the event %s", event.name)


def _quoted(value: object) -> str:
    """Return `value` so that it cannot end the line, or pass for another pair."""
    if value is None:
        return "-"
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
