"""How many events of each kind happened in each minute, refused attempts included.

A process counts in memory, and a thread of its own adds the numbers to the table every few seconds:
a flood of refusals changes no row that a login would wait for. A process that is killed loses the
last seconds. A command adds its numbers when it ends.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import peewee

from wsgiauth import storage
from wsgiauth.events import Event
from wsgiauth.mail.worker import Queue
from wsgiauth.storage.connections import DATABASE_ERRORS, discard_connection, reason_of
from wsgiauth.storage.models import Model
from wsgiauth.storage.statements import Statement, given, insert_or_ignore, is_given

MINUTE, HOUR = 60, 3600  # seconds
INTERVAL = 10  # seconds between two additions
KEPT = 48 * HOUR

logger = logging.getLogger("wsgiauth")


class EventCount(Model):
    """The number of events of one name in one minute."""

    minute: peewee.BigIntegerField[int] = peewee.BigIntegerField()  # since the epoch
    name: peewee.CharField[str] = peewee.CharField(max_length=32)
    count: peewee.BigIntegerField[int] = peewee.BigIntegerField()

    class Meta:
        table_name = "wsgiauth_event_count"
        primary_key = peewee.CompositeKey("minute", "name")


class Tally:
    """The numbers of events that this process has not added to the table yet; a subscriber."""

    _lock: threading.Lock
    _numbers: Counter[tuple[int, str]]

    def __init__(self) -> None:
        _tallies.add(self)
        self.forget()

    def __call__(self, event: Event) -> None:
        """Count an event."""
        with self._lock:
            self._numbers[int(event.time.timestamp()) // MINUTE, event.name] += 1

    def __bool__(self) -> bool:
        """Return whether there is anything to add."""
        return bool(self._numbers)

    def flush(self) -> None:
        """Add the numbers to the table; numbers that it does not take stay."""
        with self._lock:
            added, self._numbers = self._numbers, Counter()
        try:
            for (minute, name), number in sorted(added.items()):
                add(minute, name, number)
                del added[minute, name]
        finally:
            with self._lock:
                self._numbers.update(added)

    def forget(self) -> None:
        """Forget the numbers and the lock: after a fork, the parent adds the numbers."""
        self._lock = threading.Lock()
        self._numbers = Counter()


_tallies: weakref.WeakSet[Tally] = weakref.WeakSet()


class EventCounts(Queue):
    """Counts the events of a site, as a subscriber; see `events.subscribe`."""

    name = "counts"
    content = "counts of events"

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.now = clock  # seconds since the epoch
        self.tally = Tally()
        self._due_at = self._purged_at = 0.0
        self._is_serving = False  # whether threads can start: see `Queue.start`

    def start(self) -> None:
        """Start the thread at the first request, or at the first event after it."""
        if not self._is_serving:
            self._is_serving = True
            if self.tally:
                super().start()

    def __call__(self, event: Event) -> None:
        """Count an event."""
        is_first = not self.tally
        self.tally(event)
        if is_first:
            self._due_at = self.now() + INTERVAL
            if self._is_serving:
                self._wake(storage.current())

    def deliver(self) -> float | None:
        """Add the numbers, if they are due or the process ends; return the seconds until then."""
        if not self.tally:
            return None
        wait = self._due_at - self.now()
        if 0 < wait <= INTERVAL and not self.is_finishing():
            return wait
        self._due_at = self.now() + INTERVAL  # of numbers that the table does not take
        try:
            self.tally.flush()
        except DATABASE_ERRORS as error:  # requests report that the database is away
            logger.warning("events are not counted for now: %s", reason_of(error))
            discard_connection(storage.current())
            return MINUTE
        if not 0 <= self.now() - self._purged_at < HOUR:
            purge(self.now())
            self._purged_at = self.now()
        return None


_ADD = Statement(
    lambda: EventCount.update(count=EventCount.count + given(EventCount.count)).where(
        is_given(EventCount.minute), is_given(EventCount.name)
    )
)


def add(minute: int, name: str, number: int) -> None:
    """Add to the number of events of a name in a minute.

    Outside a transaction, in which MariaDB's UPDATE of a missing row would lock a gap: processes
    that begin a minute at the same time would deadlock.
    """
    row = {"minute": minute, "name": name, "count": number}
    if not (_ADD.execute(**row) or insert_or_ignore(EventCount, **row)):
        _ADD.execute(**row)  # another process was faster


def by_name(since: int, until: int) -> dict[str, int]:
    """Return the numbers of events by name, in whole minutes; costs one SELECT.

    Args:
        since, until: Seconds since the epoch. The clock of another host can be ahead.
    """
    total = peewee.fn.SUM(EventCount.count)
    rows: Any = EventCount.select(EventCount.name, total).where(
        EventCount.minute.between(since // MINUTE, until // MINUTE + 1)
    )
    return {name: int(number) for name, number in rows.group_by(EventCount.name).tuples()}


def by_hour(names: Collection[str], now: int, hours: int = 24) -> list[dict[str, int]]:
    """Return the numbers of events of the last hours, the present one last, by name."""
    first = now // HOUR - hours + 1
    rows: Any = EventCount.select(EventCount.minute, EventCount.name, EventCount.count).where(
        EventCount.minute >= first * 60, EventCount.name.in_([*names])
    )
    found: list[dict[str, int]] = [dict.fromkeys(names, 0) for _ in range(hours)]
    for minute, name, number in rows.tuples():
        hour = minute // 60 - first
        if hour < hours:  # the clock of another host can be ahead
            found[hour][name] += int(number)
    return found


def purge(now: float) -> None:
    """Delete the counts that are too old."""
    oldest = int(now - KEPT) // MINUTE
    EventCount.delete().where(EventCount.minute < oldest).execute()


def _forget_numbers() -> None:  # pragma: no cover - tested in a process that ends at once
    for tally in list(_tallies):
        tally.forget()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    os.register_at_fork(after_in_child=_forget_numbers)
