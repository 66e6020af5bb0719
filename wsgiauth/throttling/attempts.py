"""Attempts to log in or to register: counted before they are tried, and taken back on success."""

import math
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import NoReturn

from wsgiauth import events
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.throttling.counts import Counter
from wsgiauth.throttling.hash_slots import Claim

KNOWN_FOR = 30 * 24 * 60 * 60  # seconds


class Attempt:
    """An attempt to log in or register, which is counted before it is made.

    Args:
        claim: Requests the hash slot.
        counters: The counters of the attempt.
        now: Returns the time in seconds since the epoch.

    Attributes:
        claim: Requests the hash slot.
    """

    def __init__(self, claim: Claim, counters: Sequence[Counter], now: Callable[[], float]) -> None:
        self.claim = claim
        self._counters = counters
        self._now = now

    def require_turn(self) -> None:
        """Check that the attempt need not wait, with one SELECT for each counter.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        for counter in self._counters:
            self._require_turn_on(counter)

    def begin(self) -> None:
        """Count the attempt as failed, until `succeeded` subtracts it.

        Raises:
            RetryLaterError: 429: concurrent attempts used up the limit, and nothing is counted.
            peewee.DatabaseError: The database failed.
        """
        now = int(self._now())
        for position, counter in enumerate(self._counters):
            if not counter.add(now):
                for counted in self._counters[:position]:
                    counted.take_back()
                _refuse(counter, counter.wait(now) or 1)

    def _require_turn_on(self, counter: Counter) -> None:
        wait = counter.wait(int(self._now()))
        if wait:
            _refuse(counter, wait)


class StrangersLogin(Attempt):
    """A login by a client that never logged in under this name.

    Args:
        claim: Requests the hash slot.
        shared: Counts failures for the name, from all strangers' addresses.
        addresses: Count failures for the client's networks, under all names.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        claim: Claim,
        shared: Counter,
        addresses: Sequence[Counter],
        now: Callable[[], float],
    ) -> None:
        super().__init__(claim, [shared, *addresses], now)
        self._shared = shared
        self._addresses = addresses

    def succeeded(self) -> None:
        """Reset the failures of the name, and subtract only this attempt from those of the address.

        Otherwise, an attacker could reset the address's count by logging in to their own account.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        self._shared.forget()
        for address in self._addresses:
            address.take_back()


class PasskeyLogin(Attempt):
    """A login by a passkey alone, which names its user only when it is verified."""

    def succeeded(self) -> None:
        """Subtract this attempt from the counts of the address.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        for counter in self._counters:
            counter.take_back()


class Confirmation(Attempt):
    """A password of a user who is logged in, entered at an address that the name is not known at.

    It is counted for the session, so that strangers who fail under the name cannot keep the owner
    from changing the password. It also counts as a stranger's failure under the name.

    Args:
        claim: Requests the hash slot.
        own: Counts failures of the session.
        shared: Counts failures for the name, from all strangers' addresses.
        others: Count failures of all sessions of the user, and for the client's networks.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        claim: Claim,
        own: Counter,
        shared: Counter,
        others: Sequence[Counter],
        now: Callable[[], float],
    ) -> None:
        super().__init__(claim, [own, *others], now)
        self._own = own
        self._shared = shared
        self._others = others
        self._is_shared = False

    def begin(self) -> None:
        """Count the attempt as failed, until `succeeded` subtracts it.

        Raises:
            RetryLaterError: 429: concurrent attempts used up the limit, and nothing is counted.
            peewee.DatabaseError: The database failed.
        """
        super().begin()
        self._is_shared = self._shared.add(int(self._now()))

    def succeeded(self) -> None:
        """Reset the failures of the session, and subtract only this attempt from the others.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        self._own.forget()
        for counter in [*self._others, *([self._shared] if self._is_shared else [])]:
            counter.take_back()


class CodeAttempt(Attempt):
    """A code of a second factor, after a right password or in a session.

    Args:
        claim: Not used, because a code costs no hash.
        own: Counts failures for the user, of strangers, of this client or in the session.
        further: Count the failures of all sessions of the user, for a code in a session.
        known: Counts failures for the user of this client, which a right code makes known.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        claim: Claim,
        own: Counter,
        further: Sequence[Counter],
        known: Counter,
        now: Callable[[], float],
    ) -> None:
        super().__init__(claim, [own, *further], now)
        self._own = own
        self._further = further
        self._known = known

    def is_last_free(self) -> bool:
        """Return whether the next attempt has to wait.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        now = int(self._now())
        return any(counter.is_used_up(now) for counter in self._counters)

    def succeeded(self) -> None:
        """Reset the failures, and make the client known for 30 days.

        Of the failures of all sessions, subtract only this attempt: others can be guesses.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        self._own.forget()
        for counter in self._further:
            counter.take_back()
        self._known.remember(int(self._now()), KNOWN_FOR)


class KnownLogin(Attempt):
    """A login by a client that the account knows.

    Args:
        claim: Requests the hash slot.
        known: Counts failures of this client at the account.
        known_names: Counts failures for the address, at all accounts that know it.
        logins: Counts successful logins for the name.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        claim: Claim,
        known: Counter,
        known_names: Counter,
        logins: Counter,
        now: Callable[[], float],
    ) -> None:
        super().__init__(claim, [known, known_names], now)
        self._known = known
        self._known_names = known_names
        self._logins = logins

    def require_turn(self) -> None:
        """Check that the attempt need not wait, with one SELECT for each counter.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        super().require_turn()
        self._require_turn_on(self._logins)

    def succeeded(self) -> None:
        """Subtract this attempt from both counts, and count a successful login.

        `Throttle.recognise` resets the failures at the account, after a second factor.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        self._known.take_back()
        self._known_names.take_back()
        self._logins.add(int(self._now()))


def _refuse(counter: Counter, seconds: int) -> NoReturn:
    events.emit("throttled", reason=counter.limit.reason)
    raise RetryLaterError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "throttled",
        f"{counter.limit.refusal} Try again in {_spoken(seconds)}.",
        seconds=seconds,
    )


def _spoken(seconds: int) -> str:
    if seconds == 1:
        return "a second"
    return f"{seconds} seconds" if seconds < 120 else f"{math.ceil(seconds / 60)} minutes"
