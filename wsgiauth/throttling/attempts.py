"""Attempts to log in or to register: counted before they are tried, and taken back on success."""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from typing import NoReturn, Self

from wsgiauth import events
from wsgiauth.events import kinds
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.messages import Joined, Wait, ngettext
from wsgiauth.throttling.counts import Counter
from wsgiauth.throttling.failed_logins import FailureLog
from wsgiauth.throttling.hash_slots import Claim

KNOWN_FOR = 30 * 24 * 60 * 60  # seconds


@dataclass(eq=False, repr=False)
class Attempt:
    """An attempt that can be refused, and the effect of its success on the counts.

    A success subtracts the attempt from every counter that counted it. It does not reset them, so
    that an attacker who logs in to their own account does not reset the failures of an address.
    `Site.attempt` makes an attempt for a feature.

    Attributes:
        now: Returns the seconds since the epoch.
        counters: Internal: each can refuse the attempt, and counts it.
        reset: Internal: one of `counters`, which a success resets.
        passive: Internal: counts the attempt, too, but never refuses it.
        successes: Internal: can refuse the attempt, and counts only its success.
        known: Internal: of this client, which a success makes known.
        failures: Internal: for the staff panel, if the attempt is a login.

    Example:
        limit = Limit("badges", free=10, waits=(3600,), window=3600)
        site.attempt(limit, str(user.id)).require_turn().begin()
    """

    now: Callable[[], float]
    counters: Sequence[Counter]
    _: KW_ONLY
    reset: Counter | None = None
    passive: Counter | None = None
    successes: Counter | None = None
    known: Counter | None = None
    failures: FailureLog | None = None
    _counted_by: Sequence[Counter] = field(default=(), init=False)

    def require_turn(self) -> Self:
        """Return the attempt if it need not wait, or raise RetryLaterError (429)."""
        now = int(self.now())
        for counter in (*self.counters, *([self.successes] if self.successes else [])):
            wait = counter.wait(now)
            if wait:
                _refuse(counter, wait)
        return self

    def begin(self) -> None:
        """Count the attempt as failed, until `succeeded` subtracts it.

        If concurrent attempts used up the limit, raise RetryLaterError (429) and count nothing.
        """
        now = self.now()
        counted: list[Counter] = []
        for counter in self.counters:
            if not counter.add(now):
                for each in counted:
                    each.take_back()
                _refuse(counter, counter.wait(int(now)) or 1)
            counted.append(counter)
        if self.passive is not None and self.passive.add(now):
            counted.append(self.passive)
        self._counted_by = counted

    def is_last_free(self) -> bool:
        """Return whether the next attempt has to wait."""
        now = int(self.now())
        return any(counter.is_used_up(now) for counter in self.counters)

    def succeeded(self) -> None:
        """Take the attempt back, and count the success."""
        now = self.now()
        for counter in self._counted_by:
            if counter is self.reset:
                counter.forget()
            else:
                counter.take_back()
        if self.successes is not None:
            self.successes.add(now)
        if self.known is not None:
            self.known.remember(int(now), KNOWN_FOR)

    def withdraw(self) -> None:
        """Take the attempt back, because nothing was compared."""
        for counter in self._counted_by:
            counter.take_back()

    def failed(self, reason: str, user_id: int | None = None) -> None:
        """Record for the staff panel that the attempt failed; its count stays."""
        if self.failures is not None:
            self.failures.add(int(self.now()), reason, user_id)


@dataclass(eq=False, repr=False)
class PasswordAttempt(Attempt):
    """An attempt that hashes a password."""

    claim: Claim = field(kw_only=True)


def _refuse(counter: Counter, seconds: int) -> NoReturn:
    events.emit(kinds.THROTTLED, reason=counter.limit.reason)
    raise RetryLaterError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "throttled",
        Joined([counter.limit.refusal, try_again_in(seconds)]),
        seconds=seconds,
    )


def try_again_in(seconds: int) -> str:
    """Return the sentence that says after how many seconds to try again."""
    if seconds < 120:
        text = ngettext("Try again in a second.", "Try again in %(num)s seconds.", seconds)
    else:
        minutes = math.ceil(seconds / 60)
        text = ngettext("Try again in a minute.", "Try again in %(num)s minutes.", minutes)
    return Wait(text, seconds)
