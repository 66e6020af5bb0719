"""Counts of attempts in the database, each changed by one atomic statement; and marks."""

import json
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import peewee

from wsgiauth.messages import _
from wsgiauth.signed_values import keyed_digest
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import Model
from wsgiauth.storage.statements import Statement, given, insert_or_ignore, is_given
from wsgiauth.storage.upkeep import purge_some


class AttemptCount(Model):
    """How often an action was attempted, and when the next attempt is allowed.

    Times are in seconds since the epoch.
    """

    # A keyed digest, because users sometimes type their password as the name.
    id = peewee.CharField(max_length=64, primary_key=True)
    retry_at = peewee.BigIntegerField()  # no attempt is allowed before
    # Attempts that failed or are in progress. Declared after `retry_at`, whose new value depends on
    # the old count: MariaDB assigns in order.
    count = peewee.IntegerField()
    expires_at = peewee.BigIntegerField(index=True)
    # `NAME`, or None for other counts and those of the version before.
    kind = peewee.CharField(max_length=16, null=True)

    class Meta:
        table_name = "wsgiauth_attempt_count"
        indexes = ((("kind", "retry_at"), False),)


NAME = "name"  # the kind of the counts of strangers, one for each name

_TOO_MANY = _("There were too many attempts.")


@dataclass(frozen=True)
class Limit:
    """How many attempts are free, and how long the following ones must wait.

    Limits of the same name share their counts, so that of a feature begins with the feature's name.

    Example:
        limit = Limit("badges", free=10, waits=(3600,), window=3600)
    """

    reason: str  # its name in events
    free: int  # attempts without a wait; 0 for no limit
    # Seconds to wait after the last free attempt, after the next one, and so on; the last value
    # applies to all further attempts. With a single 0, attempts never wait.
    waits: tuple[int, ...]
    window: int  # seconds from the first attempt until the count starts again
    refusal: str = _TOO_MANY  # for people who must wait


Networks = tuple[str, ...]  # from `clients.Clients.networks`, the narrowest first

# An IPv6 /48 has this many times the limit of a /64: one subscriber can hold all its /64 networks.
SITE_SHARE = 10

# Seconds by which the clocks of hosts can differ. A longer wait is of a host whose clock is wrong.
CLOCK_MARGIN = 60

_IS_OURS = is_given(AttemptCount.id)
_NOW = given(AttemptCount.expires_at, "now")
_IS_VALID = AttemptCount.expires_at > _NOW

_ROW = Statement(
    lambda: AttemptCount.select(
        AttemptCount.count, AttemptCount.retry_at, AttemptCount.expires_at
    ).where(_IS_OURS, _IS_VALID)
)
_SUBTRACT = Statement(
    lambda: AttemptCount.update(retry_at=0, count=AttemptCount.count - 1).where(
        _IS_OURS, AttemptCount.count > 0
    )
)
_RESET = Statement(
    lambda: AttemptCount.update(
        retry_at=given(AttemptCount.retry_at),
        count=given(AttemptCount.count),
        expires_at=given(AttemptCount.expires_at),
    ).where(_IS_OURS)
)
_PROLONG = Statement(
    lambda: AttemptCount.update(expires_at=given(AttemptCount.expires_at, "until")).where(
        _IS_OURS, is_given(AttemptCount.expires_at, "ends_at")
    )
)
_DELETE = Statement(lambda: AttemptCount.delete().where(_IS_OURS))
_DELETE_EXPIRED = Statement(
    lambda: AttemptCount.delete().where(_IS_OURS, AttemptCount.expires_at <= _NOW)
)


class Counter(NamedTuple):
    """The count in one row, which need not exist yet. Each change is one statement."""

    id: str
    limit: Limit
    kind: str | None = None  # see `AttemptCount`

    def exists(self, now: int) -> bool:
        """Return whether the row exists and has not expired."""
        return _ROW.fetchone(id=self.id, now=now) is not None

    def is_used_up(self, now: int) -> bool:
        """Return whether the limit is enabled and no free attempt is left."""
        row = _ROW.fetchone(id=self.id, now=now)
        return row is not None and 0 < self.limit.free <= row[0]

    def with_one_free(self) -> "Counter":
        """Return a counter of the same row that allows one attempt without a wait."""
        return self._replace(limit=replace(self.limit, free=min(self.limit.free, 1)))

    def wait(self, now: int) -> int:
        """Return the seconds until the next attempt is allowed; 0 if it is allowed now."""
        row = _ROW.fetchone(id=self.id, now=now) if self.limit.free else None
        if row is None:
            return 0
        _count, retry_at, expires_at = row
        return self.wait_of(retry_at, expires_at, now)

    def wait_of(self, retry_at: int, expires_at: int, now: int) -> int:
        """Return the wait of a row that was read."""
        wait = max(min(retry_at, expires_at) - now, 0)
        return wait if wait <= self.limit.waits[-1] + CLOCK_MARGIN else 0

    def add(self, now: float) -> bool:
        """Count an attempt, unless it must wait; return whether it was counted.

        Atomic under concurrency. A wait ends at a whole second, rounded up.
        """
        if not self.limit.free:
            return True
        # Twice, because a concurrent attempt can insert the row between the two statements.
        return any(self._add_one(now) or self._add_first(now) for _turn in range(2))

    @repeated_after_conflict
    def take_back(self) -> None:
        """Subtract one attempt and cancel the current wait."""
        with database.atomic():  # whose BEGIN is repeated if the connection was lost meanwhile
            _SUBTRACT.execute(id=self.id)

    def forget(self) -> None:
        """Delete the row, which resets the count to zero."""
        _DELETE.execute(id=self.id)

    def remember(self, now: int, duration: int) -> None:
        """Set the count to zero and keep the row for `duration` seconds."""
        nothing = {"retry_at": 0, "count": 0, "expires_at": now + duration}
        if not _RESET.execute(id=self.id, **nothing):
            insert_or_ignore(AttemptCount, id=self.id, **nothing)

    def _add_one(self, now: float) -> bool:
        waits = self.limit.waits
        ends = {f"end{step}": _after(now, wait) for step, wait in enumerate(waits)}
        wrong_clock = int(now) + waits[-1] + CLOCK_MARGIN
        where = {"id": self.id, "now": int(now), "wrong_clock": wrong_clock}
        addition = _addition(len(waits))
        return bool(addition.execute(last_free=self.limit.free - 1, **ends, **where))

    def _add_first(self, now: float) -> bool:
        _DELETE_EXPIRED.execute(id=self.id, now=int(now))
        is_first = insert_or_ignore(
            AttemptCount,
            id=self.id,
            retry_at=0 if self.limit.free > 1 else _after(now, self.limit.waits[0]),
            count=1,
            expires_at=int(now) + self.limit.window,
            kind=self.kind,
        )
        if is_first:
            purge_some(AttemptCount, now)
        return is_first


@cache
def _addition(steps: int) -> Statement:
    """Return the UPDATE of an attempt, for a limit with so many waits."""
    count, retry_at = AttemptCount.count, AttemptCount.retry_at
    last_free = given(count, "last_free")
    ends = [given(retry_at, f"end{step}") for step in range(steps)]
    # With five free attempts, the fifth failure gets the first wait, the sixth the second.
    further = [(count == last_free + step, end) for step, end in enumerate(ends[:-1])]
    cases = peewee.Case(None, [(count < last_free, 0), *further], ends[-1])
    is_due = (retry_at <= _NOW) | (retry_at > given(retry_at, "wrong_clock"))
    changes = {retry_at: cases, count: count + 1}
    return Statement(lambda: AttemptCount.update(changes).where(_IS_OURS, is_due, _IS_VALID))


def read_waits(counters: Collection[Counter], now: int) -> dict[Counter, int]:
    """Return the waits of the counters whose rows exist, in seconds, with one SELECT."""
    rows = AttemptCount.select(AttemptCount.id, AttemptCount.retry_at, AttemptCount.expires_at)
    found = rows.where(AttemptCount.id.in_([each.id for each in counters]))
    times = {row.id: (row.retry_at, row.expires_at) for row in found if row.expires_at > now}
    return {
        each: each.wait_of(*times[each.id], now) if each.limit.free else 0
        for each in counters
        if each.id in times
    }


class Mark(NamedTuple):
    """A row that says until when something is remembered.

    In a transaction, MariaDB's UPDATE or DELETE of a missing row locks a gap, in which other
    transactions cannot insert: logins of different users could deadlock. So call `prolong` and
    `delete` only for a row that was just read or inserted.
    """

    id: str

    def ends_at(self) -> int:
        """Return the end of the mark, which can be past; 0 if there is no row."""
        row = _ROW.fetchone(id=self.id, now=0)
        return 0 if row is None else row[2]

    def make(self, now: int, duration: int) -> bool:
        """Make the mark, unless there is one; of concurrent calls, one returns True."""
        ends_at = self.ends_at()
        if ends_at:
            return ends_at <= now and self.prolong(ends_at, now + duration)
        row = {"retry_at": 0, "count": 0, "expires_at": now + duration}
        return insert_or_ignore(AttemptCount, id=self.id, **row)

    def prolong(self, ends_at: int, until: int) -> bool:
        """Compare and set the end, and return whether it was set."""
        return bool(_PROLONG.execute(id=self.id, ends_at=ends_at, until=until))

    def delete(self) -> None:
        """Delete the mark."""
        _DELETE.execute(id=self.id)


class Counters:
    """Makes the counters of a site."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def one(self, limit: Limit, *what: str, kind: str | None = None) -> Counter:
        """Return the counter for the subject of a limit, such as a name."""
        return Counter(row_id(self._key, "throttle", limit.reason, *what), limit, kind)

    def of_networks(self, limit: Limit, networks: Networks) -> list[Counter]:
        """Return one counter for each of the client's networks."""
        site_limit = replace(limit, free=SITE_SHARE * limit.free)
        narrowest, *wider = networks
        return [self.one(limit, narrowest), *(self.one(site_limit, each) for each in wider)]


def locked_names(now: int) -> int:
    """Return how many names must wait before strangers can try them again."""
    waiting = (AttemptCount.kind == NAME) & (AttemptCount.retry_at > now)
    return int(AttemptCount.select().where(waiting, AttemptCount.expires_at > now).count())


def row_id(key: bytes, *what: str) -> str:
    """Return the digest, keyed with SECRET_KEY, that identifies a row."""
    # JSON quotes each part, so no name can be mistaken for a name and an address. Marks of known
    # places last for a year, so the key stays SECRET_KEY itself, which no purpose derives.
    return keyed_digest(key, json.dumps(what).encode()).hex()


def _after(now: float, wait: int) -> int:
    """Return the end of a wait, or 0 without one, which is past on every host's clock."""
    return math.ceil(now) + wait if wait else 0
