"""The orders in which `user_search` reads users: each along an index, from a position, either way.

A position is the key of a user: what an order compares. The user may have been deleted since.
"""

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from heapq import merge
from typing import Any, NamedTuple

import peewee

from wsgiauth import storage
from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.storage import database
from wsgiauth.storage.models import as_utc

LAST = "\U0010ffff"  # after every character that a name can have

_DIGITS = 19  # a number that has fewer fits into 64 bits
_NEVER = datetime.min.replace(tzinfo=UTC)  # before every time


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


_SHOWN: tuple[Any, ...] = tuple(getattr(User, name) for name in FoundUser._fields)

# What each query selects; whether the row matches all criteria comes last.
COLUMNS = (*_SHOWN, User.username_key, User.email_key)

_INDEX = {column.name: number for number, column in enumerate(COLUMNS)}


class Entry(NamedTuple):
    """A row as the database's driver returns it: most rows may not match."""

    key: Any
    row: tuple[Any, ...]
    matches: bool  # all criteria; False also for a user who comes elsewhere in the order

    @property
    def user(self) -> FoundUser:
        """The user of the row."""
        values = zip(_SHOWN, self.row, strict=False)
        return FoundUser(*(column.python_value(value) for column, value in values))


class Numbered(NamedTuple):
    """Users along an index whose order, for all of them, is that of their numbers."""

    query: Any
    leading: tuple[Any, ...] = ()  # columns of the index in which all of them are the same
    number: Any = User.id

    def beyond(self, number: int | None, *, is_descending: bool) -> Any:
        """Return those after a number, or all of them, in order."""
        query = (
            self.query
            if number is None
            else self.query.where(_beyond(self.number, number, is_descending))
        )
        return query.order_by(*_directed((*self.leading, self.number), is_descending))


def numbered_by_value(query: Any, column: Any, condition: Any) -> Numbered:
    """Return the users with one value in a column, along the index of the column and the number."""
    # With the column, although it is always the same: PostgreSQL then knows that the index has this
    # order, also for NULL. MariaDB would sort the rows with NULL.
    leading = () if _is_mariadb() else (column,)
    return Numbered(along(query, f"{column.column_name}_id").where(condition), leading)


def along(query: Any, index: str) -> Any:
    """Let MariaDB read an index, given by its columns.

    Otherwise, it could sort all rows, or all with a frequent value. Others do without being told.
    """
    if not _is_mariadb():
        return query
    hint = peewee.SQL(f"FORCE INDEX (wsgiauth_user_{index})")
    return query.from_(peewee.NodeList((User, hint)))


def _is_mariadb() -> bool:
    return isinstance(storage.current(), peewee.MySQLDatabase)


class Order(ABC):
    """An order of users by a key."""

    @abstractmethod
    def key(self, row: tuple[Any, ...]) -> Any:
        """Return what the order compares of a row."""

    def text(self, key: Any) -> str:
        """Return a key for a URL."""
        return str(key)

    @abstractmethod
    def parse(self, text: str) -> Any:
        """Return the key that a string in a URL stands for, or None if it stands for none."""

    @abstractmethod
    def read(self, position: Any, size: int, *, is_descending: bool) -> list[Entry]:
        """Read the first rows after a position, or after the beginning if it is None."""

    def entry(self, row: tuple[Any, ...]) -> Entry:
        """Return the entry of a row."""
        return Entry(self.key(row), row, bool(row[-1]))


class ByNumber(Order):
    """By the age of the account."""

    def __init__(self, users: Numbered) -> None:
        self._users = users

    def key(self, row: tuple[Any, ...]) -> int:
        """Return the number of the user."""
        return int(row[0])

    def parse(self, text: str) -> int | None:
        """Return a number."""
        is_number = text.isascii() and text.isdigit() and len(text) < _DIGITS
        return int(text) if is_number else None

    def read(self, position: int | None, size: int, *, is_descending: bool) -> list[Entry]:
        """Read by the number."""
        rows = read(self._users.beyond(position, is_descending=is_descending), size)
        return [self.entry(row) for row in rows]


class ByTime(Order):
    """By a time; users without one come before all others.

    Args:
        users: All who have a time.
        others: All who have none; None leaves them out.
    """

    def __init__(self, column: Any, users: Any, others: Numbered | None) -> None:
        self._users = along(users, f"{column.column_name}_id")
        self._column, self._others = column, others
        self._index = _INDEX[column.name]

    def key(self, row: tuple[Any, ...]) -> tuple[datetime, int]:
        """Return the time and the number."""
        time = row[self._index]
        return _NEVER if time is None else as_utc(time), row[0]

    def text(self, key: tuple[datetime, int]) -> str:
        """Return both."""
        return f"{key[0].isoformat()}~{key[1]}"

    def parse(self, text: str) -> tuple[datetime, int] | None:
        """Return both."""
        time, _, number = text.partition("~")
        if not (number.isascii() and number.isdigit() and len(number) < _DIGITS):
            return None
        try:
            return datetime.fromisoformat(time).astimezone(UTC), int(number)
        except (ValueError, OverflowError):
            return None

    def read(
        self, position: tuple[datetime, int] | None, size: int, *, is_descending: bool
    ) -> list[Entry]:
        """Read one range after another, because only each for itself is in an index's order."""
        rows: list[tuple[Any, ...]] = []
        timed, others = self._ranges(position, is_descending)
        for query in timed + others if is_descending else others + timed:
            if len(rows) < size:
                rows += read(query, size - len(rows))
        return [self.entry(row) for row in rows]

    def _ranges(
        self, position: tuple[datetime, int] | None, is_descending: bool
    ) -> tuple[list[Any], list[Any]]:
        time, number = position or (None, None)
        column, users = self._column, self._users
        has_time = time not in (None, _NEVER)
        timed, others = [], []
        if has_time:
            # Two ranges, because MariaDB reads the whole index for a comparison of pairs.
            timed = [
                users.where(column == time, _beyond(User.id, number, is_descending)),
                users.where(_beyond(column, time, is_descending)),
            ]
        elif position is None or not is_descending:
            timed = [users.where(column.is_null(False))]
        if self._others is not None and (not has_time or is_descending):
            first = None if has_time else number
            others = [self._others.beyond(first, is_descending=is_descending)]
        order = _directed((column, User.id), is_descending)
        return [query.order_by(*order) for query in timed], others


class ByName(Order):
    """By a name, as names are compared."""

    def __init__(self, column: Any, users: Any) -> None:
        self._column, self._users = column, along(users, column.column_name)
        self._index = _INDEX[column.name]

    def key(self, row: tuple[Any, ...]) -> str:
        """Return the name."""
        return str(row[self._index])

    def parse(self, text: str) -> str | None:
        """Return what can be a name."""
        return _parse_name(text)

    def read(self, position: str | None, size: int, *, is_descending: bool) -> list[Entry]:
        """Read by the name."""
        query = _from_name(self._users, self._column, position, is_descending)
        return [self.entry(row) for row in read(query, size)]


class ByBeginning(Order):
    """By the names that begin as was searched: each user once, by the first of both names."""

    def __init__(self, beginning: str, users: Any) -> None:
        self._beginning, self._users = beginning, users

    def key(self, row: tuple[Any, ...]) -> str:
        """Return the first of both names that begins so."""
        keys: list[str] = [row[_INDEX[name]] for name in ("username_key", "email_key")]
        return min(key for key in keys if key.startswith(self._beginning))

    def parse(self, text: str) -> str | None:
        """Return what can be a name."""
        return _parse_name(text)

    def read(self, position: str | None, size: int, *, is_descending: bool) -> list[Entry]:
        """Read by both names, up to where both were read."""
        both = [
            self._read_one(column, position, size, is_descending)
            for column in (User.username_key, User.email_key)
        ]
        # Beyond, the one could have more names before those of the other.
        ends = [each[-1].key for each in both if len(each) == size]
        entries = merge(*both, key=lambda each: each.key, reverse=is_descending)
        if is_descending:
            return [each for each in entries if each.key >= max(ends, default="")]
        return [each for each in entries if each.key <= min(ends, default=LAST)]

    def _read_one(
        self, column: Any, position: str | None, size: int, is_descending: bool
    ) -> list[Entry]:
        users = along(self._users, column.column_name)
        users = users.where(begins(column, self._beginning))
        rows = read(_from_name(users, column, position, is_descending), size)
        keys = (row[_INDEX[column.name]] for row in rows)
        return [
            Entry(key, row, bool(row[-1]) and key == self.key(row))
            for key, row in zip(keys, rows, strict=True)
        ]


def read(query: Any, size: int) -> list[tuple[Any, ...]]:
    """Return the first rows of a query."""
    return list(database.execute(query.limit(size)).fetchall())


def begins(column: Any, beginning: str) -> Any:
    """Return the condition that a name begins so."""
    return (column >= beginning) & (column < beginning + LAST)


def _from_name(users: Any, column: Any, position: str | None, is_descending: bool) -> Any:
    if position is not None:
        users = users.where(_beyond(column, position, is_descending))
    return users.order_by(*_directed((column,), is_descending))


def _parse_name(text: str) -> str | None:
    return text if 0 < len(text) <= names.EMAIL_MAX_LENGTH and text.isprintable() else None


def _beyond(column: Any, value: Any, is_descending: bool) -> Any:
    return column < value if is_descending else column > value


def _directed(columns: tuple[Any, ...], is_descending: bool) -> list[Any]:
    return [each.desc() if is_descending else each.asc() for each in columns]
