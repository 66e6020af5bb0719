"""Counting attempts in the database, one atomic statement each: what `throttle` decides by."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import peewee

from wsgiauth.storage import Statement, database
from wsgiauth.storage.purge import purge_expired, purge_some


class AttemptCount(peewee.Model):
    """How often one thing was attempted, and when it may be attempted again.

    Attributes:
        id: What is counted, as a keyed digest: names that nobody has may be mistyped passwords.
        retry_at: No attempt before this, in seconds since the epoch.
        count: Attempts that failed or are under way. (Declared, and so written, after `retry_at`,
            which is computed of it: MariaDB would compute with the new value.)
        expires_at: When the row means nothing any more, in seconds since the epoch.
    """

    id = peewee.CharField(max_length=64, primary_key=True)
    retry_at = peewee.BigIntegerField()
    count = peewee.IntegerField()
    expires_at = peewee.BigIntegerField(index=True)

    class Meta:
        database = database
        table_name = "wsgiauth_attempt_count"


@dataclass(frozen=True)
class Limit:
    """How many attempts are free, and what the others cost.

    Attributes:
        reason: What events call it.
        free: Attempts without a wait; 0 for no limit.
        waits: Seconds to wait after the last free attempt, after the next one, and so on; the last
            is for all that follow. A single 0 counts, and makes no attempt wait.
        window: Seconds after its first attempt when a count begins anew. One that is remembered
            lasts for as long as it is remembered.
    """

    reason: str
    free: int
    waits: tuple[int, ...]
    window: int


# How much later than here another host's clock may be. A wait that ends later than that was written
# by a broken clock, and nobody should have to wait for it.
CLOCK_MARGIN = 60  # seconds

_ROW = Statement(
    lambda: AttemptCount.select(
        AttemptCount.count, AttemptCount.retry_at, AttemptCount.expires_at
    ).where(AttemptCount.id == "", AttemptCount.expires_at > 0)
)


class Counter(NamedTuple):
    """One row of attempts, whether it exists or not. Each change is one statement of its own."""

    id: str
    limit: Limit

    def exists(self, now: int) -> bool:
        """Return whether anything is counted or remembered."""
        return _ROW.fetchone(self.id, now) is not None

    def is_used_up(self, now: int) -> bool:
        """Return whether the limit is on and no free attempt is left."""
        row = _ROW.fetchone(self.id, now)
        return row is not None and 0 < self.limit.free <= row[0]

    def with_one_free(self) -> "Counter":
        """Return a counter of the same row that allows one attempt without a wait."""
        return self._replace(limit=replace(self.limit, free=min(self.limit.free, 1)))

    def wait(self, now: int) -> int:
        """Return for how many more seconds no attempt is allowed."""
        row = _ROW.fetchone(self.id, now) if self.limit.free else None
        if row is None:
            return 0
        _, retry_at, expires_at = row
        wait = max(min(retry_at, expires_at) - now, 0)
        return wait if wait <= self.limit.waits[-1] + CLOCK_MARGIN else 0

    def add(self, now: int) -> bool:
        """Count an attempt, unless it must wait; return whether it counted.

        Atomic under concurrency.
        """
        if not self.limit.free:
            return True
        # The second time, when another attempt became the first in between.
        return any(self._add_one(now) or self._add_first(now) for _ in range(2))

    def take_back(self) -> None:
        """Uncount an attempt, and with it the wait that followed."""
        AttemptCount.update(retry_at=0, count=AttemptCount.count - 1).where(
            AttemptCount.id == self.id, AttemptCount.count > 0
        ).execute()

    def forget(self) -> None:
        """Count from nothing again."""
        AttemptCount.delete().where(AttemptCount.id == self.id).execute()

    def remember(self, now: int, duration: int) -> None:
        """Keep a row for `duration` seconds, in which nothing is counted yet."""
        nothing = {"retry_at": 0, "count": 0, "expires_at": now + duration}
        updated = AttemptCount.update(nothing).where(AttemptCount.id == self.id).execute()
        if not updated:
            AttemptCount.insert(id=self.id, **nothing).on_conflict_ignore().execute()

    def _add_one(self, now: int) -> bool:
        count, (*waits, last_wait) = AttemptCount.count, self.limit.waits
        # With five free: up to the fourth failure no wait, with the fifth the first, and so on.
        steps = [
            (count == self.limit.free - 1 + step, _after(now, wait))
            for step, wait in enumerate(waits)
        ]
        free = (count < self.limit.free - 1, 0)
        retry_at = peewee.Case(None, [free, *steps], _after(now, last_wait))
        added = AttemptCount.update(retry_at=retry_at, count=count + 1).where(
            AttemptCount.id == self.id,
            (AttemptCount.retry_at <= now)
            | (AttemptCount.retry_at > now + last_wait + CLOCK_MARGIN),
            AttemptCount.expires_at > now,
        )
        return bool(added.execute())

    def _add_first(self, now: int) -> bool:
        AttemptCount.delete().where(
            AttemptCount.id == self.id, AttemptCount.expires_at <= now
        ).execute()
        inserted = AttemptCount.insert(
            id=self.id,
            retry_at=0 if self.limit.free > 1 else _after(now, self.limit.waits[0]),
            count=1,
            expires_at=now + self.limit.window,
        ).on_conflict_ignore()
        is_first = bool(inserted.as_rowcount().execute())
        if is_first:
            purge_some(AttemptCount, now)
        return is_first


def _after(now: int, wait: int) -> int:
    """Return the end of a wait; a wait of 0 has ended by every host's clock."""
    return now + wait if wait else 0


def purge(now: float) -> int:
    """Delete counts that have expired at `now` (seconds since the epoch); return how many.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    return purge_expired(AttemptCount, now)
