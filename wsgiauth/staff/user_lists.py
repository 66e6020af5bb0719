"""The interface by which a feature adds a list to the page of a user in the staff panel."""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Self

from wsgiauth.accounts.models import User
from wsgiauth.parts import Several


class UserRow(NamedTuple):
    """An entry of a list; paths are below /auth/admin.

    Example:
        row = UserRow(name="early", since=utc_now(), document={"name": "early"})
    """

    name: str
    since: datetime  # UTC
    document: dict[str, object]  # the same, ready for JSON
    path: str = ""  # of the page about it
    text: str = ""  # further words
    action: str = ""  # of the button that needs `Right.SUPPORT`
    action_path: str = ""


class UserList(Several):
    """The part of a site that lists something of a user; see `Parts.all`.

    Attributes:
        name: Of the list in JSON.
        empty: The sentence in its place for a user who has nothing of it.
        most: The number of entries from which on others may be left out; None: all are listed.
        note: The sentence that then says so.
        icon: The icon beside the title, by its name in `macros.html`.

    Example:
        class UserBadges(UserList):
            name = "badges"
            title = _("Badges")
            empty = _("The user has no badges.")

            def rows(self, user: User, now: float) -> list[UserRow]:
                of_user = Badge.select().where(Badge.user == user.id)
                return [UserRow(each.name, utc_now(), {"name": each.name}) for each in of_user]
    """

    name: str
    title: str
    empty: str
    most: int | None = None
    note: str = ""
    icon: str = "app"

    def conflicts_with(self, other: Self) -> bool:
        """Return whether both have the same name in JSON."""
        return self.name == other.name

    @abstractmethod
    def rows(self, user: User, now: float) -> Sequence[UserRow]:
        """Return the entries of a user."""
