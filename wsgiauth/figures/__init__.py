"""Figures of a site, such as the number of users, for metrics and for the staff panel.

The kernel and each feature declare theirs. All come from the database, so every process has the
same. They are counted together, at most once in `KEPT` seconds by a process, and the count is
cancelled after `LIMIT` seconds: then the figures that it has not reached keep their last values,
and are the first ones of the next count. Those that took too long are its last ones.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from wsgiauth import storage
from wsgiauth.events.actors import checked, feature_code
from wsgiauth.parts import KERNEL
from wsgiauth.storage.connections import AccountDatabase, TimeLimitError

KEPT = 15  # seconds
LIMIT = 2.0  # seconds for all figures together

Value = float | Mapping[str, float]  # by the value of the label, if the figure has one


# Further metrics, of the answering process; `requests` is the family of the second one.
OF_PROCESS = (
    "hash_slots_free",
    "requests_total",
    "requests",
    "process_start_time_seconds",
    "figures_age_seconds",
)


class Figure(NamedTuple):
    """A figure of the database.

    Attributes:
        name: Its name as a metric, without the prefix `wsgiauth_`.
        meaning: A sentence, for Prometheus.
        measure: Returns the value; gets the time in seconds since the epoch.
        label: The name of the label by whose values `measure` returns numbers; "": it returns one.
        adds: A value of the label, if `measure` returns its number alone, for a figure of the same
            name.
        feature: The name of its feature, which wsgiauth knows.

    Example:
        figure = Figure("badges", "Badges that users have.", lambda now: Badge.select().count())
    """

    name: str
    meaning: str
    measure: Callable[[int], Value]
    label: str = ""
    adds: str = ""
    feature: str = KERNEL


class Waiting(NamedTuple):
    """The messages of a queue that wait to be sent.

    Example:
        def count_waiting() -> Waiting:
            return Waiting(number=0, oldest=None)
    """

    number: int
    oldest: int | None  # when the oldest began to wait, in seconds since the epoch


class WaitingCount(NamedTuple):
    """What counts the messages of a queue."""

    queue: str
    waiting: Callable[[], Waiting]
    feature: str  # its name


class Reading(NamedTuple):
    """The values of figures, by name; missing are those never counted in time, or that failed."""

    values: Mapping[str, Value]
    age: float  # seconds since the oldest of them was counted


class _Counted(NamedTuple):
    value: Value
    at: float  # of `time.monotonic`


_Key = tuple[str, str]


def _key(figure: Figure) -> _Key:
    return figure.name, figure.adds


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
        self._measured = tuple(declared)
        by_name = {each.name: each for each in self._measured}
        self.declared: tuple[Figure, ...] = tuple(by_name.values())
        self.now = clock
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._counted: dict[_Key, _Counted] = {}
        self._began_at: float | None = None  # the last count that succeeded
        self._tried_at: dict[_Key, float] = {}
        self._slow: set[_Key] = set()  # those that took too long when they were last tried
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
            self._counted = found
            self._changed.notify_all()
            return self._reading()

    def _is_fresh(self) -> bool:
        return self._began_at is not None and self._monotonic() - self._began_at < KEPT

    def _reading(self) -> Reading:
        oldest = min((each.at for each in self._counted.values()), default=self._monotonic())
        values: dict[str, Any] = {}
        for (name, adds), each in sorted(self._counted.items()):  # those that add nothing first
            values[name] = {**values.get(name, {}), adds: each.value} if adds else each.value
        return Reading(values, self._monotonic() - oldest)

    def _count(self, end: float) -> dict[_Key, _Counted]:
        """Return the new values, and the last ones of figures that take too long."""
        found = dict(self._counted)
        opened: AccountDatabase = storage.current()  # type: ignore[assignment]
        for figure in sorted(self._measured, key=self._place):
            key, began_at = _key(figure), self._monotonic()
            if began_at >= end:
                break
            self._tried_at[key] = began_at
            self._slow.add(key)
            with (
                feature_code(figure.feature, f"the figure {figure.name}") as outcome,
                suppress(TimeLimitError),
                opened.time_limit(end - began_at),
            ):
                value = _checked(figure, figure.measure(int(self.now())))
                found[key] = _Counted(value, began_at)
                self._slow.discard(key)
            if outcome.error is not None:
                found.pop(key, None)
        return found

    def _place(self, figure: Figure) -> tuple[bool, float]:
        """Return what orders the figures: the slow ones last, and those first that wait longest."""
        key = _key(figure)
        return key in self._slow, self._tried_at.get(key, -math.inf)


def _checked(figure: Figure, value: Any) -> Value:
    """Return a value that can be shown: a finite number, or several by the label."""
    checked(Figure, figure)
    if not figure.label or figure.adds:
        return _finite(value)
    return {checked(str, name): _finite(each) for name, each in {**value}.items()}


def _finite(value: object) -> float:
    if not (isinstance(value, int | float) and math.isfinite(value)):
        raise TypeError(f"a figure must be a finite number, not {value!r}")
    return value


def figures_of_waiting(queues: Iterable[WaitingCount]) -> Iterator[Figure]:
    """Yield the figures about the messages that wait to be sent, by queue."""
    numbers = Figure("waiting", "Messages that wait to be sent, by queue.", _none, "queue")
    ages = Figure(
        "oldest_waiting_seconds",
        "Seconds since the oldest waiting message was made, by queue; 0: none waits.",
        _none,
        "queue",
    )
    yield from (numbers, ages)
    for queue, waiting, feature in queues:
        for figure, measure in ((numbers, _number), (ages, _age)):
            part = partial(measure, waiting)
            yield figure._replace(measure=part, adds=queue, feature=feature)


def _none(_now: int) -> Value:
    return {}


def _number(waiting: Callable[[], Waiting], _now: int) -> Value:
    return waiting().number


def _age(waiting: Callable[[], Waiting], now: int) -> Value:
    oldest = waiting().oldest
    return 0 if oldest is None else max(now - oldest, 0)
