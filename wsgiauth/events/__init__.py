"""Events of accounts: `emit` logs each one, and passes it to the application.

A change is also written to the audit trail, in its own transaction; this raises
peewee.DatabaseError if it fails. An event identifies a user by id only: it never has the submitted
username, because people sometimes type their password there.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import NamedTuple
from weakref import WeakKeyDictionary

import peewee

from wsgiauth import storage
from wsgiauth.events import actors, models
from wsgiauth.events.kinds import Change, EventKind
from wsgiauth.storage import context
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import utc_now, utc_text
from wsgiauth.storage.statements import insert_row

__all__ = ["Event"]

logger: logging.Logger = logging.getLogger("wsgiauth")

_PLAIN = re.compile(r"(?!-$)[\w.:/-]+", re.ASCII)  # a single dash means None


class Event(NamedTuple):
    """An event of an account.

    Attributes:
        name: The name; docs/events.md lists them.
        time: When it happened, in UTC.
        user_id: The account, or None if there is none or it is unknown.
        address: The client's address, from REMOTE_ADDR; None outside a request, and while a
            response is streamed after its request.
        reason: The cause or the detail; None if the name is enough.
        actor: Who did it: `user 7`, `user 7 key 4fD8…` (by an API key), `command line ada` (the
            system's user), `code`, or `other app` (which registers itself); None for a refused
            attempt of an anonymous client.
    """

    name: str
    time: datetime
    user_id: int | None
    address: str | None
    reason: str | None
    actor: str | None = None

    def __str__(self) -> str:
        """Return the event as one line of `key=value` pairs, with quoted values where needed."""
        fields = self._asdict()
        pairs = {"time": utc_text(fields.pop("time")), "event": fields.pop("name"), **fields}
        return " ".join(f"{key}={_quoted(value)}" for key, value in pairs.items())


Subscriber = Callable[[Event], object]
Recorder = Callable[[Event, Mapping[str, str]], object]  # also gets the `details` of `emit`

# By database, so that a site gets only the events of its own accounts, also outside requests.
_subscribers: WeakKeyDictionary[peewee.Database, tuple[Subscriber, ...]] = WeakKeyDictionary()
_recorders: WeakKeyDictionary[peewee.Database, tuple[Recorder, ...]] = WeakKeyDictionary()


def subscribe(database: peewee.Database, subscribers: Iterable[Subscriber]) -> None:
    """Call `subscribers` for every event of the accounts in `database`."""
    _subscribers[database] = tuple(subscribers)


def subscribe_once(database: peewee.Database, subscriber: Subscriber) -> None:
    """Call `subscriber`, too, for every event of the accounts in `database`."""
    current = _subscribers.get(database, ())
    if subscriber not in current:
        _subscribers[database] = (*current, subscriber)


def record(database: peewee.Database, recorders: Iterable[Recorder]) -> None:
    """Call `recorders` in the transaction of each change of the accounts in `database`.

    An exception in one of them fails the change.
    """
    _recorders[database] = tuple(recorders)


def emit(
    kind: EventKind,
    *,
    user_id: int | None = None,
    reason: str | None = None,
    details: Mapping[str, str] | None = None,
    remedy: str = "",
) -> None:
    """Record an event, log it in one line and call the subscribers.

    Call this in the transaction of the change, so that both are committed together; without one,
    the trail and the emails of recorders have their own. The log and the subscribers get the event
    after the commit, and never after a rollback. A `RefusedAttempt` is not recorded, and is logged
    immediately.

    Args:
        kind: One that the kernel or a feature declares.
        user_id: The account.
        reason: The cause or the detail. Never anything that a client sent.
        details: Further values for recorders alone.
        remedy: What an operator can do, for the log alone; for a `RefusedAttempt`.

    Example:
        with database.atomic():
            Badge.create(user=user, name="kind")
            emit(BADGE_GIVEN, user_id=user.id, reason="kind")
    """
    is_change = isinstance(kind, Change)
    chosen = storage.current_or_none() if is_change else context.database()
    actor = actors.current(chosen, user_id if is_change else None)
    event = Event(kind.name, utc_now(), user_id, context.client_address(), reason, actor)
    if chosen is None or not is_change:
        _deliver(event, kind, chosen, remedy)
        return
    _record(event, kind, chosen, details or {})


@repeated_after_conflict
def _record(
    event: Event, kind: EventKind, database: peewee.Database, details: Mapping[str, str]
) -> None:
    with nullcontext() if database.in_transaction() else database.atomic():
        _write(event)
        for recorder in _recorders.get(database, ()):
            recorder(event, details)
        database.after_commit(lambda: _deliver(event, kind, database))


def _deliver(
    event: Event, kind: EventKind, database: peewee.Database | None, remedy: str = ""
) -> None:
    fields = {name: getattr(event, name) for name in ("user_id", "address", "reason", "actor")}
    extra, end = {"event": event.name, **fields}, ""
    if remedy:
        extra["remedy"], end = remedy, f" remedy={_quoted(remedy)}"
    logger.log(kind.level, "%s%s", event, end, extra=extra)
    if database is None:
        return
    with context.using(database), actors.acting(actors.CODE):
        for subscriber in _subscribers.get(database, ()):
            try:
                subscriber(event)
            except Exception:
                logger.exception("a subscriber failed on the event %s", event.name)
        if isinstance(kind, Change):
            models.purge_some_events(database, event.time.timestamp())


def _write(event: Event) -> None:
    """Write an event to the audit trail, in the transaction of its change."""
    actor, system_user = actors.split(event.actor)
    insert_row(
        models.RecordedEvent,
        time=int(event.time.timestamp()),
        name=event.name,
        user_id=event.user_id,
        actor=actor,
        system_user=models.printable(system_user),
        address=models.printable(event.address),
        reason=event.reason,
    )


def _quoted(value: object) -> str:
    """Return `value` in a form that cannot end the line or add another pair."""
    if value is None:
        return "-"
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
