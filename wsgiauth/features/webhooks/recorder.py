"""The recorder, which writes the rows of webhooks in the transaction of each change."""

import time
import weakref
from collections.abc import Callable, Mapping
from typing import NamedTuple

from wsgiauth import storage
from wsgiauth.events import Event
from wsgiauth.features.webhooks import rows
from wsgiauth.features.webhooks.bodies import body_of
from wsgiauth.features.webhooks.failures import TOO_MANY, Failures
from wsgiauth.features.webhooks.queue import Webhooks
from wsgiauth.features.webhooks.receivers import receivers_of
from wsgiauth.settings import Settings

MOST = 100_000  # rows of a URL that wait
# Ten processes can each insert a tenth of what is left before they count again.
PROCESSES = 10
MARGIN = 100  # of such a tenth that is never used, so that a full table is not counted each time
RECOUNT = 10  # seconds
FULL_FOR = 1  # seconds without a count after one that found no room


class WebhookRecorder:
    """Inserts a row for each URL that gets an event.

    Without a queue, as of a command, another process sends them.
    """

    def __init__(self, settings: Settings, queue: Webhooks | None) -> None:
        # A weak reference, because the thread of the queue ends with the queue: see `worker`.
        self._queue: Callable[[], Webhooks | None] = (
            weakref.ref(queue) if queue is not None else lambda: None
        )
        self._receivers = [*receivers_of(settings).values()]
        self._has_emails = settings.WEBHOOK_EMAILS
        self._failures = Failures() if queue is None else queue.failures
        self._room = Room()

    def __call__(self, event: Event, details: Mapping[str, str]) -> None:
        """Insert the rows of an event; without room for a URL, report that it gets none."""
        receivers = [each for each in self._receivers if each.gets(event.name)]
        if not receivers:
            return
        queue = self._queue()
        now = int(time.time() if queue is None else queue.now())
        fitting = [each for each in receivers if self._room.has_room(each.destination, now)]
        full = [each.host for each in receivers if each not in fitting]
        if full:
            storage.current().after_commit(lambda: self._report(full, now))
        if not fitting:
            return
        body = body_of(event, details, has_emails=self._has_emails)
        rows.insert([each.destination for each in fitting], event.name, body, now)
        if queue is not None:
            queue.wake_after_commit()

    def _report(self, hosts: list[str], now: int) -> None:
        for host in hosts:
            self._failures.add(host, TOO_MANY, now)


class Room:
    """Decides whether another row of a URL fits below `MOST`, with few counts.

    To count 100,000 rows in each change would take longer than the change. Threads of a process
    can count at the same time, and then insert a few rows more.
    """

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}  # by destination

    def has_room(self, destination: str, now: float) -> bool:
        """Return whether a row fits, and reckon with it."""
        last = self._counts.get(destination)
        if last is None or not last.holds(now):
            share = (MOST - rows.count_waiting(destination, MOST)) // PROCESSES
            last = _Count(now, share if share > MARGIN else 0)
        self._counts[destination] = last._replace(left=last.left - 1)
        return last.left > 0


class _Count(NamedTuple):
    """The last count of a URL.

    Attributes:
        left: How many more rows this process inserts before the next one; negative: there was none.
    """

    at: float
    left: int

    def holds(self, now: float) -> bool:
        return self.left != 0 and 0 <= now - self.at < (RECOUNT if self.left > 0 else FULL_FOR)
