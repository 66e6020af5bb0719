"""Events of accounts: `emit` logs each one and passes it to the application.

An event identifies a user by id only. It never has the submitted username, because people
sometimes type their password there.
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

_PLAIN = re.compile(r"(?!-$)[\w.:/-]+", re.ASCII)  # a single dash means None


class Event(NamedTuple):
    """An event of an account.

    Attributes:
        name: One of `LEVELS`.
        time: The time of the event (UTC).
        user_id: The account, or None if there is none or it is unknown.
        address: The client's address, from REMOTE_ADDR; None outside a request, and while a
            response is streamed after its request.
        reason: The cause or the detail; None if the name is enough.
    """

    name: str
    time: datetime
    user_id: int | None
    address: str | None
    reason: str | None

    def __str__(self) -> str:
        """Return the event as one line of `key=value` pairs, with quoted values where needed."""
        pairs = {
            "time": utc_text(self.time),
            "event": self.name,
            "user_id": self.user_id,
            "address": self.address,
            "reason": self.reason,
        }
        return " ".join(f"{key}={_quoted(value)}" for key, value in pairs.items())


Subscriber = Callable[[Event], object]

# By database, so that a site gets the events of its own accounts only, but also those of its code
# outside requests.
_subscribers: WeakKeyDictionary[peewee.Database, tuple[Subscriber, ...]] = WeakKeyDictionary()


def subscribe(database: peewee.Database, subscribers: Iterable[Subscriber]) -> None:
    """Call `subscribers` for every event of the accounts in `database`."""
    _subscribers[database] = tuple(subscribers)


def emit(name: str, *, user_id: int | None = None, reason: str | None = None) -> None:
    """Log an event in one line and call the subscribers.

    Inside a transaction of the application, a change is emitted after the commit, and never after a
    rollback. One of `REFUSALS` is emitted immediately. An exception of a subscriber is logged and
    has no other effect.

    Args:
        name: One of `LEVELS`.
        user_id: The account.
        reason: The cause or the detail. Never anything that a client sent.
    """
    event = Event(name, utc_now(), user_id, context.client_address(), reason)
    chosen = context.database()
    if chosen is None or name in REFUSALS or not chosen.in_transaction():
        _deliver(event, chosen)
        return
    try:
        chosen.after_commit(lambda: _deliver(event, chosen))
    except ValueError:  # inside `manual_commit`, Peewee does not report the commit
        _deliver(event, chosen)


def _deliver(event: Event, database: peewee.Database | None) -> None:
    fields = {name: getattr(event, name) for name in ("user_id", "address", "reason")}
    logger.log(LEVELS[event.name], "%s", event, extra={"event": event.name, **fields})
    with context.using(database):
        for subscriber in _subscribers.get(database, ()) if database is not None else ():
            try:
                subscriber(event)
            except Exception:
                logger.exception("a subscriber failed on the event %s", event.name)


def _quoted(value: object) -> str:
    """Return `value` in a form that cannot end the line or add another pair."""
    if value is None:
        return "-"
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
