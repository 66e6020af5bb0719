"""Read the audit trail, a page at a time or as it grows.

A page costs the same however long the trail is: each of `user_id`, `actor` and `name` has an index
in the order of the pages. With several of them, the database uses one index and skips rows.
"""

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import peewee

from wsgiauth import storage
from wsgiauth.events import Event, actors
from wsgiauth.events.models import RecordedEvent

PAGE = 500  # events per query of a stream

# How many polls look for an event again: of concurrent changes, the one with the lower id can be
# committed later.
LATE_POLLS = 10


class Position(NamedTuple):
    """The place of an event in the trail."""

    time: int  # seconds since the epoch
    id: int  # of its row


class Entry(NamedTuple):
    """An event of the trail, and its place."""

    position: Position
    event: Event


class Filters(NamedTuple):
    """Which events to read; None does not filter."""

    user_id: int | None = None
    # As in `Event.actor`; `command line` is every user of the system, `user 7` also by API keys.
    actor: str | None = None
    name: str | None = None
    since: datetime | None = None  # inclusive
    until: datetime | None = None  # exclusive


ALL = Filters()


def page(filters: Filters = ALL, *, after: Position | None = None, size: int = 50) -> list[Entry]:
    """Return a page of at most `size` events, the newest first, `after` that of a previous page."""
    query = _matching(filters)
    if after is not None:
        earlier = (RecordedEvent.time < after.time) | (RecordedEvent.id < after.id)
        query = query.where(RecordedEvent.time <= after.time, earlier)
    return _entries(_newest_first(query, filters).limit(size))


def stream(filters: Filters = ALL, *, last: int | None = None) -> Iterator[list[Entry]]:
    """Yield pages of all events, or of the `last` ones, the oldest first, in constant memory."""
    query = _matching(filters)
    oldest_first = query.order_by(*_order(filters))
    first = None if last is None else _newest_first(query, filters).offset(last - 1).first()
    if first is not None:
        later = (RecordedEvent.time > first.time) | (RecordedEvent.id >= first.id)
        oldest_first = oldest_first.where(RecordedEvent.time >= first.time, later)
    found = oldest_first
    while entries := _entries(found.limit(PAGE)):
        yield entries
        if len(entries) < PAGE:
            return
        (time, row_id), _ = entries[-1]
        later = (RecordedEvent.time > time) | (RecordedEvent.id > row_id)
        found = oldest_first.where(RecordedEvent.time >= time, later)


class Follower:
    """Reads the events that are committed after it was made, each of them once."""

    def __init__(self, filters: Filters = ALL) -> None:
        self._filters = filters
        self._ends = deque([_newest_id()], maxlen=LATE_POLLS)
        self._seen: set[int] = set()

    def skip(self, entries: list[Entry]) -> None:
        """Leave out events that were read in another way."""
        ids = {entry.position.id for entry in entries}
        self._seen |= {each for each in ids if each > self._ends[0]}

    def poll(self) -> list[Entry]:
        """Return the events that were committed since the last poll."""
        recent = _matching(self._filters).where(RecordedEvent.id > self._ends[0])
        self._ends.append(_newest_id())  # before the rows are read, so that none is passed over
        entries = _entries(recent.order_by(RecordedEvent.id))
        further = [each for each in entries if each.position.id not in self._seen]
        self._seen = {each for each in self._seen if each > self._ends[0]}
        self.skip(further)
        return further


def _newest_id() -> int:
    return RecordedEvent.select(peewee.fn.MAX(RecordedEvent.id)).scalar() or 0


def _newest_first(query: Any, filters: Filters) -> Any:
    return query.order_by(*(each.desc() for each in _order(filters)))


def _order(filters: Filters) -> list[Any]:
    """Return the columns of the order; MariaDB needs the filtered one to read its index."""
    names = ("user_id", "actor", "name") if _is_mariadb() else ()
    filtered = [
        getattr(RecordedEvent, each) for each in names if getattr(filters, each) is not None
    ]
    return [*filtered[:1], RecordedEvent.time, RecordedEvent.id]


def _equals(column: Any, value: object) -> Any:
    # By an equal column alone, MariaDB reads all its newer rows, too; a range includes the time.
    return (column >= value) & (column <= value) if _is_mariadb() else column == value


def _is_mariadb() -> bool:
    return isinstance(storage.current(), peewee.MySQLDatabase)


def _matching(filters: Filters) -> Any:
    query = RecordedEvent.select()
    if filters.user_id is not None:
        query = query.where(_equals(RecordedEvent.user_id, filters.user_id))
    if filters.actor is not None:
        actor, system_user = actors.split(filters.actor)
        query = query.where(_equals(RecordedEvent.actor, actor))
        if system_user is not None:
            query = query.where(RecordedEvent.system_user == system_user)
    if filters.name is not None:
        query = query.where(_equals(RecordedEvent.name, filters.name))
    if filters.since is not None:
        query = query.where(RecordedEvent.time >= int(filters.since.timestamp()))
    if filters.until is not None:
        query = query.where(RecordedEvent.time < int(filters.until.timestamp()))
    return query


def _entries(query: Any) -> list[Entry]:
    return [Entry(Position(row.time, row.id), _event(row)) for row in query]


def _event(row: RecordedEvent) -> Event:
    actor = row.actor if row.system_user is None else f"{row.actor} {row.system_user}"
    time = datetime.fromtimestamp(row.time, UTC)
    return Event(row.name, time, row.user_id, row.address, row.reason, actor)
