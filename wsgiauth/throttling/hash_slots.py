"""How many passwords a process hashes at the same time, and in which order.

bcrypt releases the interpreter's lock and uses a whole processor. Without a limit, a flood of
logins would occupy every thread of the server, and every other page would wait.

**Why a flood does not lock out the owner of an account.** The order of logins depends on the recent
requests of the client and of the account, so a login requests a slot after its body was read:

- An IPv4 address, an IPv6 /64 and an IPv6 /48 hash `HASHING_PER_ADDRESS` passwords at a time, an
  account one. So one account that is used from many addresses leaves the other slots free.
- The login whose client and account made the fewest requests comes first, and displaces a waiting
  login with more requests. Refused requests count too, so a flood lowers its own priority. A client
  that floods and ignores Retry-After is refused before its request is read.
- A client that logged in to this account before is *known* and has a head start over strangers, so
  an attacker gains nothing from new addresses. The head start is a number of requests, so accounts
  that an attacker registers use it up. While known clients fill the slots, every fourth hash is a
  stranger's.

Not defended: an attacker with hundreds of IPv4 addresses delays strangers, whose order is then
random. An owner who shares the address of a flood is refused with it, as is an owner in its IPv6
/48 while the flood ignores Retry-After. A server needs more than twice as many threads as
HASHING_THREADS, for logins that hash and that wait; otherwise none is left for other pages.
"""

import heapq
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from wsgiauth import events
from wsgiauth.events import kinds
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.messages import _
from wsgiauth.settings import Settings

BUSY, BUSY_WITH_CLIENT = "busy", "busy with this address"  # reasons, in events
NO_MEMORY = "not enough memory"  # the same
LONGEST_WAIT = 4  # seconds for a slot; shorter than the time-outs of clients and proxies
RETRY_AFTER = 1  # seconds; a slot is free again after one hash
FLOOD = 100  # recent requests from which a client that ignores Retry-After is not read
HEAD_START = 5  # requests, added to a stranger's score
STRANGERS_TURN = 3  # hashes of known clients in a row, after which a stranger comes first
HALF_LIFE = 60  # seconds until a request counts half
MAX_KEYS = 10_000  # bounds memory: an IPv6 /32 has 65,536 /48 networks


@dataclass(frozen=True, eq=False)  # two claims of one client are distinct
class Claim:
    """A request for a slot, with its client and account."""

    networks: tuple[str, ...]  # see `clients.Clients.networks`
    account: str | None = None  # identifies it; None for a registration
    is_known: bool = False  # whether this client logged in to this account before

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the counts. A stranger's claim must not count against the account."""
        if self.is_known and self.account is not None:
            return self.networks[0], self.account
        return (self.networks[-1],)


class RecentUse:
    """Counts by key, each of which halves every `HALF_LIFE`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._weights: dict[str, tuple[float, float]] = {}

    def of(self, key: str) -> float:
        """Return the current weight of `key`."""
        weight, counted_at = self._weights.get(key, (0.0, 0.0))
        return weight * math.exp2((counted_at - self._clock()) / HALF_LIFE)

    def add(self, keys: Iterable[str]) -> None:
        """Add one to each key. Beyond `MAX_KEYS`, drop the half with the lowest weights."""
        for key in keys:
            self._weights[key] = self.of(key) + 1, self._clock()
        if len(self._weights) > MAX_KEYS:
            heaviest = heapq.nlargest(MAX_KEYS // 2, self._weights, key=self.of)
            self._weights = {key: self._weights[key] for key in heaviest}


class HashSlots:
    """Hands out the slots in which a process hashes passwords.

    `queue` is the number of requests that can wait; None for as many as hash, so that each slot has
    a successor and a wait is about as long as a hash. `clock` never goes back.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        queue: int | None = None,
        longest_wait: float = LONGEST_WAIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = settings.HASHING_THREADS
        self._capacity = self._slots + (self._slots if queue is None else queue)
        self._longest_wait = longest_wait
        self._share = settings.HASHING_PER_ADDRESS
        self._clock = clock
        self._use = RecentUse(clock)
        self._refused_until: dict[str, float] = {}
        self._hashing: list[Claim] = []
        self._waiting: list[Claim] = []
        self._known_in_a_row = 0
        self._changed = threading.Condition()

    @property
    def free(self) -> int:
        """How many further passwords could be hashed now."""
        return self._slots - len(self._hashing)

    def require_patience(self, networks: tuple[str, ...]) -> None:
        """Refuse (503) a client that floods and was refused less than Retry-After ago.

        The earlier refusal emitted the event. With `HASHING_PER_ADDRESS=0`, addresses do not tell
        clients apart, so no client is refused here.
        """
        site = networks[-1]
        with self._changed:
            is_early = self._clock() < self._refused_until.get(site, 0)
            if not self._share or not is_early or self._use.of(site) < FLOOD:
                return
            self._use.add((site,))
        raise _busy()

    @contextmanager
    def slot(self, claim: Claim) -> Iterator[None]:
        """Hold a slot while the body of the `with` statement hashes. Each request has a new claim.

        Raises:
            RetryLaterError: 503: the queue is full, no slot became free in time, or the hash needs
                more memory than there is.
        """
        reason = self._enter(claim)
        if reason is not None:
            with self._changed:
                if len(self._refused_until) >= MAX_KEYS:
                    self._refused_until.clear()
                self._refused_until[claim.networks[-1]] = self._clock() + RETRY_AFTER
            events.emit(kinds.REFUSED, reason=reason)
            raise _busy()
        try:
            yield
        except MemoryError:
            events.emit(kinds.REFUSED, reason=NO_MEMORY)
            raise _busy() from None
        finally:
            with self._changed:
                self._hashing.remove(claim)
                self._changed.notify_all()

    def _enter(self, claim: Claim) -> str | None:
        """Wait for a slot and take it, or return the reason for a refusal."""
        with self._changed:
            self._use.add(claim.keys)
            reason = self._make_room(claim)
            if reason is not None:
                return reason
            self._waiting.append(claim)
            try:
                self._changed.wait_for(
                    lambda: claim not in self._waiting or self._next() is claim, self._longest_wait
                )
                if self._next() is not claim:
                    return BUSY
                self._hashing.append(claim)
                self._known_in_a_row = self._known_in_a_row + 1 if claim.is_known else 0
                return None
            finally:  # even if a timeout of the server interrupts the wait
                if claim in self._waiting:
                    self._waiting.remove(claim)
                self._changed.notify_all()

    def _make_room(self, claim: Claim) -> str | None:
        """Displace a waiting claim of lower priority if needed, or return the reason to refuse."""
        reason, crowd = self._crowd(claim)
        if not crowd:
            return None
        strangers = [each for each in self._waiting if not each.is_known]
        is_strangers_turn = (
            self._known_in_a_row >= STRANGERS_TURN and self._capacity > self._slots + 1
        )
        waiting = [each for each in reversed(crowd) if each in self._waiting]
        if is_strangers_turn and claim.is_known and strangers:
            waiting = [each for each in waiting if each is not min(strangers, key=self._score)]
        last = max(waiting, key=self._score, default=None)  # of equals, the last to arrive
        if last is None:
            return reason
        is_first_stranger = is_strangers_turn and not claim.is_known and not strangers
        if self._score(last) <= self._score(claim) and not is_first_stranger:
            return reason
        self._waiting.remove(last)
        self._changed.notify_all()
        return None

    def _crowd(self, claim: Claim) -> tuple[str, list[Claim]]:
        """Return the narrowest group of claims that is full, with the reason; else no claim."""
        everyone = self._hashing + self._waiting
        for network in claim.networks:
            neighbours = [other for other in everyone if network in other.networks]
            if self._share and len(neighbours) >= 2 * self._share:  # as many wait as hash
                return BUSY_WITH_CLIENT, neighbours
        return BUSY, everyone if len(everyone) >= self._capacity else []

    def _next(self) -> Claim | None:
        """Return the claim with the lowest score of those that can hash now."""
        if len(self._hashing) >= self._slots:
            return None
        ready = [claim for claim in self._waiting if self._may_hash(claim)]
        if self._known_in_a_row >= STRANGERS_TURN:
            ready = [claim for claim in ready if not claim.is_known] or ready
        return min(ready, key=self._score, default=None)  # of equals, the first to arrive

    def _may_hash(self, claim: Claim) -> bool:
        if claim.account is not None and claim.account in [each.account for each in self._hashing]:
            return False
        return not self._share or all(
            sum(network in other.networks for other in self._hashing) < self._share
            for network in claim.networks
        )

    def _score(self, claim: Claim) -> int:
        """Return how many requests the client or account made lately; the lowest comes first."""
        asked = round(max(map(self._use.of, claim.keys)))
        return asked if claim.is_known else asked + HEAD_START


def _busy() -> RetryLaterError:
    return RetryLaterError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "busy",
        _("Too many people are logging in or registering. Try again in a few seconds."),
        seconds=RETRY_AFTER,
    )
