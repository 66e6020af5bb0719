"""Limits of notices: of new places, and a few of a kind in a day.

The marks of notices have keyed digests, so that the database alone does not say where a user logged
in. A login from a known place costs one SELECT, and a month later an UPDATE.
"""

import time
from collections.abc import Callable

from wsgiauth.accounts import names
from wsgiauth.settings import Settings
from wsgiauth.throttling.counts import Mark, row_id

HOUR = 60 * 60  # seconds
DAY = 24 * HOUR
PER_DAY = 5  # notices of one kind that a user gets in a day

KNOWN_FOR = 365 * DAY  # since the last login from the place
PROLONGED_AFTER = 30 * DAY
HAS_LOGGED_IN_FOR = 10 * KNOWN_FOR  # so that the first login after a year away causes a notice


class NoticeLimits:
    """Decides which notices a user gets: about new places, and a few of a kind in a day.

    The settings of a command can lack the SECRET_KEY: only actions of clients are limited.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._now = clock

    def is_new_place(self, user_id: int, network: str, browser: str) -> bool:
        """Remember a login, and return whether its user should be notified of a new place.

        The first known login of a user causes no notice. After `PER_DAY` notices in a day, a new
        place is neither reported nor remembered, so that a later login reports it.
        """
        place = self._mark("place", str(user_id), network, browser)
        now = int(self._now())
        ends_at = place.ends_at()
        if ends_at > now:
            if ends_at <= now + KNOWN_FOR - PROLONGED_AFTER:
                place.prolong(ends_at, now + KNOWN_FOR)
            return False
        if not place.make(now, KNOWN_FOR):
            return False  # of several logins at the same time, one is reported
        if self._mark("has logged in", str(user_id)).make(now, HAS_LOGGED_IN_FOR):
            return False
        if self.admits("login", user_id):
            return True
        place.delete()
        return False

    def admits(self, kind: str, user_id: int) -> bool:
        """Count a notice, and return whether it is one of the first `PER_DAY` of its kind today."""
        return self._count("notice", kind, str(user_id))

    def admits_app(self, user_id: int, client_id: str) -> bool:
        """Return whether the last notice about the lasting access of an app is an hour ago.

        There is no limit for a day: a thief could use it up with an app that the owner knows.
        """
        mark = self._mark("notice of lasting access", str(user_id), client_id)
        return mark.make(int(self._now()), HOUR)

    def admits_to(self, kind: str, email: str) -> bool:
        """Do as `admits` for an address that is not proven, whichever account has it.

        Anyone can register with the address of a stranger, close the account, and register again.
        """
        return self._count("notice to", kind, names.key(email))

    def _count(self, *what: str) -> bool:
        now = int(self._now())
        marks = (self._mark(*what, str(each)) for each in range(PER_DAY))
        return any(mark.make(now, DAY) for mark in marks)

    def _mark(self, *what: str) -> Mark:
        return Mark(row_id(self._settings.require_secret_key().encode(), *what))
