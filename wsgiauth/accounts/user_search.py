"""Find users among many: pages of a few rows, whose work does not grow with the number of users.

A page walks along one index from where the page before it ended, and examines at most `EXAMINED`
rows. If few of these match, the page is short, and the next one goes on from there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from wsgiauth.accounts import names
from wsgiauth.accounts.index_walks import (
    ByGroup,
    ByName,
    ByNumber,
    ByTime,
    FoundUser,
    Walk,
    has_beginning,
    is_member,
)
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership

PAGE = 50  # users
EXAMINED = 300  # rows

_NEWEST = "newest"
_NAME = "name"
_GROUP = "group"


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Which users to find; None and an empty string stand for any.

    Attributes:
        beginning: How the username or the e-mail address begins, in any letter case.
        is_superuser, is_staff, is_active: See `User`.
        is_verified: Whether the e-mail address is proven.
        has_logged_in: Whether the user ever logged in.
        group_id: The number of a group that the user is in.
    """

    beginning: str = ""
    is_superuser: bool | None = None
    is_staff: bool | None = None
    is_active: bool | None = None
    is_verified: bool | None = None
    has_logged_in: bool | None = None
    group_id: int | None = None


class Found(NamedTuple):
    """A page of users.

    Attributes:
        users: The users.
        after: Where the next page begins, or nothing if there is none.
        is_cut: Whether the page is short because so many rows did not match.
    """

    users: list[FoundUser]
    after: str
    is_cut: bool


def find_users(criteria: Criteria, after: str = "") -> Found:
    """Return a page of users.

    Args:
        criteria: Which users.
        after: What the page before said; anything else stands for the first page.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    if not criteria.beginning.isprintable():
        return Found([], "", False)  # no name can begin so
    ways = _ways(criteria)
    name, _, position = after.partition(":")
    if name not in ways:
        name, position = _choose(ways), ""
    users: list[FoundUser] = []
    last = ""
    for number, (here, row) in enumerate(ways[name].walk().rows(position)):
        if number == EXAMINED or (len(users) == PAGE and row.matches):
            return Found(users, f"{name}:{last}", len(users) < PAGE)
        last = here
        if row.matches:
            users.append(row.user)
    return Found(users, "", False)


def all_users(criteria: Criteria) -> Iterator[FoundUser]:
    """Yield all users; memory does not grow with their number.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    if not criteria.beginning.isprintable():
        return iter(())
    ways = _ways(criteria)
    rows = ways[_choose(ways)].walk().rows("")
    return (row.user for _, row in rows if row.matches)


class _Way(NamedTuple):
    """A criterion whose index could be walked along.

    Attributes:
        numbers: Selects the numbers of these users.
        walk: Returns the walk along its index.
    """

    numbers: Any
    walk: Callable[[], Walk]


def _ways(criteria: Criteria) -> Mapping[str, _Way]:
    """Return the ways to find users, by name; the first is usually the best."""
    found: dict[str, Any] = {}
    beginning = names.key(criteria.beginning[: names.EMAIL_MAX_LENGTH])
    if beginning:
        found[_NAME] = has_beginning(beginning)
    if criteria.group_id is not None:
        found[_GROUP] = is_member(criteria.group_id)
    for flag in ("is_superuser", "is_staff", "is_active"):
        wanted = getattr(criteria, flag)
        if wanted is not None:
            found[flag] = getattr(User, flag) == wanted
    for name, column in _TIMES.items():
        wanted = getattr(criteria, name)
        if wanted is not None:
            found[name] = column.is_null(not wanted)

    def walk_of(name: str) -> Walk:
        others = [condition for each, condition in found.items() if each != name]
        if name == _NAME:
            return ByName(others, beginning)
        if name == _NEWEST:
            return ByNumber(others)
        if name == _GROUP:
            return ByGroup(others, criteria.group_id or 0)
        column = _TIMES.get(name) or getattr(User, name)
        if name in _TIMES and getattr(criteria, name):
            return ByTime(others, column)
        return ByNumber(others, column, found[name])

    def numbers_of(name: str) -> Any:
        if name == _GROUP:
            members = Membership.select(Membership.user)
            members = members.where(Membership.group == criteria.group_id)
            return members.order_by(Membership.group, Membership.user)
        numbers = User.select(User.id).where(found.get(name))
        # In the order of the index, so that PostgreSQL uses it however many rows match.
        return numbers.order_by(*_index_of(name))

    return {name: _Way(numbers_of(name), partial(walk_of, name)) for name in found or (_NEWEST,)}


_TIMES: Mapping[str, Any] = {
    "is_verified": User.email_verified_at,
    "has_logged_in": User.last_login_at,
}


def _index_of(name: str) -> tuple[Any, ...]:
    column = _TIMES.get(name) or getattr(User, name, None)
    return (User.id,) if column is None else (column, User.id)


def _choose(ways: Mapping[str, _Way]) -> str:
    """Return the name of a way of which one page can examine all rows, or of the first way."""
    first, *others = ways
    for name in ways if others else ():
        one_too_many = ways[name].numbers.limit(1).offset(EXAMINED)
        if name != _NAME and not one_too_many.exists():
            return name
    return first
