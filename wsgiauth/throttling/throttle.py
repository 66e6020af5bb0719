"""Limits on guessing passwords: attempts are counted in the database, for all processes together.

Each login is counted before its password is compared, once for the name and once for the client's
address, and subtracted again if it succeeds. So concurrent guesses get no further than guesses in a
row, and an attempt that must wait costs no bcrypt. Names without an account are counted too, so the
responses do not reveal which accounts exist.

**Why a stranger cannot lock the owner out.** Repeated failures under a name make further attempts
wait. With one count for each name, any client could keep the owner waiting. So there are two. A
client that entered the password under this name, or chose it at the registration or by an emailed
link, within the last 30 days is *known*: it has a separate count for the account, which attempts
from other addresses do not change. Another account that gets the name knows none of these clients.
After a new password, the account knows only the client that chose it, because another one may be
that of a thief of the former password. All other clients are *strangers* and share one count for
the name. So the owner logs in from a known address as usual while strangers wait; at a new address,
a new password by a link ends the wait. The password alone does not make a client known if the user
has a second factor: someone who learned or reset it has no precedence over the owner. A link that
only proves an address makes no client known, because a thief of a session can have it sent to an
address of their own, and so reset the count of guesses.

**How far a neighbour can spray.** A client that guesses once at each of many accounts that are
known at its address (an office, a campus) stays below the limit of each. So failures at known
accounts are also counted for the address. Beyond LOGIN_FAILURES_PER_ADDRESS in an hour, each
account has one more failure before it must wait, whether it failed before or not: in all, the limit
and one for each account. If accounts that failed had none, the neighbour could keep their owners
out. An owner with the right password logs in at the first attempt, unless the neighbour has just
failed at the same account.

**Why there is no limit of consecutive failures.** NIST SP 800-63B-4 section 3.2.2 disables an
authenticator after at most 100 consecutive failures. Any attacker could then disable any account,
and its owner would need an operator. Here the waits grow to 15 minutes, which leaves strangers
about 100 guesses a day at one name, from all their addresses together. Common passwords are refused
when users choose them (see `passwords`). A count that lasts longer than a day, or a wait longer
than 15 minutes, would only harm the owner at a new address.

**Passwords in a session**, to confirm or to change it, count for the session, so that strangers who
fail under the name cannot keep the owner waiting. All sessions of a user together have
SESSIONS_SHARE times the free failures of one, because another proof, such as a code of an app that
a thief of the session has added, gives the session another id. Only a right password resets the
count of a known client.

**Codes of a second factor** have the same two counts, for the user instead of the name. Codes at
/auth/confirm count for the session, so that a thief of its cookie cannot keep the owner from
logging in. All sessions of a user together have SESSIONS_SHARE times the free failures of one, and
then wait at the same pace, so thieves of any number of cookies have about 150 guesses a day. Those
who know the password have another 100.

**Successful logins** cost a hash too. People do not log in once a second for a minute, and programs
keep their token, so a client that logs in so often is slowed down. Only a client with the password
can cause that.

Not defended: an owner at a new address waits with the attackers, up to 15 minutes at a time, as
long as the attack lasts, or until they choose a new password by a link, which does not help a user
with a second factor. An owner at the attacker's address shares its count. An attacker with two
addresses can find out whether one of them is known to a name. A lock that only an administrator can
remove would be worse. So would counts by address alone, because attackers have thousands of
addresses (OWASP Authentication Cheat Sheet, "Account Lockout").
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import report_failure
from wsgiauth.storage.models import from_timestamp
from wsgiauth.storage.statements import Statement, is_given
from wsgiauth.throttling.attempts import KNOWN_FOR, Attempt, PasswordAttempt
from wsgiauth.throttling.counts import (
    CLOCK_MARGIN,
    NAME,
    Counter,
    Counters,
    Limit,
    Networks,
    read_waits,
)
from wsgiauth.throttling.failed_logins import (
    LISTED,
    FailedLogin,
    FailureLog,
    Wait,
    list_failures,
    users_who_failed,
)
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.clients import networks_of

MINUTE = 60  # seconds
HOUR = 60 * MINUTE
DAY = 24 * HOUR

# Seconds to wait after the last free attempt and each later one.
DOUBLING = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 15 * MINUTE)

CODE_FAILURES = 5  # wrong codes of a second factor before a wait

# All sessions of a user together have this many times the free failures of one.
SESSIONS_SHARE = 10

# Rows of failures that are read to list a user who is locked out: most users who fail need not
# wait.
CANDIDATES = 10


class LockedUser(NamedTuple):
    """A user who must wait to log in from a new address, or to enter a code."""

    user: User
    until: datetime  # in UTC


class Throttle:
    """Decides which attempts to log in or register must wait.

    A method that returns an attempt raises RetryLaterError (429) if it must wait. The attempt is
    not counted yet. A feature counts against limits of its own by `attempt` and `of_client`.

    Attributes:
        counters: Makes the counters of a limit.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        per_address = settings.LOGIN_FAILURES_PER_ADDRESS
        self._now = clock
        self._key = settings.require_secret_key().encode()
        self.counters: Counters = Counters(self._key)
        self._account = Limit("account", settings.LOGIN_FAILURES_PER_ACCOUNT, DOUBLING, DAY)
        self._account_of_sessions = replace(self._account, free=SESSIONS_SHARE * self._account.free)
        self._address = Limit("address", per_address, DOUBLING, HOUR)
        # Only counted, without a wait: see the module's docstring.
        self._known_names = Limit("known names", per_address, (0,), HOUR)
        self._logins = Limit("logins", settings.LOGINS_PER_ACCOUNT, DOUBLING, MINUTE)
        self._registrations = Limit(
            "registrations",
            settings.REGISTRATIONS_PER_ADDRESS,
            (HOUR,),
            HOUR,
            _("There were too many registrations from your network."),
        )
        self._codes = Limit("second factor", CODE_FAILURES, DOUBLING, DAY)
        self._codes_of_sessions = replace(self._codes, free=SESSIONS_SHARE * CODE_FAILURES)

    def attempt(self, *counters: Counter, failures: FailureLog | None = None) -> Attempt:
        """Return an attempt that `counters` count; `failures` records for the staff if it fails."""
        return Attempt(self._now, counters, failures=failures).require_turn()

    def of_client(self, limit: Limit, networks: Networks) -> Attempt:
        """Return an attempt that counts for the address of a client, against a limit."""
        return self.attempt(*self.counters.of_networks(limit, networks))

    def login(self, name: str, networks: Networks) -> PasswordAttempt:
        """Return an attempt to log in under `name`, as the client sent it."""
        # Cut first, because normalising a hostile string can take quadratic time.
        account = names.key(name[: names.EMAIL_MAX_LENGTH])
        known = self._failures_of_known(account, networks[0])
        if known is not None:
            return self._login_of_known(account, known, networks)
        shared = self._of_strangers(account)
        return PasswordAttempt(
            self._now,
            [shared, *self.counters.of_networks(self._address, networks)],
            reset=shared,
            failures=FailureLog.of(self._key, account),
            claim=Claim(networks, shared.id),
        ).require_turn()

    def confirmation(self, user: User, session_id: str, networks: Networks) -> PasswordAttempt:
        """Return an attempt of a logged-in user to enter their password.

        The failures of a client that is not known count for the session, and under the name.
        """
        account, user_id = names.key(user.username), str(user.id)
        known = self._failures_of_known(account, networks[0])
        if known is not None:
            return self._login_of_known(account, known, networks)
        own = self.counters.one(self._account, user_id, "session", session_id)
        all_sessions = self.counters.one(self._account_of_sessions, user_id, "sessions")
        shared = self._of_strangers(account)
        return PasswordAttempt(
            self._now,
            [own, all_sessions, *self.counters.of_networks(self._address, networks)],
            reset=own,
            passive=shared,
            claim=Claim(networks, shared.id),
        ).require_turn()

    def second_factor(
        self, user: User, networks: Networks, *, session_id: str | None = None
    ) -> Attempt:
        """Return an attempt to enter a code, in a session or after a right first step of a login.

        A client that entered a right code within the last 30 days has a separate count, so that
        strangers who know the password cannot keep the owner waiting.
        """
        user_id = str(user.id)
        own = known = self.counters.one(self._codes, user_id, networks[0])
        further = []
        failures = self._failures_of(user) if session_id is None else None
        if not known.exists(int(self._now())):
            own = self.counters.one(self._codes, user_id)
            if session_id is not None:
                own = self.counters.one(self._codes, user_id, "session", session_id)
                further = [self.counters.one(self._codes_of_sessions, user_id, "sessions")]
        return Attempt(
            self._now, [own, *further], reset=own, known=known, failures=failures
        ).require_turn()

    def knows(self, name: str, networks: Networks) -> bool:
        """Return whether a client has logged in under a name, without a look-up of its account."""
        key = names.key(name[: names.EMAIL_MAX_LENGTH])
        return self._under_name(key, networks[0]).exists(int(self._now()))

    def failure_log(self, name: str) -> FailureLog:
        """Return the log of the failed logins under a name, as the client sent it."""
        return FailureLog.of(self._key, names.key(name[: names.EMAIL_MAX_LENGTH]))

    def registration(self, networks: Networks) -> Attempt:
        """Return an attempt to register."""
        return self.of_client(self._registrations, networks)

    def login_without_password(self, user: User) -> Attempt:
        """Return a login by another proof than the password, to count it with the other logins."""
        return Attempt(self._now, [self.counters.one(self._logins, names.key(user.username))])

    def failed_logins(self, user: User, most: int = LISTED) -> list[FailedLogin]:
        """Return the last failed logins under the present names of the user, whoever had them."""
        logs = [FailureLog.of(self._key, names.key(each)) for each in (user.username, user.email)]
        return list_failures([*logs, self._failures_of(user)], int(self._now()), most)

    def waits(self, user: User, addresses: Iterable[str | None]) -> list[Wait]:
        """Return why logins of a user are refused now, also from these addresses; one SELECT."""
        now, one, user_id = int(self._now()), self.counters.one, str(user.id)
        asked: dict[Counter, tuple[str | None, str | None]]
        asked = {each: (name, None) for each, name in self._waiting_for(user).items()}
        clients: dict[Counter, list[Counter]] = {}
        for networks in {networks_of(each): None for each in addresses if each}:
            known = self._of_user(user.id, user.security_stamp, networks[0])
            asked[known] = asked[one(self._codes, user_id, networks[0])] = None, networks[0]
            clients[known] = self.counters.of_networks(self._address, networks)
            asked.update(zip(clients[known], [(None, each) for each in networks], strict=True))
        waits = read_waits(asked, now)
        # Failures under other names concern only strangers.
        strangers = {each for known in clients if known not in waits for each in clients[known]}
        return [
            Wait(counter.limit.reason, from_timestamp(now + wait), *asked[counter])
            for counter, wait in waits.items()
            if wait and (counter in strangers or counter.limit.reason != self._address.reason)
        ]

    def locked_users(self, most: int = 10) -> list[LockedUser]:
        """Return the users who must wait now, the newest failures first.

        Costs three SELECTs. During a flood of failures, users with older ones can be missing.
        """
        now = int(self._now())
        # A failure begins a wait, and attempts that must wait are no failures.
        ids = users_who_failed(now - DOUBLING[-1] - CLOCK_MARGIN, most=most * CANDIDATES)
        users = {each.id: each for each in User.select().where(User.id.in_(ids))} if ids else {}
        asked = {each: user_id for user_id in users for each in self._waiting_for(users[user_id])}
        waits: dict[int, int] = {}
        for counter, wait in read_waits(asked, now).items() if asked else ():
            waits[asked[counter]] = max(wait, waits.get(asked[counter], 0))
        locked = (user_id for user_id in ids if waits.get(user_id))
        return [
            LockedUser(users[user_id], from_timestamp(now + waits[user_id]))
            for user_id in islice(locked, most)
        ]

    def recognise(self, user: User, networks: Networks) -> None:
        """Make a client known to an account, and reset its count of failures.

        Call this only if the client has entered or chosen the password, or has entered a code from
        an email to a proven address, where it could get a link to choose one. A thief of a session
        can give the account a passkey, an app or another name any number of times, and must not
        reset the count. A database error is only logged, because the login has already succeeded.
        """
        now, network = int(self._now()), networks[0]
        try:
            self._of_user(user.id, user.security_stamp, network).remember(now, KNOWN_FOR)
            self._remember_names(user, network)
        except DATABASE_ERRORS as error:
            report_failure(error)

    def follow(self, user: User, networks: Networks) -> None:
        """Keep a client that the account knows known under its new name, with its failures.

        A database error is only logged, because the name has been changed already.
        """
        try:
            if self.is_known(user, networks):
                self._remember_names(user, networks[0])
        except DATABASE_ERRORS as error:
            report_failure(error)

    def keep(self, user: User, networks: Networks, *, former: User) -> None:
        """Keep the client that has just changed the password known, if it was.

        A database error is only logged, because the password has been changed already.

        Args:
            user: The user with the new password.
            former: The same user, as read before the change.
        """
        try:
            if self.is_known(former, networks):
                self.recognise(user, networks)
        except DATABASE_ERRORS as error:
            report_failure(error)

    def is_known(self, user: User, networks: Sequence[str]) -> bool:
        """Return whether an account knows a client."""
        row = self._of_user(user.id, user.security_stamp, networks[0])
        return row.exists(int(self._now()))

    def _login_of_known(self, account: str, known: Counter, networks: Networks) -> PasswordAttempt:
        known_names = self.counters.one(self._known_names, networks[0])
        if known_names.is_used_up(int(self._now())):
            known = known.with_one_free()
        logins = self.counters.one(self._logins, account)
        # `recognise` resets the failures at the account, after a second factor.
        return PasswordAttempt(
            self._now,
            [known, known_names],
            successes=logins,
            failures=FailureLog.of(self._key, account),
            claim=Claim(networks, logins.id, is_known=True),
        ).require_turn()

    def _failures_of_known(self, name_key: str, network: str) -> Counter | None:
        """Return the count of a client's failures at an account; None if it is a stranger.

        An account knows the clients that logged in to it during the last 30 days, by two rows,
        because a name can go from one account to another. One says that the client was known under
        the name. The other one has the number of the account and its stamp, which a new password
        changes, and counts failures under all its names. Only if the first row exists, the name is
        looked up, so that a stranger's attempt costs the same whether there is an account or not.
        """
        now = int(self._now())
        if not self._under_name(name_key, network).exists(now):
            return None
        column = User.email_key if "@" in name_key else User.username_key
        user_id, stamp = _finding(column).fetchone(name=name_key) or (None, None)
        failures = self._of_user(user_id, stamp, network)
        return failures if failures.exists(now) else None

    def _remember_names(self, user: User, network: str) -> None:
        for name in (user.username, user.email):
            self._under_name(names.key(name), network).remember(int(self._now()), KNOWN_FOR)

    def _under_name(self, name_key: str, network: str) -> Counter:
        return self.counters.one(self._account, name_key, network)

    def _waiting_for(self, user: User) -> dict[Counter, str | None]:
        """Return the counters of a user for all clients, with the name that each is about."""
        found: dict[Counter, str | None] = {}
        for name, value in (("username", user.username), ("email", user.email)):
            found[self._of_strangers(names.key(value))] = name
            found[self.counters.one(self._logins, names.key(value))] = name
        found[self.counters.one(self._codes, str(user.id))] = None
        return found

    def _of_strangers(self, name_key: str) -> Counter:
        return self.counters.one(self._account, name_key, kind=NAME)

    def _failures_of(self, user: User) -> FailureLog:
        return FailureLog.of(self._key, "user", str(user.id))

    def _of_user(self, user_id: int | None, stamp: int | None, network: str) -> Counter:
        return self.counters.one(self._account, "user", str(user_id), str(stamp), network)


@cache
def _finding(column: Any) -> Statement:
    """Return the SELECT of a user by one of the columns with names."""
    return Statement(
        lambda: User.select(User.id, User.security_stamp).where(is_given(column, "name"))
    )
