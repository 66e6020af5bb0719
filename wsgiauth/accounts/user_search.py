"""Find users among many: pages of a few rows, whose work does not grow with the number of users.

A page reads one index in its order, from where the page before it ended, and examines at most
`EXAMINED` rows. If few of these match, the page is short, and the next one goes on from there.
A SELECT with all criteria and a LIMIT would be simpler, but two filters that few users or none
match together make the database read a whole index, and an OFFSET makes it read all rows before.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial, reduce
from heapq import merge
from itertools import chain, repeat
from operator import and_
from typing import Any, NamedTuple

import peewee

from wsgiauth import storage
from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership
from wsgiauth.storage import database
from wsgiauth.storage.models import as_utc

PAGE = 50  # users
EXAMINED = 300  # rows

# Rows of each query: one is often enough for a page, and the first two are all that it examines.
_CHUNKS = (51, 250, 500)
_DIGITS = 19  # a number that has fewer fits into 64 bits
_LAST = "\U0010ffff"  # after every character that a name can have

_NEWEST = "newest"
_NAME = "name"
_GROUP = "group"
_FLAGS: Mapping[str, Any] = {
    "is_superuser": User.is_superuser,
    "is_staff": User.is_staff,
    "is_active": User.is_active,
}
_TIMES: Mapping[str, Any] = {
    "is_verified": User.email_verified_at,
    "has_logged_in": User.last_login_at,
}


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


class Criteria(NamedTuple):
    """Which users to find; None and an empty string stand for any."""

    beginning: str = ""  # of the username or the email address, in any letter case
    is_superuser: bool | None = None
    is_staff: bool | None = None
    is_active: bool | None = None
    is_verified: bool | None = None
    has_logged_in: bool | None = None
    group_id: int | None = None


class Found(NamedTuple):
    """A page of users."""

    users: list[FoundUser]
    after: str  # where the next page begins; empty if there is none
    is_cut: bool  # whether the page is short because so many rows did not match


class _Entry(NamedTuple):
    """A row of an index, as the database's driver returns it: most rows may not match."""

    position: str
    values: tuple[Any, ...]  # of `_COLUMNS`
    matches: bool  # all criteria

    @property
    def user(self) -> FoundUser:
        values = zip(_SHOWN, self.values, strict=False)
        return FoundUser(*(column.python_value(value) for column, value in values))


class _Way(NamedTuple):
    """A criterion along whose index users can be found."""

    query: Any  # the users who meet it, the latest last
    read: Callable[[Any, str, int], list[_Entry]]  # a chunk of the query after a position

    def entries(self, position: str) -> Iterator[_Entry]:
        sizes = chain(_CHUNKS, repeat(_CHUNKS[-1]))
        while True:
            size = next(sizes)
            chunk = self.read(self.query, position, size)
            yield from chunk
            if len(chunk) < size:
                return
            position = chunk[-1].position


def find_users(criteria: Criteria, after: str = "") -> Found:
    """Return the page of users after another one, or the first page if `after` is of no page."""
    if not criteria.beginning.isprintable():
        return Found([], "", False)  # no name can begin so
    ways = _ways(criteria)
    name, _, position = after.partition(":")
    if name not in ways:
        name, position = _choose(ways), ""
    users: list[FoundUser] = []
    last = ""
    for number, entry in enumerate(ways[name].entries(position)):
        if number == EXAMINED or (len(users) == PAGE and entry.matches):
            return Found(users, f"{name}:{last}", len(users) < PAGE)
        last = entry.position
        if entry.matches:
            users.append(entry.user)
    return Found(users, "", False)


def all_users(criteria: Criteria) -> Iterator[FoundUser]:
    """Yield all users; memory does not grow with their number."""
    if not criteria.beginning.isprintable():
        return iter(())
    ways = _ways(criteria)
    return (each.user for each in ways[_choose(ways)].entries("") if each.matches)


def _ways(criteria: Criteria) -> Mapping[str, _Way]:
    """Return the ways to find users, by name; the first is usually the best."""
    conditions = _conditions(criteria)
    return {name: _way(name, criteria, conditions) for name in conditions or (_NEWEST,)}


def _conditions(criteria: Criteria) -> dict[str, Any]:
    conditions: dict[str, Any] = {}
    if criteria.beginning:
        beginning = _key(criteria)
        conditions[_NAME] = _begins(User.username_key, beginning) | _begins(
            User.email_key, beginning
        )
    if criteria.group_id is not None:
        membership = Membership.select(peewee.SQL("1")).where(
            Membership.group == criteria.group_id, Membership.user == User.id
        )
        conditions[_GROUP] = peewee.fn.EXISTS(membership)
    for name, column in _FLAGS.items():
        if (wanted := getattr(criteria, name)) is not None:
            conditions[name] = column == wanted
    for name, column in _TIMES.items():
        if (wanted := getattr(criteria, name)) is not None:
            conditions[name] = column.is_null(not wanted)
    return conditions


def _way(name: str, criteria: Criteria, conditions: Mapping[str, Any]) -> _Way:
    others = [condition for each, condition in conditions.items() if each != name]
    matches: Any = peewee.SQL("1")
    if others:
        matches = peewee.Case(None, [(reduce(and_, others), peewee.SQL("1"))], peewee.SQL("0"))
    query: Any = User.select(*_COLUMNS, matches)
    if name == _NAME:
        return _Way(query, partial(_read_by_name, _key(criteria)))
    if name == _NEWEST:
        return _Way(query.order_by(User.id.desc()), partial(_read_by_number, User.id))
    if name == _GROUP:
        query = query.join(Membership, on=Membership.user == User.id)
        query = query.where(Membership.group == criteria.group_id)
        query = query.order_by(Membership.group.desc(), Membership.user.desc())
        return _Way(query, partial(_read_by_number, Membership.user))
    column = _FLAGS.get(name) or _TIMES[name]
    query = query.where(conditions[name])
    if name in _TIMES and getattr(criteria, name):
        query = query.order_by(column.desc(), User.id.desc())
        return _Way(query, partial(_read_by_time, column))
    return _Way(_newest_of_one_value(query, column), partial(_read_by_number, User.id))


def _newest_of_one_value(query: Any, column: Any) -> Any:
    """Order users with one value in a column by number, along the index of the two."""
    if isinstance(storage.current(), peewee.MySQLDatabase):
        # Otherwise it would sort the rows with NULL, and would read all rows of a frequent value.
        index = peewee.SQL(f"FORCE INDEX (wsgiauth_user_{column.column_name}_id)")
        return query.from_(peewee.NodeList((User, index))).order_by(User.id.desc())
    # With the column, although it is always the same: PostgreSQL then knows that the index has this
    # order, also for NULL.
    return query.order_by(column.desc(), User.id.desc())


def _choose(ways: Mapping[str, _Way]) -> str:
    """Return the name of a way of which one page can examine all rows, or of the first way."""
    first, *others = ways
    for name in ways if others else ():
        if name != _NAME and _is_short(ways[name]):
            return name
    return first


def _is_short(way: _Way) -> bool:
    return not way.query.select(User.id).limit(1).offset(EXAMINED).exists()


def _read_by_number(column: Any, query: Any, position: str, size: int) -> list[_Entry]:
    """Read by the numbers of the users, the newest account first."""
    number = _parse_number(position)
    rows = _read(query.where(column < number) if number else query, size)
    return [_Entry(str(row[0]), row, row[-1]) for row in rows]


def _read_by_time(column: Any, query: Any, position: str, size: int) -> list[_Entry]:
    """Read by a time and, at the same time, by the number, the latest first."""
    bound = _parse_time(position)
    if bound is None:
        rows = _read(query, size)
    else:
        time, number = bound
        # Two ranges, because MariaDB reads the whole index for a comparison of pairs.
        rows = _read(query.where(column == time, User.id < number), size)
        if len(rows) < size:
            rows += _read(query.where(column < time), size - len(rows))
    index = FoundUser._fields.index(column.name)
    return [_Entry(f"{as_utc(row[index]).isoformat()}~{row[0]}", row, row[-1]) for row in rows]


def _read_by_name(beginning: str, query: Any, position: str, size: int) -> list[_Entry]:
    """Read by the keys of usernames and email addresses, each user once, by the first of both."""
    bound = position if len(position) <= names.EMAIL_MAX_LENGTH and position.isprintable() else ""

    def read(index: int) -> list[_Entry]:
        column = _COLUMNS[index]
        within = query.where(_begins(column, beginning))
        rows = _read((within.where(column > bound) if bound else within).order_by(column), size)
        entries = []
        for row in rows:
            key, other = row[index], row[_USERNAME_KEY if index == _EMAIL_KEY else _EMAIL_KEY]
            is_listed_already = other < key and other.startswith(beginning)
            entries.append(_Entry(key, row, row[-1] and not is_listed_already))
        return entries

    both = read(_USERNAME_KEY), read(_EMAIL_KEY)
    # Up to where both were read: beyond, the one could have more names before those of the other.
    end = min((each[-1].position for each in both if len(each) == size), default=_LAST)
    entries = merge(*both, key=lambda each: each.position)
    return [each for each in entries if each.position <= end]


_SHOWN: tuple[Any, ...] = tuple(getattr(User, name) for name in FoundUser._fields)
_COLUMNS = (*_SHOWN, User.username_key, User.email_key)
_USERNAME_KEY, _EMAIL_KEY = len(_COLUMNS) - 2, len(_COLUMNS) - 1


def _read(query: Any, size: int) -> list[tuple[Any, ...]]:
    return list(database.execute(query.limit(size)).fetchall())


def _key(criteria: Criteria) -> str:
    return names.key(criteria.beginning[: names.EMAIL_MAX_LENGTH])


def _begins(column: Any, beginning: str) -> Any:
    return (column >= beginning) & (column < beginning + _LAST)


def _parse_number(position: str) -> int:
    is_number = position.isascii() and position.isdigit() and len(position) < _DIGITS
    return int(position) if is_number else 0


def _parse_time(position: str) -> tuple[datetime, int] | None:
    time, _, number = position.partition("~")
    try:
        return datetime.fromisoformat(time).astimezone(UTC), _parse_number(number)
    except (ValueError, OverflowError):
        return None
