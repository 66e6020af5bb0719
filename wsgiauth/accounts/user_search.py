"""Find users among many: pages of a few rows, whose work does not grow with the number of users.

A page reads one index in its order, from where the page before it ended, and examines at most
`EXAMINED` rows. If few of these match, the page is short, and the next one goes on from there.
A SELECT with all criteria and a LIMIT would be simpler, but two filters that few users or none
match together make the database read a whole index, and an OFFSET makes it read all rows before.

If one of the criteria leaves at most `EXAMINED` rows, these are read, and sorted in memory.
"""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any, NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.accounts.user_criteria import COUNTED, NAME, TIMES, Conditions, Criteria
from wsgiauth.accounts.user_orders import (
    ByBeginning,
    ByName,
    ByNumber,
    ByTime,
    Entry,
    FoundUser,
    Numbered,
    Order,
    numbered_by_value,
    read,
)

PAGE = 50  # users
EXAMINED = 300  # rows

# A minus stands for the descending order, which has the newest account or the latest login first.
SORTS = (
    *("-created", "created", "username", "-username"),
    *("email", "-email", "-last_login", "last_login"),
)
BY_BEGINNING, BY_VERIFICATION = "name", "-verified"  # orders of searches that ask for none

# Rows of each query: one is often enough for a page, and the first two are all that it examines.
_CHUNKS = (51, 250, 500)

# What so many users meet that a page along any index is seldom short.
_USUAL = {
    "is_superuser": False,
    "is_staff": False,
    "is_active": True,
    "is_verified": True,
    "has_logged_in": True,
}


class Found(NamedTuple):
    """A page of users."""

    users: list[FoundUser]
    sort: str  # their order
    sorts: tuple[str, ...] = SORTS  # the orders to choose from
    total: int = 0  # how many users match, at least; at most `COUNTED` + 1
    is_exact: bool = True  # whether exactly so many match
    before: str = ""  # where the page before ends; empty if there is none
    after: str = ""  # where the next page begins; empty if there is none
    is_cut: bool = False  # whether the page is short because so many rows did not match
    is_backward: bool = False  # whether it was then read from its end


class _Listing(NamedTuple):
    """Users in an order, from any position in both directions."""

    sort: str
    order: Order
    entries: Callable[[Any, bool], Iterator[Entry]]  # after a position; whether backwards

    def page(self, after: str, before: str) -> Found:
        end = self._position(before)
        if end is not None or before == f"{self.sort}:":
            users, positions, goes_on = self._examine(end, is_backward=True)
            if goes_on:
                return Found(
                    users[::-1],
                    self.sort,
                    before=positions[-1],
                    after="" if end is None else positions[0],
                    is_cut=len(users) < PAGE,
                    is_backward=True,
                )
            after = ""  # all before it fit on the first page
        start = self._position(after)
        users, positions, goes_on = self._examine(start, is_backward=False)
        return Found(
            users,
            self.sort,
            before="" if start is None else (positions or [f"{self.sort}:"])[0],
            after=positions[-1] if goes_on else "",
            is_cut=goes_on and len(users) < PAGE,
        )

    def _examine(self, start: Any, *, is_backward: bool) -> tuple[list[FoundUser], list[str], bool]:
        """Return the users of a page, the positions that it examined, and whether more follow."""
        users: list[FoundUser] = []
        positions: list[str] = []
        for entry in self.entries(start, is_backward):
            if len(positions) == EXAMINED or (len(users) == PAGE and entry.matches):
                return users, positions, True
            positions.append(f"{self.sort}:{self.order.text(entry.key)}")
            if entry.matches:
                users.append(entry.user)
        return users, positions, False

    def _position(self, text: str) -> Any:
        sort, _, key = text.partition(":")
        return self.order.parse(key) if sort == self.sort else None


class _Search:
    """What is known of the users who meet criteria, before any of them is read."""

    def __init__(self, criteria: Criteria) -> None:
        self._criteria = criteria
        self._conditions = Conditions(criteria)
        self._ways = self._conditions.ways()
        self._rows = {name: way.rows() for name, way in self._ways.items()}
        usual = {name for name, value in _USUAL.items() if getattr(criteria, name) is value}
        # The ways that the fewest users meet come first.
        self._best = sorted(self._ways, key=lambda name: (self._rows[name], name in usual))
        self._are_usual = self._conditions.names <= usual
        self._few = self._read_few()

    @property
    def total(self) -> tuple[int, bool]:
        """How many users match, at least, and whether exactly so many do."""
        if self._few is not None:
            return len(self._few), True
        best = self._best[0]
        rows, is_sole = self._rows[best], len(self._ways) == 1
        if is_sole and best != NAME:  # all rows match
            return rows, rows <= COUNTED
        if rows > COUNTED and not is_sole:  # to read so many would not make it exact
            return 0, False
        return min(self._ways[best].matching(), COUNTED + 1), rows <= COUNTED

    @property
    def sorts(self) -> tuple[str, ...]:
        """The orders along an index, or in memory."""
        if self._few is not None or self._are_usual:
            return SORTS
        return () if NAME in self._conditions.names else SORTS[:2]

    def listing(self, sort: str) -> _Listing:
        """Return all users, in an order of `sorts` or else the usual one."""
        if sort not in self.sorts:
            sort = self._default
        order = self._order(sort.removeprefix("-"))
        is_descending = sort.startswith("-")
        entries = _along(order) if self._few is None else _in_memory(order, self._few)
        return _Listing(
            sort, order, lambda start, is_backward: entries(start, is_descending != is_backward)
        )

    @property
    def _default(self) -> str:
        if NAME in self._conditions.names:
            return BY_BEGINNING
        if any(way.numbered for way in self._ways.values()):
            return "-created"
        return BY_VERIFICATION if "is_verified" in self._conditions.names else "-last_login"

    def _read_few(self) -> list[tuple[Any, ...]] | None:
        """Return the rows of all users if one page can examine them, otherwise None."""
        best = self._best[0]
        if not self._conditions.names or self._rows[best] > EXAMINED:
            return None
        ranges = self._ways[best].ranges
        return [row for query, _ in ranges for row in read(query, EXAMINED) if row[-1]]

    def _order(self, name: str) -> Order:
        users, _ = self._conditions.select()
        if name == "created":
            along = (self._ways[each].numbered for each in self._best)
            return ByNumber(next(filter(None, along), Numbered(users)))
        if name == BY_BEGINNING:
            return ByBeginning(self._conditions.beginning, users)
        if name in ("username", "email"):
            return ByName(getattr(User, f"{name}_key"), users)
        flag = "has_logged_in" if name == "last_login" else "is_verified"
        column = TIMES[flag]
        has_time = getattr(self._criteria, flag)
        never = None if has_time else numbered_by_value(users, column, column.is_null())
        return ByTime(column, users, never)


def find_users(criteria: Criteria, sort: str = "", *, after: str = "", before: str = "") -> Found:
    """Return a page of users.

    Args:
        criteria: Which users.
        sort: Their order, of `SORTS`; without an index for it, and without any, the usual one.
        after, before: The end of the page before, or the beginning of the page after, as in
            `Found`; the first page if they are of no page.
    """
    if not criteria.beginning.isprintable():
        return Found([], BY_BEGINNING)  # no name can begin so
    search = _Search(criteria)
    total, is_exact = search.total
    found = search.listing(sort).page(after, before)
    total = max(total, len(found.users))
    return found._replace(sorts=search.sorts, total=total, is_exact=is_exact)


def all_users(criteria: Criteria, sort: str = "") -> Iterator[FoundUser]:
    """Yield all users; memory does not grow with their number."""
    if not criteria.beginning.isprintable():
        return iter(())
    listing = _Search(criteria).listing(sort)
    return (each.user for each in listing.entries(None, False) if each.matches)


def _along(order: Order) -> Callable[[Any, bool], Iterator[Entry]]:
    """Return a function that reads users along an index, a chunk at a time."""

    def entries(position: Any, is_descending: bool) -> Iterator[Entry]:
        sizes = chain(_CHUNKS, repeat(_CHUNKS[-1]))
        while True:
            size = next(sizes)
            chunk = order.read(position, size, is_descending=is_descending)
            yield from chunk
            if len(chunk) < size:
                return
            position = chunk[-1].key

    return entries


def _in_memory(order: Order, rows: list[tuple[Any, ...]]) -> Callable[[Any, bool], Iterator[Entry]]:
    """Return a function that sorts these rows."""

    def entries(position: Any, is_descending: bool) -> Iterator[Entry]:
        found = sorted(map(order.entry, rows), key=lambda each: each.key, reverse=is_descending)
        for entry in found:
            is_before = position is not None and (
                entry.key >= position if is_descending else entry.key <= position
            )
            if not is_before:
                yield entry

    return entries
