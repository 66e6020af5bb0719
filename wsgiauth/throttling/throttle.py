"""How often a password can be guessed: attempts are counted in the database, over all processes.

Each login is counted before its password is compared, once for the name and once for the client's
address, and uncounted when it succeeds. A thousand guesses at once therefore get no further than a
thousand in a row, and an attempt that must wait costs no bcrypt. Names without an account are
counted like all others, so the answers reveal nothing about accounts.

**Why a stranger cannot lock the owner out.** Enough failures under a name make that name wait. With
one count for each name, anybody could keep its owner waiting. So there are two. A client that
logged in under this name, or registered it, within the last 30 days is *known*: it has a count of
its own for this name, which attempts from elsewhere and under other names do not touch. An owner at
home, at work or on a server therefore logs in as usual while the rest of the world waits, and a
stranger gains nothing: all clients that never logged in under the name share one count.

**Why a neighbour cannot spray either.** A client that guesses once at each of many names that are
known at its address (an office, a campus) stays below the limit of each. Failures at known names
are therefore counted for the address, too. Beyond its limit, every known name at that address has
one free failure instead of LOGIN_FAILURES_PER_ACCOUNT. An owner who types the right password still
gets in at the first try, unless the neighbour has just failed under this very name.

**Why there is no limit of consecutive failures.** NIST SP 800-63B-4 section 3.2.2 disables an
authenticator after at most 100 failures in a row. Whoever can fail 100 times could then disable any
account, and its owner would need an operator. Here the waits grow to 15 minutes, which leaves
strangers about 100 guesses a day at one name, from all their addresses together; passwords that a
guesser tries first are refused when they are chosen (see `passwords`). A count that outlasts the
day, or a wait beyond 15 minutes, would fall on the owner at a new address, and on nobody else.

**Successful logins** cost a hash as well. A person does not log in once a second for a minute, and
a program keeps its token, so a client that does is slowed down; only the holder of the password can
cause that.

What remains: an owner at a new address waits with the attackers, for 15 minutes at the longest and
for as long as the attack lasts; an owner behind the same address as the attacker shares its count;
and an attacker with two addresses can find out whether one of them is known to a name. A lock that
only an administrator opens would be worse, and so would counting by address alone, against which
thousands of addresses help (OWASP Authentication Cheat Sheet, "Account Lockout").
"""

import hmac
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import NoReturn

from wsgiauth import events, storage
from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.settings import Settings
from wsgiauth.storage.connections import FAILURES
from wsgiauth.throttling.counts import Counter, Limit
from wsgiauth.throttling.hash_slots import Claim

MINUTE = 60  # seconds
HOUR = 60 * MINUTE
DAY = 24 * HOUR
KNOWN_FOR = 30 * DAY

# Seconds to wait after the last free attempt and each one after it.
DOUBLING = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 15 * MINUTE)

Networks = tuple[str, ...]  # see `clients.Clients.networks`, the narrowest first

# An IPv6 /48 has the limits of so many /64 networks. A subscriber can rotate through all of them.
SITE_SHARE = 10


class Throttle:
    """Decides which attempt to log in or to register has to wait.

    Args:
        settings: `LOGIN_FAILURES_PER_ACCOUNT`, `LOGIN_FAILURES_PER_ADDRESS`,
            `LOGINS_PER_ACCOUNT`, `REGISTRATIONS_PER_ADDRESS`, and `SECRET_KEY`, which keys the
            names of the rows.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        per_address = settings.LOGIN_FAILURES_PER_ADDRESS
        self._now = clock
        self._key = settings.require_secret_key().encode()
        self._account = Limit("account", settings.LOGIN_FAILURES_PER_ACCOUNT, DOUBLING, DAY)
        self._address = Limit("address", per_address, DOUBLING, HOUR)
        # Counted, and never waited for: see the module's docstring.
        self._known_names = Limit("known names", per_address, (0,), HOUR)
        self._logins = Limit("logins", settings.LOGINS_PER_ACCOUNT, DOUBLING, MINUTE)
        self._registrations = Limit(
            "registrations", settings.REGISTRATIONS_PER_ADDRESS, (HOUR,), HOUR
        )

    def login(self, name: str, networks: Networks) -> "StrangersLogin | KnownLogin":
        """Return an attempt to log in, not counted yet, if it need not wait.

        Args:
            name: What was typed as username or e-mail.
            networks: The client's.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        # Bounded first: the normal forms of hostile strings take quadratic time.
        account = names.key(name[: names.EMAIL_MAX_LENGTH])
        known = self._counter(self._account, account, networks[0])
        attempt: StrangersLogin | KnownLogin
        if known.exists(int(self._now())):
            attempt = self._login_of_known(account, known, networks)
        else:
            shared = self._counter(self._account, account)
            addresses = self._counters(self._address, networks)
            attempt = StrangersLogin(Claim(networks, shared.id), shared, addresses, self._now)
        attempt.require_turn()
        return attempt

    def registration(self, networks: Networks) -> "Attempt":
        """Return an attempt to register, not counted yet, if it need not wait.

        Args:
            networks: The client's.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        counters = self._counters(self._registrations, networks)
        attempt = Attempt(Claim(networks), counters, self._now)
        attempt.require_turn()
        return attempt

    def recognise(self, user: User, networks: Networks) -> None:
        """Make a client known to an account, with no failure counted.

        A failure of the database is logged and changes nothing else: the account is made, and the
        login is good.

        Args:
            user: Has just logged in, or registered, from there.
            networks: The client's.
        """
        try:
            for name in (user.username, user.email):
                known = self._counter(self._account, names.key(name), networks[0])
                known.remember(int(self._now()), KNOWN_FOR)
        except FAILURES as error:
            storage.report_failure(error)

    def _login_of_known(self, account: str, known: Counter, networks: Networks) -> "KnownLogin":
        known_names = self._counter(self._known_names, networks[0])
        if known_names.is_used_up(int(self._now())):
            known = known.with_one_free()
        logins = self._counter(self._logins, account)
        claim = Claim(networks, logins.id, is_known=True)
        return KnownLogin(claim, known, known_names, logins, self._now)

    def _counters(self, limit: Limit, networks: Networks) -> list[Counter]:
        """Return the counters of a client: of its narrowest network, and of the site around it."""
        site_limit = replace(limit, free=SITE_SHARE * limit.free)
        narrowest, *wider = networks
        return [
            self._counter(limit, narrowest),
            *(self._counter(site_limit, network) for network in wider),
        ]

    def _counter(self, limit: Limit, *what: str) -> Counter:
        # As JSON, whose quotes no name can fake: "ada" at an address is not "ada, at an address".
        label = json.dumps(["throttle", limit.reason, *what]).encode()
        return Counter(hmac.digest(self._key, label, "sha256").hex(), limit)


class Attempt:
    """Something that is counted before it is tried.

    Args:
        claim: Asks for the hash slot.
        counters: Where it is counted.
        now: Returns the time in seconds since the epoch.

    Attributes:
        claim: Asks for the hash slot.
    """

    def __init__(self, claim: Claim, counters: Sequence[Counter], now: Callable[[], float]) -> None:
        self.claim = claim
        self._counters = counters
        self._now = now

    def require_turn(self) -> None:
        """Check that nothing has to be waited for, at the price of one SELECT a counter.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        for counter in self._counters:
            self._require_turn_on(counter)

    def begin(self) -> None:
        """Count the attempt, which from here on has failed until it is said to have succeeded.

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

    def _require_turn_on(self, counter: Counter) -> None:
        wait = counter.wait(int(self._now()))
        if wait:
            _refuse(counter, wait)


class StrangersLogin(Attempt):
    """A login by a client that never logged in under this name.

    Args:
        claim: Asks for the hash slot.
        shared: Counts for the name, whatever the address.
        addresses: Count for the client's networks, whatever the name.
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
        """Forget the name's failures; of the address's, uncount this attempt alone.

        An attacker has an account as well, with which to log in between two guesses at another.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        self._shared.forget()
        for address in self._addresses:
            address.take_back()


class KnownLogin(Attempt):
    """A login by a client that logged in under this name before.

    Args:
        claim: Asks for the hash slot.
        known: Counts for the name and the address together.
        known_names: Counts for the address and all names that are known there.
        logins: Counts successes, for the name.
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
        self._known_names = known_names
        self._logins = logins

    def require_turn(self) -> None:
        """Check that nothing has to be waited for, at the price of one SELECT a counter.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        super().require_turn()
        self._require_turn_on(self._logins)

    def succeeded(self) -> None:
        """Uncount this attempt for the address, and count a success for the name.

        The failures of name and address are forgotten by `Throttle.recognise`.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        self._known_names.take_back()
        self._logins.add(int(self._now()))


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
