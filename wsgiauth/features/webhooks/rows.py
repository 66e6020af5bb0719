"""The rows of webhooks: how they are written, claimed, postponed, ended and deleted.

A claim is a lease, not a try: a try is counted when its answer is known. If a process is killed,
another one makes the same try after the lease. A try that fails changes nothing if another process
has claimed the row meanwhile.
"""

import secrets
import time
from collections.abc import Collection, Iterator
from typing import Any

import peewee

from wsgiauth.authentication.lifetimes import DAY, HOUR
from wsgiauth.features.webhooks.tables import Webhook
from wsgiauth.figures import Waiting
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.statements import (
    ModelStatement,
    Statement,
    given,
    insert_row,
    is_given,
)
from wsgiauth.storage.upkeep import purge_some

LEASE = 30  # seconds, longer than a receiver can take: see `sending.DEADLINE`
KEPT = 7 * DAY  # for `resend`
# For which a row waits if no process sends it, or if it is for a URL that no process knows.
LIFETIME = 30 * DAY
MOST_ENDED = 10_000  # rows of a URL that are kept
BATCH = 1000
# A process with other settings, as at a restart, can know a URL that this one does not know.
UNKNOWN_AFTER = 1 * HOUR

_WAITS = Webhook.due_at.is_null(False)
_COUNT = peewee.fn.COUNT(peewee.SQL("*"))


def new_id() -> str:
    """Return a random id that begins with the time, so that ids are in the order of events."""
    return f"msg_{time.time_ns():016x}{secrets.token_hex(8)}"


def insert(destinations: Collection[str], event: str, body: str, now: int) -> None:
    """Insert a row for each URL, in the transaction of the change."""
    common = {"event": event, "body": body, "created_at": now, "due_at": now, "attempts": 0}
    common |= {"failure": "", "expires_at": now + LIFETIME}
    for each in destinations:
        insert_row(Webhook, id=new_id(), destination=each, **common)


_OLDEST_DUE = ModelStatement(
    lambda: (
        Webhook.select()
        .where(is_given(Webhook.destination), Webhook.due_at <= given(Webhook.due_at, "now"))
        .order_by(Webhook.due_at, Webhook.id)
        .limit(1)
    )
)
_NEXT_DUE = Statement(
    lambda: Webhook.select(peewee.fn.MIN(Webhook.due_at)).where(is_given(Webhook.destination))
)
_IS_CLAIMED = is_given(Webhook.id) & is_given(Webhook.due_at, "former")
_CLAIM = Statement(lambda: Webhook.update(due_at=given(Webhook.due_at)).where(_IS_CLAIMED))
_DELETE = Statement(lambda: Webhook.delete().where(is_given(Webhook.id)))
_POSTPONE = Statement(
    lambda: Webhook.update(
        due_at=given(Webhook.due_at),
        attempts=given(Webhook.attempts),
        failure=given(Webhook.failure),
    ).where(_IS_CLAIMED)
)


def oldest_due(destination: str, now: float) -> Webhook | None:
    """Return the row of a URL that is due for longest."""
    return _OLDEST_DUE.first(destination=destination, now=int(now))


def next_due(destination: str) -> int | None:
    """Return when the next row of a URL is due; None: no row waits."""
    rows: list[tuple[int | None]] = _NEXT_DUE.fetchall(destination=destination)
    return rows[0][0]


@repeated_after_conflict
def claim(row: Webhook, now: float) -> bool:
    """Compare and set; return whether this process sends the webhook."""
    lease_ends_at = int(now) + LEASE
    with database.atomic():
        if not _CLAIM.execute(id=row.id, former=row.due_at, due_at=lease_ends_at):
            return False
    row.due_at = lease_ends_at
    return True


@repeated_after_conflict
def delete(row: Webhook) -> None:
    """Delete a row that was accepted, even if another process has claimed it meanwhile."""
    with database.atomic():
        _DELETE.execute(id=row.id)


@repeated_after_conflict
def postpone(row: Webhook, failure: str, due_at: int) -> None:
    """Count a failed try of a claimed row, and try again at a later time."""
    changed = {"due_at": due_at, "attempts": row.attempts + 1, "failure": failure}
    with database.atomic():
        _POSTPONE.execute(id=row.id, former=row.due_at, **changed)


@repeated_after_conflict
def end(row: Webhook, failure: str, now: int) -> bool:
    """Count the last failed try of a claimed row, and keep the row for `resend`.

    Returns:
        Whether it was still claimed.
    """
    changed = {**_ended(failure, now), "attempts": row.attempts + 1}
    with database.atomic():
        is_ended = bool(Webhook.update(changed).where(_is_same(row)).execute())
    purge_some(Webhook, now)
    return is_ended


def end_all(destination: str, failure: str, now: int) -> int:
    """End the tries of all rows of a URL until now, and return their number."""
    found = (Webhook.destination == destination) & _WAITS & (Webhook.created_at <= now)
    return sum(_end_batch(ids, failure, now) for ids in _batches(found))


@repeated_after_conflict
def _end_batch(ids: Collection[str], failure: str, now: int) -> int:
    with database.atomic():
        update = Webhook.update(_ended(failure, now)).where(Webhook.id.in_(ids), _WAITS)
        return int(update.execute())


def trim_ended(destination: str) -> None:
    """Delete the oldest rows of a URL that are kept for `resend`, beyond `MOST_ENDED`."""
    ended = (Webhook.destination == destination) & Webhook.due_at.is_null()
    oldest = Webhook.select(Webhook.id).where(ended).order_by(Webhook.id.desc())
    while ids := [each.id for each in oldest.offset(MOST_ENDED).limit(BATCH)]:
        _delete_ended(ids)


@repeated_after_conflict
def _delete_ended(ids: Collection[str]) -> None:
    with database.atomic():
        Webhook.delete().where(Webhook.id.in_(ids), Webhook.due_at.is_null()).execute()


def drop_unknown(known: Collection[str], now: float) -> int:
    """Delete the waiting rows of URLs that WEBHOOKS no longer has, and return their number."""
    old = Webhook.created_at <= int(now) - UNKNOWN_AFTER
    deleted = 0
    for destination in destinations():
        if destination not in known:
            found = (Webhook.destination == destination) & _WAITS & old
            deleted += sum(map(_delete_batch, _batches(found)))
    return deleted


@repeated_after_conflict
def _delete_batch(ids: Collection[str]) -> int:
    with database.atomic():
        return int(Webhook.delete().where(Webhook.id.in_(ids), _WAITS).execute())


def destinations() -> Iterator[str]:
    """Yield the digests of the URLs that have rows, by one look-up in an index for each."""
    smallest = peewee.fn.MIN(Webhook.destination)
    found = Webhook.select(smallest).scalar()
    while found is not None:
        yield found
        found = Webhook.select(smallest).where(Webhook.destination > found).scalar()


def count_waiting(destination: str, most: int | None = None) -> int:
    """Return how many rows of a URL wait; with `most`, count no further."""
    waiting = Webhook.select(peewee.SQL("1")).where(Webhook.destination == destination, _WAITS)
    return int((waiting if most is None else waiting.limit(most)).count())


def waiting() -> Waiting:
    """Return how many rows wait, and since when."""
    rows: Any = Webhook.select(_COUNT, peewee.fn.MIN(Webhook.created_at)).where(_WAITS)
    number, oldest = rows.tuples().get()
    return Waiting(int(number), oldest)


def pages() -> Iterator[list[Webhook]]:
    """Yield all rows without their bodies, the oldest first, some at a time."""
    columns = [each for each in Webhook._meta.sorted_fields if each.name != "body"]
    last = ""
    while page := [
        *Webhook.select(*columns).where(Webhook.id > last).order_by(Webhook.id).limit(BATCH)
    ]:
        yield page
        last = page[-1].id


def find(webhook_id: str) -> Webhook | None:
    """Return a row."""
    return Webhook.find_by_id(webhook_id)


@repeated_after_conflict
def resend(row: Webhook, now: int) -> bool:
    """Let a row be sent anew, with all tries; return False if it has been claimed meanwhile."""
    again = {"due_at": now, "attempts": 0, "failure": "", "expires_at": now + LIFETIME}
    with database.atomic():
        return bool(Webhook.update(again).where(_is_same(row)).execute())


def _batches(found: peewee.Expression) -> Iterator[list[str]]:
    """Yield the ids of rows, which each step ends or deletes."""
    while ids := [each.id for each in Webhook.select(Webhook.id).where(found).limit(BATCH)]:
        yield ids


def _ended(failure: str, now: int) -> dict[str, object]:
    return {"due_at": None, "failure": failure, "expires_at": now + KEPT}


def _is_same(row: Webhook) -> peewee.Expression:
    is_due = Webhook.due_at.is_null() if row.due_at is None else Webhook.due_at == row.due_at
    return (Webhook.id == row.id) & is_due
