"""The criteria of `user_search`, and the indexes along which the users who meet them are found."""

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

import peewee

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership
from wsgiauth.accounts.user_orders import COLUMNS, Numbered, along, begins, numbered_by_value
from wsgiauth.storage import database

COUNTED = 1000  # users, and rows of each way

NAME = "name"
_GROUP, _ANY = "group", "any"
_FLAGS: Mapping[str, Any] = {
    "is_superuser": User.is_superuser,
    "is_staff": User.is_staff,
    "is_active": User.is_active,
}
TIMES: Mapping[str, Any] = {
    "is_verified": User.email_verified_at,
    "has_logged_in": User.last_login_at,
}


class Criteria(NamedTuple):
    """Which users to find; None and an empty string stand for any."""

    beginning: str = ""  # of the username or the email address, in any letter case
    is_superuser: bool | None = None
    is_staff: bool | None = None
    is_active: bool | None = None
    is_verified: bool | None = None
    has_logged_in: bool | None = None
    group_id: int | None = None


class Way(NamedTuple):
    """A criterion along whose index users can be found."""

    # All who meet it, each once, in the order of an index; and whether they meet the others, too.
    ranges: list[tuple[Any, Any]]
    numbered: Numbered | None = None

    def rows(self) -> int:
        """Return how many rows each range has, up to `COUNTED` + 1, which only reads an index."""
        return sum(_sum(query, peewee.SQL("1")) for query, _ in self.ranges)

    def matching(self) -> int:
        """Return how many of these rows match all criteria."""
        return sum(_sum(*each) for each in self.ranges)


class Conditions:
    """Criteria as SQL.

    Attributes:
        beginning: Of the names, as names are compared.
        names: Of the criteria.
    """

    def __init__(self, criteria: Criteria) -> None:
        # A name has no space; MariaDB ignores one at the end.
        self.beginning = names.key(criteria.beginning[: names.EMAIL_MAX_LENGTH]).rstrip()
        self._criteria = criteria
        self._by_name = self._read()
        self.names = frozenset(self._by_name)

    def select(self, met: str = "", *further: Any) -> tuple[Any, Any]:
        """Return a query for all users, and whether they meet all criteria besides `met`."""
        conditions = [each for name, each in self._by_name.items() if name != met]
        matches: Any = peewee.SQL("1")
        if conditions or further:
            all_met = reduce(and_, (*conditions, *further))
            matches = peewee.Case(None, [(all_met, peewee.SQL("1"))], peewee.SQL("0"))
        return User.select(*COLUMNS, matches), matches

    def ways(self) -> dict[str, Way]:
        """Return the way of each criterion, or the one of all users."""
        return {name: self._way(name) for name in self._by_name or (_ANY,)}

    def _way(self, name: str) -> Way:
        query, matches = self.select(name)
        if name == NAME:
            return self._by_beginning()
        if name in TIMES and getattr(self._criteria, name):
            column = TIMES[name]
            query = along(query, f"{column.column_name}_id")
            timed = query.where(column.is_null(False)).order_by(column.desc(), User.id.desc())
            return Way([(timed, matches)])
        if name == _ANY:
            users = Numbered(query)
        elif name == _GROUP:
            # Each member is looked up. Without the sum, PostgreSQL could merge both indexes, and so
            # read all users who are newer than the members.
            number = Membership.user + peewee.SQL("0")
            query = query.join(Membership, on=User.id == number)
            query = query.where(Membership.group == self._criteria.group_id)
            users = Numbered(query, (Membership.group,), Membership.user)
        else:
            column = _FLAGS.get(name) or TIMES[name]
            users = numbered_by_value(query, column, self._by_name[name])
        return Way([(users.beyond(None, is_descending=True), matches)], users)

    def _by_beginning(self) -> Way:
        of_username, of_email = (
            begins(column, self.beginning) for column in (User.username_key, User.email_key)
        )
        by_username, matches = self.select(NAME)
        by_email, matches_by_email = self.select(NAME, ~of_username)
        by_username, by_email = along(by_username, "username_key"), along(by_email, "email_key")
        return Way(
            [
                (by_username.where(of_username).order_by(User.username_key), matches),
                (by_email.where(of_email).order_by(User.email_key), matches_by_email),
            ]
        )

    def _read(self) -> dict[str, Any]:
        conditions: dict[str, Any] = {}
        criteria = self._criteria
        if criteria.beginning:
            conditions[NAME] = reduce(
                or_,
                (begins(each, self.beginning) for each in (User.username_key, User.email_key)),
            )
        if criteria.group_id is not None:
            membership = Membership.select(peewee.SQL("1")).where(
                Membership.group == criteria.group_id, Membership.user == User.id
            )
            # Instead of EXISTS, for which PostgreSQL would read all members, to look up each user.
            conditions[_GROUP] = peewee.Expression(membership, peewee.OP.IS_NOT, None)
        for name, column in _FLAGS.items():
            if (wanted := getattr(criteria, name)) is not None:
                conditions[name] = column == wanted
        for name, column in TIMES.items():
            if (wanted := getattr(criteria, name)) is not None:
                conditions[name] = column.is_null(not wanted)
        return conditions


def _sum(query: Any, column: Any) -> int:
    rows = query.select(column.alias("summand")).limit(COUNTED + 1).alias("counted")
    total = peewee.Select((rows,), (peewee.fn.SUM(rows.c.summand),))
    return int(database.execute(total).fetchone()[0] or 0)
