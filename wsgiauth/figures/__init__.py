"""Figures of a site, such as the number of users, for metrics and for the staff panel.

The kernel and each feature declare theirs. All come from the database, so every process has the
same. They are counted together, at most once in `KEPT` seconds by a process, and the count is
cancelled after `LIMIT` seconds: then the figures that it has not reached keep their last values.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
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
    """

    name: str
    meaning: str
    measure: Callable[[int], Value]
    label: str = ""


class Waiting(NamedTuple):
    """What waits to be sent."""

    number: int
    oldest: int | None  # when the oldest was due first, in seconds since the epoch


class Reading(NamedTuple):
    """The values of figures, by name; a figure that could not be counted in time is missing."""

    values: Mapping[str, Value]
    age: float  # seconds since they were counted


class Figures:
    """Counts the figures of a site."""

    def __init__(
        self, declared: Iterable[Figure], *, clock: Callable[[], float] = time.time
    ) -> None:
        self.declared: tuple[Figure, ...] = tuple(declared)
        self.now = clock
        self._changed = threading.Condition()
        self._values: dict[str, Value] = {}
        self._counted_at: float | None = None  # of `time.monotonic`
        self._is_counting = False

    def read(self) -> Reading:
        """Return the figures; while another thread counts, the last ones.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        with self._changed:
            if self._counted_at is None and self._is_counting:
                self._changed.wait_for(lambda: not self._is_counting, LIMIT)
            age = self._age()
            if self._is_counting or (age is not None and age < KEPT):
                return Reading(self._values, age or 0)
            self._is_counting = True
        found: dict[str, Value] = {}
        try:
            self._count_into(found)
        finally:
            with self._changed:
                self._is_counting = False
                if found:
                    self._values = {**self._values, **found}
                    self._counted_at = time.monotonic()
                self._changed.notify_all()
        return Reading(self._values, 0)

    def _age(self) -> float | None:
        return None if self._counted_at is None else time.monotonic() - self._counted_at

    def _count_into(self, found: dict[str, Value]) -> None:
        end = time.monotonic() + LIMIT
        opened: AccountDatabase = storage.current()  # type: ignore[assignment]
        for figure in self.declared:
            left = end - time.monotonic()
            if left <= 0:
                return
            try:
                with opened.time_limit(left):
                    found[figure.name] = figure.measure(int(self.now()))
            except TimeLimitError:
                return


def figures_of_waiting(
    queues: Mapping[str, Callable[[], Waiting]],
) -> list[Figure]:
    """Return the figures about what waits to be sent, by queue."""

    def numbers(_now: int) -> Value:
        return {name: count().number for name, count in queues.items()}

    def ages(now: int) -> Value:
        oldest = {name: count().oldest for name, count in queues.items()}
        return {name: 0 if at is None else max(now - at, 0) for name, at in oldest.items()}

    return [
        Figure("waiting", "Messages that wait to be sent.", numbers, "queue"),
        Figure(
            "oldest_waiting_seconds",
            "For how long the oldest of these messages waits.",
            ages,
            "queue",
        ),
    ]
