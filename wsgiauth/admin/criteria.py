"""The filters of the list of users: from the query of a request, and back into one."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.user_search import Criteria
from wsgiauth.exceptions import ValidationError
from wsgiauth.web.request import query_fields

BEGINNING = "q"
AFTER = "after"
GROUP = "group"


_NUMBER = re.compile("[1-9][0-9]{0,17}")


class Filter(NamedTuple):
    """A filter with two values.

    Attributes:
        name: In the query.
        label: For people.
        criterion: The attribute of `Criteria`.
        values: What stands for true and for false, in the query.
        texts: The same for people.
    """

    name: str
    label: str
    criterion: str
    values: tuple[str, str] = ("yes", "no")
    texts: tuple[str, str] = ("yes", "no")


class Choice(NamedTuple):
    """A filter as it was chosen.

    Attributes:
        filter: The filter.
        value: What was chosen, or nothing.
    """

    filter: Filter
    value: str


FILTERS = (
    Filter("active", "Active", "is_active"),
    Filter("staff", "Staff", "is_staff"),
    Filter("superuser", "Superuser", "is_superuser"),
    Filter("verified", "Email address verified", "is_verified"),
    Filter("seen", "Logged in", "has_logged_in", ("ever", "never"), ("at least once", "never")),
)


class Query(NamedTuple):
    """What was asked for in the list of users.

    Attributes:
        beginning: How a name begins, as typed.
        choices: Every filter as it was chosen.
        group: The number of a group, or None.
        after: Where the page begins, or nothing.
    """

    beginning: str
    choices: tuple[Choice, ...]
    group: int | None
    after: str

    @classmethod
    def of(cls, environ: WSGIEnvironment) -> "Query":
        """Return what a request asks for.

        Raises:
            ValidationError: A filter has a wrong value, or the query cannot be read.
        """
        names = (BEGINNING, GROUP, AFTER, *(each.name for each in FILTERS))
        given = query_fields(environ, names)
        choices = tuple(Choice(each, given[each.name]) for each in FILTERS)
        group = given[GROUP]
        errors = {
            each.name: [f"{each.name} must be {' or '.join(each.values)}."]
            for each, value in choices
            if value not in ("", *each.values)
        }
        if group and not _NUMBER.fullmatch(group):
            errors[GROUP] = [f"{GROUP} must be the number of a group."]
        if errors:
            raise ValidationError(errors)
        number = int(group) if group else None
        return cls(given[BEGINNING].strip(), choices, number, given[AFTER])

    @property
    def chosen(self) -> tuple[Choice, ...]:
        """The filters that have a value."""
        return tuple(each for each in self.choices if each.value)

    @property
    def number_chosen(self) -> int:
        """How many filters have a value, that of the group included."""
        return len(self.chosen) + (self.group is not None)

    @property
    def criteria(self) -> Criteria:
        """The same for `user_search`."""
        flags: Mapping[str, Any] = {
            each.criterion: value == each.values[0] for each, value in self.chosen
        }
        return Criteria(beginning=self.beginning, group_id=self.group, **flags)

    def __str__(self) -> str:
        """Return the filters, for the audit trail, without the names that were searched for."""
        parts = [f"{each.name}={value}" for each, value in self.chosen]
        if self.group is not None:
            parts.insert(0, f"{GROUP}={self.group}")
        if self.beginning:
            parts.insert(0, "a search")
        return ", ".join(parts) or "all users"

    def url(self, path: str, **further: str) -> str:
        """Return a URL that asks for the same.

        Args:
            path: Its path.
            further: Further fields of the query.
        """
        fields = {each.name: value for each, value in self.chosen} | further
        if self.group is not None:
            fields = {GROUP: str(self.group), **fields}
        if self.beginning:
            fields = {BEGINNING: self.beginning, **fields}
        return f"{path}?{urlencode(fields)}" if fields else path
