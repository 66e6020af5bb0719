"""The last failed logins under a name, for the staff panel.

A flood cannot fill the table: a failure is recorded after its password was compared, each name has
one row for each hour, and attempts that must wait (429) write nothing. A row expires a day after
its hour.

Names without an account have rows too, so neither the statements nor their time reveal which
accounts exist. Codes and passkeys that fail after a right password are recorded under the user's
number. A passkey that fails without a name is not recorded, because it has no user.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import peewee

from wsgiauth.events import Event, kinds
from wsgiauth.events.models import printable
from wsgiauth.storage import context
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import report_failure
from wsgiauth.storage.models import Model, from_timestamp
from wsgiauth.storage.statements import (
    Statement,
    given,
    insert_or_ignore,
    is_given,
    is_one_of,
    numbered,
)
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.throttling.counts import row_id

LISTED = 10
STORED = 1000  # more than the rows of a user can have
HOUR = 60 * 60  # seconds
KEPT_FOR = 24 * HOUR
_LINES_MAX_LENGTH = LISTED * 100  # a line has at most 92 characters


class FailedLogins(Model):
    """The last failed logins of one name or user in one hour."""

    id = peewee.CharField(max_length=64, primary_key=True)  # a keyed digest: see `AttemptCount`
    # A line for each, the newest first: the time in seconds since the epoch, the reason and the
    # address, separated by tabs. One column, so that one statement adds a line and drops the
    # oldest, atomic under concurrency.
    lines = peewee.CharField(max_length=_LINES_MAX_LENGTH)
    expires_at = peewee.BigIntegerField(index=True)
    # The user who had the name at the last failure for which an account was looked up.
    user_id = peewee.BigIntegerField(null=True, index=True)

    class Meta:
        table_name = "wsgiauth_failed_logins"


_LINES = given(FailedLogins.lines, "line").concat(FailedLogins.lines)
_ADD_LINE = Statement(
    lambda: FailedLogins.update(
        lines=peewee.fn.SUBSTR(_LINES, 1, _LINES_MAX_LENGTH),
        user_id=peewee.fn.COALESCE(given(FailedLogins.user_id), FailedLogins.user_id),
    ).where(is_given(FailedLogins.id))
)
_FORGET_USER = Statement(
    lambda: FailedLogins.update(user_id=None).where(is_given(FailedLogins.user_id))
)


class FailedLogin(NamedTuple):
    """A failed login."""

    time: datetime  # in UTC
    reason: str  # as in the event, or "wrong code", "wrong passkey"; see `proofs.require_factor`
    address: str | None  # of the client, if it is known


class Wait(NamedTuple):
    """A reason for which logins of a user are refused now."""

    reason: str  # of the limit, as in the event `throttled`
    until: datetime  # in UTC
    name: str | None  # "username" or "email" if it is about that name only
    address: str | None  # of the client that must wait; None: the clients that `reason` implies


class FailureLog(NamedTuple):
    """The failed logins of a name or a user, in rows that need not exist yet."""

    id: str

    @classmethod
    def of(cls, key: bytes, *what: str) -> "FailureLog":
        """Return the log of a name or a user, whose digest is keyed with SECRET_KEY."""
        return cls(row_id(key, "failed logins", *what))

    def row_of(self, hour: int) -> str:
        """Return the id of the row about an hour, counted since the epoch."""
        return row_id(self.id.encode(), str(hour))

    def add(self, now: int, reason: str, user_id: int | None = None) -> None:
        """Record a failure of the client that sent this request.

        The statements are the same whether there is a user or not. A database error is only logged,
        because the count, which limits guesses, is written before.
        """
        line = f"{now}\t{reason}\t{printable(context.client_address()) or ''}\n"
        try:
            # Twice, because a concurrent failure can insert the row between the two statements.
            any(
                self._add_line(line, now, user_id) or self._add_row(line, now, user_id)
                for _ in range(2)
            )
        except DATABASE_ERRORS as error:
            report_failure(error)

    def _add_line(self, line: str, now: int, user_id: int | None) -> bool:
        return bool(_ADD_LINE.execute(id=self.row_of(now // HOUR), line=line, user_id=user_id))

    def _add_row(self, line: str, now: int, user_id: int | None) -> bool:
        hour = now // HOUR
        row = {"id": self.row_of(hour), "lines": line, "expires_at": _end_of(hour)}
        is_first = insert_or_ignore(FailedLogins, **row, user_id=user_id)
        if is_first:
            purge_some(FailedLogins, now)
        return is_first


def forget_deleted(event: Event, _details: Mapping[str, str]) -> None:
    """Forget the number of a user in the transaction in which they are deleted; a recorder."""
    if event.name == kinds.USER_DELETED.name:
        _FORGET_USER.execute(user_id=event.user_id)


def users_who_failed(since: int, most: int) -> list[int]:
    """Return the numbers of the users with the newest failures since a time, the newest first.

    Reads up to `most` rows. A user has several, for the names and the second factor.
    """
    # A line begins with its time. A row of an earlier hour has no line since then.
    rows: Any = (
        FailedLogins.select(FailedLogins.user_id)
        .where(
            FailedLogins.expires_at >= _end_of(since // HOUR), FailedLogins.user_id.is_null(False)
        )
        .order_by(FailedLogins.lines.desc())
        .limit(most)
        .tuples()
    )
    return list(dict.fromkeys(user_id for (user_id,) in rows))


def list_failures(logs: Collection[FailureLog], now: int, most: int = LISTED) -> list[FailedLogin]:
    """Return the last failures in some logs together, the newest first; costs one SELECT."""
    hours = range((now - KEPT_FOR) // HOUR, now // HOUR + 1)
    ids = [each.row_of(hour) for each in logs for hour in hours]
    rows = _lines_of(len(ids)).fetchall(**numbered("id", ids))
    # After the last line break, there is nothing or a line that was cut.
    lines = [line.split("\t") for (text,) in rows for line in text.split("\n")[:-1]]
    failures = [
        FailedLogin(from_timestamp(int(time)), reason, address or None)
        for time, reason, address in lines
        if int(time) > now - KEPT_FOR
    ]
    return sorted(failures, key=lambda each: each.time, reverse=True)[:most]


@lru_cache(maxsize=4)  # a user has one to three logs
def _lines_of(number: int) -> Statement:
    """Return the SELECT of the lines in so many rows."""
    return Statement(
        lambda: FailedLogins.select(FailedLogins.lines).where(is_one_of(FailedLogins.id, number))
    )


def _end_of(hour: int) -> int:
    """Return when the rows about an hour expire."""
    return (hour + 1) * HOUR + KEPT_FOR
