"""How many passwords are hashed at once: a login flood must not take the whole server.

bcrypt leaves the interpreter free and the processor full. Without a bound, a flood would put every
thread of the server into a hash, and every other route would wait for one.
"""

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import NoReturn

from wsgiauth import events
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.settings import Settings

RETRY_AFTER = 1  # seconds; a place is free again after one hash


class HashingPlaces:
    """Hands out the places in which a process hashes, in order of arrival.

    Who has nothing yet goes before who hashes already and would have a second place.

    An address may have no more than its share, hashing and waiting, so that a flood from one
    leaves places for the others. Behind a proxy that the server was not told of, all clients have
    one address and one share: see HASHING_PER_ADDRESS.

    Args:
        settings: `HASHING_THREADS`, `HASHING_QUEUE`, `HASHING_WAIT`, `HASHING_PER_ADDRESS`.
    """

    def __init__(self, settings: Settings) -> None:
        self._places = settings.HASHING_THREADS
        self._queue_length = settings.HASHING_QUEUE
        self._longest_wait = settings.HASHING_WAIT
        self._share: float = settings.HASHING_PER_ADDRESS or math.inf
        self._hashing: Counter[str] = Counter()
        self._queue: list[_Turn] = []
        self._changed = threading.Condition()

    def require_room(self, address: str) -> None:
        """Turn a request away for which there is neither a place nor one to wait in.

        Asked before its body is read. It reserves nothing, or a client could hold a place by
        sending slowly; `place` decides again.

        Raises:
            RetryLaterError: 503.
        """
        with self._changed:
            has_room = self._has_room(address)
        if not has_room:
            self._refuse(address)

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        """Hold a place while the body of the `with` statement hashes.

        Args:
            address: Whose request it is, as `addresses.client_network` names it.

        Raises:
            RetryLaterError: 503: no place was free, nor became so within HASHING_WAIT.
        """
        if not self._enter(address):
            self._refuse(address)
        try:
            yield
        finally:
            self._leave(address)

    def _enter(self, address: str) -> bool:
        with self._changed:
            if not self._is_roomy(address):
                displaced = self._second_of_another(address)
                if displaced is None:
                    return False
                self._queue.remove(displaced)
                self._changed.notify_all()
            turn = _Turn(address)
            self._queue.append(turn)
            try:
                self._changed.wait_for(
                    lambda: turn not in self._queue or self._next() is turn, self._longest_wait
                )
                entered = self._next() is turn
                if entered:
                    self._hashing[address] += 1
                return entered
            finally:  # also when a server's own timeout ends the wait
                if turn in self._queue:
                    self._queue.remove(turn)
                self._changed.notify_all()  # those behind are further ahead now

    def _leave(self, address: str) -> None:
        with self._changed:
            self._hashing[address] -= 1
            if not self._hashing[address]:
                del self._hashing[address]
            self._changed.notify_all()

    def _has_room(self, address: str) -> bool:
        return self._is_roomy(address) or self._second_of_another(address) is not None

    def _is_roomy(self, address: str) -> bool:
        free = self._places - self._hashing.total()
        about_to_hash = sum(map(self._may_hash, self._addresses()))
        if self._may_hash(address) and about_to_hash < free:
            return True
        waiting = self._addresses().count(address)
        return len(self._queue) < self._queue_length and waiting < self._share

    def _second_of_another(self, address: str) -> "_Turn | None":
        """Return who gives way to an address that has nothing yet: one that hashes already.

        Or else a few addresses, each hashing and waiting at once, would shut all others out.
        """
        if self._hashing[address] or address in self._addresses():
            return None
        return next((turn for turn in reversed(self._queue) if self._hashing[turn.address]), None)

    def _next(self) -> "_Turn | None":
        """Return whose turn it is: the first in the queue whose address has not its share."""
        if self._hashing.total() >= self._places:
            return None
        return next((turn for turn in self._queue if self._may_hash(turn.address)), None)

    def _may_hash(self, address: str) -> bool:
        return self._hashing[address] < self._share

    def _refuse(self, address: str) -> NoReturn:
        has_its_share = not self._may_hash(address)  # which HASHING_PER_ADDRESS decides
        events.emit("refused", reason="busy with this address" if has_its_share else "busy")
        raise RetryLaterError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "busy",
            "Too many people are logging in or registering. Try again in a few seconds.",
            seconds=RETRY_AFTER,
        )

    def _addresses(self) -> list[str]:
        return [turn.address for turn in self._queue]


class _Turn:
    """A request's place in the queue; two of one address are two."""

    def __init__(self, address: str) -> None:
        self.address = address
