"""Find users, by a part of their names and by properties: a page at a time, in any order.

A page begins after the last user of the previous page, rather than at a number of rows, so that no
user is skipped or repeated while others register.

No index finds a part of a name, and none has every order with every combination of filters. So a
page takes two steps, which together have a time limit:

1. Read the ids of at most `COUNTED` + 1 users who match, in any order.
2. If these are all, sort them. Otherwise, so many users match that a few rows in the order of an
   index have enough of them for a page.

An index finds the users whose address is at a domain, in any number of users. So `@example.org`
finds these users. `example.org` finds all names that contain it, and if that takes too long, these.
"""

import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from time import monotonic
from typing import Any, NamedTuple

import peewee

from wsgiauth import storage
from wsgiauth.accounts import names
from wsgiauth.accounts.domains import domain_of, is_at
from wsgiauth.accounts.models import User, has_usernames, label_column
from wsgiauth.accounts.tables import Membership
from wsgiauth.storage import database
from wsgiauth.storage.connections import TimeLimitError
from wsgiauth.storage.models import json_fields
from wsgiauth.storage.searches import contains
from wsgiauth.storage.statements import ModelStatement, Statement, given

PAGE = 50  # users
COUNTED = 1000  # users
COUNT_LIMIT, TIME_LIMIT = 1.5, 2  # seconds, to count users, and for all statements of a page

# A minus stands for the descending order, which has the newest account or the latest login first.
SORTS = (
    *("-created", "created", "username", "-username"),
    *("email", "-email", "-last_login", "last_login"),
)

_CHUNK = 500  # users of one query, for a list of all
_DIGITS = 19  # a number that has fewer fits into 64 bits
_ALL, _NONE = peewee.SQL("1 = 1"), peewee.SQL("1 = 0")  # conditions

# The columns of the orders; the id decides between equal times.
_COLUMNS: dict[str, Any] = {
    "created": User.id,
    "username": User.username_key,
    "email": User.email_key,
    "last_login": User.last_login_at,
    "verified": User.email_verified_at,
}
_TIMES: dict[str, Any] = {
    "is_verified": User.email_verified_at,
    "has_logged_in": User.last_login_at,
}


class Criteria(NamedTuple):
    """Which users to find; None and an empty string match any."""

    search: str = ""  # a part of the username or the email address, or `@` and a domain, any case
    is_superuser: bool | None = None
    is_staff: bool | None = None
    is_active: bool | None = None
    is_verified: bool | None = None
    has_logged_in: bool | None = None
    group_id: int | None = None


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
    email_verified_by: str
    last_login_at: datetime | None

    @classmethod
    def columns(cls) -> list[str]:
        """Return the fields that a list for people has."""
        return [each for each in cls._fields if each != "username" or has_usernames()]

    @property
    def label(self) -> str:
        """See `User.label`."""
        return str(getattr(self, label_column().name))

    def document(self) -> dict[str, object]:
        """Return the user, ready for JSON."""
        return {**json_fields(self._asdict()), "label": self.label}


_SHOWN = [getattr(User, name) for name in FoundUser._fields]


class Found(NamedTuple):
    """A page of users."""

    users: list[FoundUser]
    sort: str  # their order
    total: int = 0  # at least so many users match; at most `COUNTED` + 1
    is_exact: bool = True  # whether exactly so many match
    before: str = ""  # where the previous page ends; empty if there is none
    after: str = ""  # where the next page begins; empty if there is none
    timed_out: bool = False  # whether the users could not be found within the time limit


class _Position(NamedTuple):
    """The place of a user in an order, even if the user has been deleted since."""

    value: Any  # of the column of the order; None: no time
    id: int


def find_users(criteria: Criteria, sort: str = "", *, after: str = "", before: str = "") -> Found:
    """Return a page of users.

    Args:
        sort: One of `SORTS`; empty for the usual order.
        after, before: The end of the previous page, or the beginning of the next page, from
            `Found`. Other strings give the first page.
    """
    search = _Search(criteria, sort, ends_at=monotonic() + TIME_LIMIT)
    total, is_exact = search.count()
    try:
        found = search.page(after, before)
    except TimeLimitError:
        return Found([], search.sort, total, is_exact=False, timed_out=True)
    return found._replace(total=max(total, len(found.users)), is_exact=is_exact)


def all_users(criteria: Criteria, sort: str = "") -> Iterator[FoundUser]:
    """Yield all users, without a time limit; memory does not grow with their number."""
    search = _Search(criteria, sort)
    search.count()
    position = None
    while True:
        chunk = search.read(position, _CHUNK)
        yield from (user for user, _ in chunk)
        if len(chunk) < _CHUNK:
            return
        _, position = chunk[-1]


class _Search:
    """The users who match criteria, in an order: `sort` is one of `SORTS`, or "-verified".

    Args:
        ends_at: When the time for all statements ends (`monotonic`); None: never.
    """

    def __init__(self, criteria: Criteria, sort: str, ends_at: float | None = None) -> None:
        self.sort = sort or _usual_sort(criteria)
        self._column = _COLUMNS[self.sort.removeprefix("-")]
        self._criteria, self._ends_at = criteria, ends_at
        self._is_plain = criteria == Criteria() and self.sort == "-created"
        self._few: list[int] | None = None  # the ids of all users who match, if they are few
        domain = domain_of(criteria.search)
        self._domain = domain if "." in domain else ""  # that the search names, or empty
        self._is_by_domain = criteria.search.startswith("@") and bool(self._domain)

    def count(self) -> tuple[int, bool]:
        """Return a number of users who match, and whether it is exact or a minimum."""
        try:
            with database.time_limit(COUNT_LIMIT):
                ids = self._ids()
        except TimeLimitError:
            return self._count_at_domain()
        is_exact = len(ids) <= COUNTED
        if is_exact and self._criteria != Criteria():
            self._few = ids
        return len(ids), is_exact

    def _count_at_domain(self) -> tuple[int, bool]:
        """Find only the users at the domain, because others cannot be found in time."""
        has_other_way = self._domain and not self._is_by_domain
        if not has_other_way or self._ends_at is None:  # a list of all users is whole
            return 0, False
        self._is_by_domain = True
        try:
            with self._limited():
                ids = self._ids()
        except TimeLimitError:
            return 0, False
        if len(ids) <= COUNTED:
            self._few = ids
        return len(ids), False

    def _ids(self) -> list[int]:
        if self._is_plain:
            return [each for (each,) in _IDS.fetchall(limit=COUNTED + 1)]
        return [each for (each,) in self._select(User.id).limit(COUNTED + 1).tuples()]

    def page(self, after: str, before: str) -> Found:
        """Return a page, without the number of all users."""
        end = self._parse(before)
        if end is not None or before == f"{self.sort}:":
            rows = self.read(end, PAGE + 1, is_backward=True)
            if len(rows) > PAGE:
                users, positions = zip(*rows[PAGE - 1 :: -1], strict=True)
                next_page = "" if end is None else self._text(positions[-1])
                return Found([*users], self.sort, before=self._text(positions[0]), after=next_page)
            after = ""  # all before it fit on the first page
        start = self._parse(after)
        rows = self.read(start, PAGE + 1)
        positions = [self._text(position) for _, position in rows]
        return Found(
            [user for user, _ in rows[:PAGE]],
            self.sort,
            before="" if start is None else [*positions, f"{self.sort}:"][0],
            after=positions[PAGE - 1] if len(rows) > PAGE else "",
        )

    def read(
        self, position: _Position | None, size: int, *, is_backward: bool = False
    ) -> list[tuple[FoundUser, _Position]]:
        """Return the first users after a position, or after the beginning if it is None."""
        if self._is_plain and position is None and not is_backward:
            with self._limited():
                users = [FoundUser(*row) for row in _NEWEST.all(limit=size)]
            return [(user, _Position(user.id, user.id)) for user in users]
        is_descending = self.sort.startswith("-") != is_backward
        hint = self._hint() if self._few is None else ""
        query = self._select(*_SHOWN, self._column, hint=hint)
        if self._few is not None:
            ids = ",".join(map(str, self._few)) or "NULL"
            query = query.where(peewee.NodeList((User.id, peewee.SQL(f"IN ({ids})"))))
        rows: list[tuple[FoundUser, _Position]] = []
        for condition, order in self._ranges(position, is_descending):
            if len(rows) < size:
                directed = (each.desc() if is_descending else each.asc() for each in order)
                some = query.where(condition).order_by(*directed).limit(size - len(rows))
                with self._limited():
                    found = [(FoundUser(*shown), value) for *shown, value in some.tuples()]
                rows += [(user, _Position(value, user.id)) for user, value in found]
        return rows

    def _ranges(self, position: _Position | None, is_descending: bool) -> list[tuple[Any, Any]]:
        """Return the conditions for all users after a position, each with the columns of its order.

        Each condition is a range of an index, in its order. Users without a time are a range of
        their own, because databases disagree on the place of NULL. Here, NULL comes before every
        time. Users with the time of the position are another range, because MariaDB reads a whole
        index to compare pairs.
        """
        column, number = self._column, User.id
        beyond = operator.lt if is_descending else operator.gt
        value, last = position or _Position(None, 0)
        if not column.null:
            if column is User.id and self._criteria.group_id is not None:
                column = Membership.user  # the order of the index of a group's members
            return [(_ALL if position is None else beyond(column, value), [column])]
        timed, never = [column.is_null(False)], [column.is_null()]
        if value is not None:
            timed = [(column == value) & beyond(number, last), beyond(column, value)]
            never = never if is_descending else []
        elif position is not None:
            never = [column.is_null() & beyond(number, last)]
            timed = [] if is_descending else timed
        # MariaDB would sort by a column of NULL, too. PostgreSQL needs it to use the index's order.
        of_never = [number] if _is_mariadb() else [column, number]
        [has_time] = (getattr(self._criteria, name) for name in _TIMES if _TIMES[name] is column)
        with_time = [(each, [column, number]) for each in timed if has_time is not False]
        without = [(each, of_never) for each in never if has_time is not True]
        return with_time + without if is_descending else without + with_time

    def _select(self, *columns: Any, hint: str = "") -> Any:
        domain = self._domain if self._is_by_domain else ""
        query = User.select(*columns).where(*_conditions(self._criteria, domain))
        if hint:
            query = query.from_(peewee.NodeList((User, peewee.SQL(hint))))
        if self._criteria.group_id is not None:
            query = query.join(Membership, on=Membership.user == User.id)
            query = query.where(Membership.group == self._criteria.group_id)
        return query

    def _hint(self) -> str:
        """Return SQL that makes MariaDB or SQLite read the index of the order.

        Otherwise, they could sort all users with a frequent value of a filter. PostgreSQL knows
        which values are frequent.
        """
        if self._column is User.id:
            return "FORCE INDEX (PRIMARY)" if _is_mariadb() and not self._criteria.group_id else ""
        name = self._column.column_name
        index = f"wsgiauth_user_{name}_id" if self._column.null else f"wsgiauth_user_{name}"
        if _is_mariadb():
            return f"FORCE INDEX ({index})"
        is_sqlite = isinstance(storage.current(), peewee.SqliteDatabase)
        return f"INDEXED BY {index}" if is_sqlite else ""

    def _limited(self) -> AbstractContextManager[None]:
        if self._ends_at is None:
            return nullcontext()
        seconds = max(self._ends_at - monotonic(), 0.001)
        limited: AbstractContextManager[None] = database.time_limit(seconds)
        return limited

    def _text(self, position: _Position) -> str:
        """Return a position for a URL."""
        value, number = position
        if isinstance(value, datetime):
            value = value.isoformat()
        is_alone = value is None or self._column is User.id
        return f"{self.sort}:{number}" if is_alone else f"{self.sort}:{value}~{number}"

    def _parse(self, text: str) -> _Position | None:
        """Return the position of a string in a URL, or None."""
        sort, _, key = text.partition(":")
        value, _, digits = key.rpartition("~")
        is_number = digits.isascii() and digits.isdigit() and len(digits) < _DIGITS
        if sort != self.sort or not is_number:
            return None
        number = int(digits)
        if self._column is User.id:
            return _Position(number, number)
        if not self._column.null:
            is_name = 0 < len(value) <= names.EMAIL_MAX_LENGTH and value.isprintable()
            return _Position(value, number) if is_name else None
        if not value:
            return _Position(None, number)
        try:
            return _Position(datetime.fromisoformat(value).astimezone(UTC), number)
        except (ValueError, OverflowError):
            return None


_LIMIT = given(User.id, "limit")
_IDS = Statement(lambda: _Search(Criteria(), "")._select(User.id).limit(_LIMIT))


def _newest() -> Any:
    plain = _Search(Criteria(), "")
    newest = plain._select(*_SHOWN, hint=plain._hint()).order_by(User.id.desc())
    return newest.limit(_LIMIT).tuples()


_NEWEST = ModelStatement(_newest)


def _usual_sort(criteria: Criteria) -> str:
    if criteria in (Criteria(is_verified=True), Criteria(is_verified=True, has_logged_in=True)):
        return "-verified"
    return "-last_login" if criteria == Criteria(has_logged_in=True) else "-created"


def _conditions(criteria: Criteria, domain: str = "") -> list[Any]:
    """Return the criteria as SQL, without the group; with a domain, instead of the search."""
    conditions: list[Any] = []
    if domain:
        conditions.append(is_at(domain))
    elif criteria.search:
        conditions.append(_containing(criteria.search))
    for name in ("is_superuser", "is_staff", "is_active"):
        if (wanted := getattr(criteria, name)) is not None:
            conditions.append(getattr(User, name) == wanted)
    for name, column in _TIMES.items():
        if (wanted := getattr(criteria, name)) is not None:
            conditions.append(column.is_null(not wanted))
    return conditions or [_ALL]


def _containing(search: str) -> Any:
    """Return the condition that a name contains a string."""
    if len(search) > names.EMAIL_MAX_LENGTH or not search.isprintable():
        return _NONE  # no name can
    key = names.key(search)
    # A username that people do not see is found in full alone, as an application logs it.
    of_username = contains(User.username_key, key) if has_usernames() else User.username_key == key
    return of_username | contains(User.email_key, key)


def _is_mariadb() -> bool:
    return isinstance(storage.current(), peewee.MySQLDatabase)
