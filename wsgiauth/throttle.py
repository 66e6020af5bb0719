"""How often a password may be guessed: attempts are counted in the database, for every process.

Each login is counted before its password is looked at, once for the name and once for the client's
address, and the count is taken back when it succeeds. So a thousand guesses sent at once are no
more than a thousand sent one after another, and an attempt that must wait costs no bcrypt. Names
that nobody has are counted like any others, so the answers tell nothing about accounts.

**Why this does not let a stranger lock somebody out.** Whoever fails often enough under a name
makes that name wait; were there one count for a name, anybody could keep its owner waiting. So
there are two: an address from which somebody has logged in under this name, or registered it,
within the last 30 days has a count of its own for it, which no attempt from elsewhere touches, nor
one under another name, and which alone is asked there. An owner at home, at work or on a server
therefore logs in as ever while the rest of the world waits, and the stranger gains nothing: where
nobody ever logged in under the name, the count is the one shared by all such addresses.

What remains: an owner at a new address waits with the attackers, 15 minutes at the longest, for as
long as the attack lasts; one behind the same address as the attacker (a household, an undeclared
proxy) shares its count; and who can attack from two addresses can tell whether one of them is known
to the name. A lock that only an administrator opens would be worse, as would counting by address
alone, which thousands of addresses outnumber (OWASP Authentication Cheat Sheet, "Account Lockout").
"""

import hmac
import json
import math
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import NoReturn

from wsgiauth import events, names, storage
from wsgiauth.attempts import Counter, Limit
from wsgiauth.connections import FAILURES
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.models import User
from wsgiauth.settings import Settings

HOUR = 60 * 60  # seconds
DAY = 24 * HOUR
KNOWN_FOR = 30 * DAY

# Seconds to wait after the last free attempt and each one after it.
DOUBLING = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 15 * 60)


class Throttle:
    """Says whose turn it is to guess or to register.

    Args:
        settings: `LOGIN_FAILURES_PER_ACCOUNT`, `LOGIN_FAILURES_PER_ADDRESS`,
            `REGISTRATIONS_PER_ADDRESS`, and `SECRET_KEY`, under which rows are named.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._now = clock
        self._key = settings.require_secret_key().encode()
        self._account = Limit("account", settings.LOGIN_FAILURES_PER_ACCOUNT, DOUBLING, DAY)
        self._address = Limit("address", settings.LOGIN_FAILURES_PER_ADDRESS, DOUBLING, HOUR)
        self._registrations = Limit(
            "registrations", settings.REGISTRATIONS_PER_ADDRESS, (HOUR,), HOUR
        )

    def login(self, name: str, address: str) -> "LoginAttempt":
        """Return an attempt to log in, not counted yet, if it need not wait.

        Args:
            name: What was typed as username or e-mail.
            address: The client's, as `addresses.client_network` names it.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        # Bounded first: the normal forms of hostile texts take quadratic time.
        account = names.key(name[: names.EMAIL_MAX_LENGTH])
        attempt = LoginAttempt(
            self._counter(self._account, account),
            self._counter(self._account, account, address),
            self._counter(self._address, address),
            self._now,
        )
        attempt.require_turn()
        return attempt

    def registration(self, address: str) -> "Attempt":
        """Return an attempt to register, not counted yet, if it need not wait.

        Args:
            address: The client's, as `addresses.client_network` names it.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        attempt = Attempt([self._counter(self._registrations, address)], self._now)
        attempt.require_turn()
        return attempt

    def recognise(self, user: User, address: str) -> None:
        """Count the failures of `user` from this address apart from now on, beginning with none.

        Where the database fails, that is logged and changes nothing: the account is made, and the
        login is good.

        Args:
            user: Has just logged in, or registered, from there.
            address: The client's, as `addresses.client_network` names it.
        """
        if not self._account.free:
            return
        try:
            for name in (user.username, user.email):
                known = self._counter(self._account, names.key(name), address)
                known.remember(int(self._now()), KNOWN_FOR)
        except FAILURES as error:
            storage.report_failure(error)

    def _counter(self, limit: Limit, *what: str) -> Counter:
        # As JSON, whose quotes no name can fake: "ada" at an address is not "ada, at an address".
        label = json.dumps(["throttle", limit.reason, *what]).encode()
        return Counter(hmac.digest(self._key, label, "sha256").hex(), limit)


class Attempt:
    """Something that is counted before it is tried.

    Args:
        counters: What it counts on.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(self, counters: Sequence[Counter], now: Callable[[], float]) -> None:
        self._counters = [counter for counter in counters if counter.limit.free]
        self._now = now

    def require_turn(self) -> None:
        """Check that nothing has to be waited for, at the price of one SELECT a counter.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        now = int(self._now())
        for counter in self._counters:
            wait = counter.wait(now)
            if wait:
                _refuse(counter, wait)

    def begin(self) -> None:
        """Count the attempt; from here on it has failed, unless it is said to have succeeded.

        Raises:
            RetryLaterError: 429; others came first, and nothing is counted.
            peewee.DatabaseError: The database failed.
        """
        now = int(self._now())
        for position, counter in enumerate(self._counters):
            if not counter.add(now):
                for counted in self._counters[:position]:
                    counted.take_back()
                _refuse(counter, counter.wait(now) or 1)


class LoginAttempt(Attempt):
    """A login that is counted before the password is looked at.

    Args:
        shared: Counts for the name, wherever from.
        known: Counts for the name from this address alone, once it has logged in from there.
        address: Counts for the address, whatever the names that are not known there.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(
        self, shared: Counter, known: Counter, address: Counter, now: Callable[[], float]
    ) -> None:
        is_known = known.row(int(now())) is not None
        # Nor do others who fail at the same address keep out who is known there.
        super().__init__([known] if is_known else [shared, address], now)
        self._shared = shared
        self._address = address

    def succeeded(self) -> None:
        """Forget the name's failures; of the address's, uncount this attempt alone.

        An attacker has a name, too, with which to log in between two guesses at another.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        if self._shared in self._counters:
            self._shared.forget()
        if self._address in self._counters:
            self._address.take_back()


def _refuse(counter: Counter, seconds: int) -> NoReturn:
    events.emit("throttled", reason=counter.limit.reason)
    raise RetryLaterError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "throttled",
        f"There were too many attempts. Try again in {_spoken(seconds)}.",
        seconds=seconds,
    )


def _spoken(seconds: int) -> str:
    if seconds == 1:
        return "a second"
    return f"{seconds} seconds" if seconds < 120 else f"{math.ceil(seconds / 60)} minutes"
