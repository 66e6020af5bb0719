"""Queues of rows that go to other servers, each by one request.

One thread reads and changes the rows. Requests have threads of their own, without the database, so
that no server waits for another one. A server that answers quickly goes before all that failed or
were slow, so it waits for them at most until one of the requests ends.

Delivery is at least once, as of emails: see `mail.outbox`.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

from wsgiauth import storage
from wsgiauth.mail.worker import Queue

SLOW = 1  # seconds; a destination that takes as long is asked after those that do not
PARALLEL = 10  # requests, each to another destination
POLL = 1  # seconds after which a thread that waits for answers looks for other rows

CONNECTION = "connection"  # the reason if there is none of `outgoing`

_Row = TypeVar("_Row")


class _Answer(NamedTuple, Generic[_Row]):
    """How a request has ended: with a status, or without one for a reason."""

    row: _Row
    destination: str
    result: int | str
    begun_at: float


class PostingQueue(Queue, Generic[_Row]):
    """Sends the rows that are due, by requests to their destinations.

    Attributes:
        rest: Seconds for which a destination that failed gets nothing else.
        now: The clock, in seconds since the epoch.
    """

    rest: int

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self.now = clock
        # By destination, until it answers quickly; in the past, it only goes after others.
        self._rest_until: dict[str, float] = {}

    @abstractmethod
    def due(self) -> Iterable[tuple[str, int]]:
        """Return the destinations with rows that are due, and since when the oldest row is due."""

    @abstractmethod
    def oldest_due(self, destination: str) -> _Row | None:
        """Return the row of a destination that is due for longest."""

    @abstractmethod
    def claim(self, row: _Row) -> bool:
        """Compare and set; return whether this process sends the row."""

    @abstractmethod
    def request_of(self, row: _Row) -> Callable[[], int] | None:
        """Return what sends a claimed row, and returns the status; None: the row has ended.

        It runs in another thread, and can raise `outgoing.OutgoingError`.
        """

    @abstractmethod
    def answered(self, row: _Row, result: int | str) -> bool:
        """Delete or change the row of a request that has ended; return whether it has failed.

        Args:
            result: The status, or why there is none.
        """

    @abstractmethod
    def next_due(self, resting: Mapping[str, float]) -> float | None:
        """Return when the next row can be sent; None: no row waits.

        Args:
            resting: Until when destinations rest.
        """

    @abstractmethod
    def find_further(self) -> bool:
        """Look for other work when no row is due; return whether rows can be due now."""

    def deliver(self) -> float | None:
        """Send every row that is due; return the seconds until the next one, or None.

        At most `PARALLEL` destinations have a request, and each at most one. The thread that is
        stopped only waits for these.
        """
        asked: set[str] = set()
        answers: SimpleQueue[_Answer[_Row]] = SimpleQueue()
        while True:
            is_stopped = self.is_stopped()
            chosen = [] if is_stopped else self._next(asked)
            for destination, row in chosen:
                if self.claim(row) and self._send(destination, row, answers):
                    asked.add(destination)
            if not chosen and not is_stopped and self.find_further():
                continue
            if asked:
                self._wait(asked, answers)
            elif not chosen:
                break
        next_due = self.next_due(self._resting())
        return None if next_due is None else max(next_due - self.now(), 0)

    def _resting(self) -> dict[str, float]:
        """Return the destinations that failed a short time ago, and until when they rest."""
        now = self.now()
        # The clock can be set back.
        return {
            name: until for name, until in self._rest_until.items() if 0 < until - now <= self.rest
        }

    def _next(self, asked: Collection[str]) -> list[tuple[str, _Row]]:
        """Return rows for the requests that can begin: of quick destinations first."""
        without = {*asked, *self._resting()}
        due = [
            (self._rest_until.get(destination, 0), due_at, destination)
            for destination, due_at in self.due()
            if destination not in without
        ]
        chosen = [destination for _, _, destination in sorted(due)[: PARALLEL - len(asked)]]
        rows = [(destination, self.oldest_due(destination)) for destination in chosen]
        return [(destination, row) for destination, row in rows if row is not None]

    def _send(self, destination: str, row: _Row, answers: "SimpleQueue[_Answer[_Row]]") -> bool:
        """Begin the request of a claimed row; return whether there is one."""
        send, begun_at = self.request_of(row), self.now()
        if send is None:
            return False

        def request() -> None:
            # Not before it is needed: http.client and ssl take two megabytes.
            from wsgiauth.outgoing import OutgoingError

            result: int | str = CONNECTION
            try:
                result = send()
            except OutgoingError as error:
                result = str(error)
            finally:
                answers.put(_Answer(row, destination, result, begun_at))

        try:
            Thread(target=request, name=f"wsgiauth {self.name}", daemon=True).start()
        except RuntimeError:  # there are too many threads
            self._end(_Answer(row, destination, CONNECTION, begun_at))
            return False
        return True

    def _wait(self, asked: set[str], answers: "SimpleQueue[_Answer[_Row]]") -> None:
        """Wait for an answer, but look for other rows that are due now and then."""
        storage.release_connection(storage.current())  # the servers can take long
        with suppress(Empty):
            answer = answers.get(timeout=POLL)
            asked.remove(answer.destination)
            self._end(answer)

    def _end(self, answer: "_Answer[_Row]") -> None:
        """Note how a destination answers, and delete or change the row."""
        if self.now() - answer.begun_at < SLOW:
            self._rest_until.pop(answer.destination, None)
        else:
            self._rest_until[answer.destination] = self.now()
        if self.answered(answer.row, answer.result):
            self._rest_until[answer.destination] = self.now() + self.rest
