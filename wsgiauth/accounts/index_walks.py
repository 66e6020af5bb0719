"""Ways along an index of the users, in chunks, from any position: what `user_search` is made of.

Each query reads a range of one index in its order, on every database, so that it costs the same
however many users there are.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import reduce
from heapq import merge
from itertools import chain, repeat
from operator import and_
from typing import Any, NamedTuple

import peewee

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership
from wsgiauth.storage import database
from wsgiauth.storage.models import as_utc

# Rows of each query: one page is often enough, and the first two are all that a page examines.
_CHUNKS = (51, 250, 500)
_DIGITS = 19  # a number that has fewer fits into 64 bits
_LAST = "\U0010ffff"  # after every character that a name can have


class FoundUser(NamedTuple):
    """A user in a list; see `User`."""

    id: int
    username: str
    email: str
    is_active: bool
    is_staff: bool
    is_superuser: bool
    created_at: datetime
    email_verified_at: datetime | None
    last_login_at: datetime | None


class Row(NamedTuple):
    """A row of a walk, as the database's driver returns it: most rows may not match.

    Attributes:
        values: The values of `_COLUMNS`.
    """

    values: tuple[Any, ...]

    @property
    def matches(self) -> bool:
        """Whether the user matches all criteria."""
        return bool(self.values[-1])

    @property
    def id(self) -> int:
        """The number of the user."""
        return int(self.values[0])

    @property
    def user(self) -> FoundUser:
        """The user."""
        number, username, email, is_active, is_staff, is_superuser, *times = self.values[:9]
        created_at, verified_at, last_login_at = (time and as_utc(time) for time in times)
        return FoundUser(
            number,
            username,
            email,
            bool(is_active),  # SQLite stores booleans as numbers
            bool(is_staff),
            bool(is_superuser),
            created_at,
            verified_at,
            last_login_at,
        )

    def value(self, column: Any) -> Any:
        """Return the value in a column."""
        return self.values[_POSITIONS[column.name]]

    def without_match(self) -> "Row":
        """Return the same row as one that does not match."""
        return Row((*self.values[:-1], 0))


_COLUMNS = (*(getattr(User, name) for name in FoundUser._fields), User.username_key, User.email_key)
_POSITIONS = {column.name: position for position, column in enumerate(_COLUMNS)}


class Walk(ABC):
    """A way along an index.

    Args:
        others: What a user must match besides being on the way.
    """

    def __init__(self, others: list[Any]) -> None:
        matches: Any = peewee.SQL("1")
        if others:
            matches = peewee.Case(None, [(reduce(and_, others), peewee.SQL("1"))], peewee.SQL("0"))
        self._query = User.select(*_COLUMNS, matches)

    @abstractmethod
    def rows(self, position: str) -> Iterator[tuple[str, Row]]:
        """Yield the rows after a position, each with its own position.

        An empty or malformed position stands for the beginning.
        """

    def _read(self, condition: Any, *order: Any, size: int) -> list[Row]:
        query: Any = self._query if condition is None else self._query.where(condition)
        cursor = database.execute(query.order_by(*order).limit(size))
        return [Row(values) for values in cursor.fetchall()]


class ByNumber(Walk):
    """The newest users first, perhaps only those with one value in a column that has an index.

    Args:
        others: See `Walk`.
        column: The column, or None.
        condition: Which value it has.
    """

    def __init__(self, others: list[Any], column: Any = None, condition: Any = None) -> None:
        super().__init__(others)
        self._condition = condition
        # With the column, although it is always the same: PostgreSQL then knows that the index has
        # this order, also for NULL.
        self._order = [each.desc() for each in (column, User.id) if each is not None]

    def rows(self, position: str) -> Iterator[tuple[str, Row]]:
        """Yield the rows; a position is the number of a user."""
        number = _parse_number(position)
        sizes = _sizes()
        while True:
            size = next(sizes)
            rows = self._read(self._beyond(number), *self._order, size=size)
            yield from ((str(row.id), row) for row in rows)
            if len(rows) < size:
                return
            number = rows[-1].id

    def _beyond(self, number: int) -> Any:
        if not number:
            return self._condition
        beyond = User.id < number
        return beyond if self._condition is None else self._condition & beyond


class ByGroup(Walk):
    """The members of a group, the newest account first.

    Args:
        others: See `Walk`.
        group_id: The number of the group.
    """

    def __init__(self, others: list[Any], group_id: int) -> None:
        super().__init__(others)
        self._query = self._query.join(Membership, on=Membership.user == User.id)
        self._group_id = group_id

    def rows(self, position: str) -> Iterator[tuple[str, Row]]:
        """Yield the rows; a position is the number of a user."""
        number = _parse_number(position)
        sizes = _sizes()
        while True:
            size = next(sizes)
            condition = Membership.group == self._group_id
            if number:
                condition &= Membership.user < number
            order = Membership.group.desc(), Membership.user.desc()
            rows = self._read(condition, *order, size=size)
            yield from ((str(row.id), row) for row in rows)
            if len(rows) < size:
                return
            number = rows[-1].id


class ByTime(Walk):
    """Users who have a time in a column that has an index, the latest first.

    Args:
        others: See `Walk`.
        column: The column.
    """

    def __init__(self, others: list[Any], column: Any) -> None:
        super().__init__(others)
        self._column = column

    def rows(self, position: str) -> Iterator[tuple[str, Row]]:
        """Yield the rows; a position is a time and the number of a user."""
        bound = _parse_time(position)
        sizes = _sizes()
        while True:
            size = next(sizes)
            rows = self._chunk(bound, size)
            for row in rows:
                time, number = bound = as_utc(row.value(self._column)), row.id
                yield f"{time.isoformat()}~{number}", row
            if len(rows) < size:
                return

    def _chunk(self, bound: tuple[datetime, int] | None, size: int) -> list[Row]:
        order = self._column.desc(), User.id.desc()
        if bound is None:
            return self._read(self._column.is_null(False), *order, size=size)
        time, number = bound
        # Two ranges, because MariaDB reads the whole index for a comparison of pairs.
        rows = self._read((self._column == time) & (User.id < number), *order, size=size)
        if len(rows) < size:
            rows += self._read(self._column < time, *order, size=size - len(rows))
        return rows


class ByName(Walk):
    """Users whose username or e-mail address begins with a key, in the order of these names.

    Args:
        others: See `Walk`.
        beginning: The key.
    """

    def __init__(self, others: list[Any], beginning: str) -> None:
        super().__init__(others)
        self._beginning = beginning

    def rows(self, position: str) -> Iterator[tuple[str, Row]]:
        """Yield the rows; a position is the key of a name."""
        bound = position if _can_be_key(position) else ""
        usernames = self._stream(User.username_key, bound)
        emails = self._stream(User.email_key, bound)
        for key, row in merge(usernames, emails, key=lambda entry: entry[0]):
            others = {row.value(User.username_key), row.value(User.email_key)} - {key}
            if any(each < key and each.startswith(self._beginning) for each in others):
                row = row.without_match()  # was listed by the other name
            yield key, row

    def _stream(self, column: Any, bound: str) -> Iterator[tuple[str, Row]]:
        within = (column >= self._beginning) & (column < self._beginning + _LAST)
        sizes = _sizes()
        while True:
            size = next(sizes)
            condition = within & (column > bound) if bound else within
            rows = self._read(condition, column, size=size)
            for row in rows:
                bound = row.value(column)
                yield bound, row
            if len(rows) < size:
                return


def has_beginning(beginning: str) -> Any:
    """Return the condition that the username or the e-mail address begins with a key."""
    end = beginning + _LAST
    return reduce(
        lambda one, another: one | another,
        ((each >= beginning) & (each < end) for each in (User.username_key, User.email_key)),
    )


def is_member(group_id: int) -> Any:
    """Return the condition that a user is in a group."""
    own = Membership.select(peewee.SQL("1")).where(
        Membership.group == group_id, Membership.user == User.id
    )
    return peewee.fn.EXISTS(own)


def _sizes() -> Iterator[int]:
    return chain(_CHUNKS, repeat(_CHUNKS[-1]))


def _can_be_key(text: str) -> bool:
    return len(text) <= names.EMAIL_MAX_LENGTH and text.isprintable()


def _parse_number(position: str) -> int:
    is_number = position.isascii() and position.isdigit() and len(position) < _DIGITS
    return int(position) if is_number else 0


def _parse_time(position: str) -> tuple[datetime, int] | None:
    time, _, number = position.partition("~")
    try:
        return datetime.fromisoformat(time).astimezone(UTC), _parse_number(number)
    except (ValueError, OverflowError):
        return None
