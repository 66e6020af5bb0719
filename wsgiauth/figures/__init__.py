"""Figures of a site, such as the number of users, for metrics and for the staff panel.

The kernel and each feature declare theirs. All come from the database, so every process has the
same. They are counted together, at most once in `KEPT` seconds by a process, and the count is
cancelled after `LIMIT` seconds: then the figures that it has not reached keep their last values,
and are the first ones of the next count. Those that took too long are its last ones.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from wsgiauth import storage
from wsgiauth.storage.connections import AccountDatabase, TimeLimitError

KEPT = 15  # seconds
LIMIT = 2.0  # seconds for all figures together

Value = float | Mapping[str, float]  # by the value of the label, if the figure has one


class Figure(NamedTuple):
    """A figure of the database.

    Attributes:
        name: Its name as a metric, without the prefix `wsgiauth_`.
        meaning: A sentence, for Prometheus.
        measure: Returns the value; gets the time in seconds since the epoch.
        label: The name of the label by whose values `measure` returns numbers; "": it returns one.

    Example:
        figure = Figure("badges", "Badges that users have.", lambda now: Badge.select().count())
    """

    name: str
    meaning: str
    measure: Callable[[int], Value]
    label: str = ""


class Waiting(NamedTuple):
    """The messages of a queue that wait to be sent.

    Example:
        def count_waiting() -> Waiting:
            return Waiting(number=0, oldest=None)
    """

    number: int
    oldest: int | None  # when the oldest began to wait, in seconds since the epoch


class Reading(NamedTuple):
    """The values of figures, by name; a figure that was never counted in time is missing."""

    values: Mapping[str, Value]
    age: float  # seconds since the oldest of them was counted


class _Counted(NamedTuple):
    value: Value
    at: float  # of `time.monotonic`


class Figures:
    """Counts the figures of a site.

    Args:
        clock: Returns the seconds since the epoch.
        monotonic: Returns seconds that never go back.
    """

    def __init__(
        self,
        declared: Iterable[Figure],
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.declared: tuple[Figure, ...] = tuple(declared)
        self.now = clock
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._counted: dict[str, _Counted] = {}
        self._began_at: float | None = None  # the last count that succeeded
        self._tried_at: dict[str, float] = {}  # by the name of the figure
        self._slow: set[str] = set()  # those that took too long when they were last tried
        self._is_counting = False

    def read(self) -> Reading:
        """Return the figures; while another thread counts, the last ones.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        with self._changed:
            if self._is_counting and self._began_at is None:
                self._changed.wait_for(lambda: not self._is_counting, LIMIT)
            if self._is_counting or self._is_fresh():
                return self._reading()
            self._is_counting = True
        began_at = self._monotonic()
        try:
            found = self._count(began_at + LIMIT)
        except BaseException:
            with self._changed:
                self._is_counting = False
                self._changed.notify_all()
            raise
        with self._changed:
            self._is_counting = False
            self._began_at = began_at
            self._counted |= found
            self._changed.notify_all()
            return self._reading()

    def _is_fresh(self) -> bool:
        return self._began_at is not None and self._monotonic() - self._began_at < KEPT

    def _reading(self) -> Reading:
        oldest = min((each.at for each in self._counted.values()), default=self._monotonic())
        values = {name: each.value for name, each in self._counted.items()}
        return Reading(values, self._monotonic() - oldest)

    def _count(self, end: float) -> dict[str, _Counted]:
        found: dict[str, _Counted] = {}
        opened: AccountDatabase = storage.current()  # type: ignore[assignment]
        for figure in sorted(self.declared, key=self._place):
            began_at = self._monotonic()
            if began_at >= end:
                break
            self._tried_at[figure.name] = began_at
            self._slow.add(figure.name)
            with suppress(TimeLimitError), opened.time_limit(end - began_at):
                found[figure.name] = _Counted(figure.measure(int(self.now())), began_at)
                self._slow.discard(figure.name)
        return found

    def _place(self, figure: Figure) -> tuple[bool, float]:
        """Return what orders the figures: the slow ones last, and those first that wait longest."""
        return figure.name in self._slow, self._tried_at.get(figure.name, -math.inf)


def figures_of_waiting(
    queues: Mapping[str, Callable[[], Waiting]],
) -> list[Figure]:
    """Return the figures about the messages that wait to be sent, by queue."""

    def numbers(_now: int) -> Value:
        return {name: count().number for name, count in queues.items()}

    def ages(now: int) -> Value:
        oldest = {name: count().oldest for name, count in queues.items()}
        return {name: 0 if at is None else max(now - at, 0) for name, at in oldest.items()}

    return [
        Figure("waiting", "Messages that wait to be sent, by queue.", numbers, "queue"),
        Figure(
            "oldest_waiting_seconds",
            "Seconds since the oldest waiting message was made, by queue; 0: none waits.",
            ages,
            "queue",
        ),
    ]
