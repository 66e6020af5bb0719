"""The query of the list of users: its search, filters and order.

A page that is opened from the list has this query as `list` in its own, to lead back to the list.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import has_usernames
from wsgiauth.accounts.names import typed
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.panel.user_search import SORTS, Criteria
from wsgiauth.messages import _, list_of, pgettext
from wsgiauth.staff.frame import LIST
from wsgiauth.web.request import query_field, query_fields
from wsgiauth.web.urls import is_number

SORT, AFTER, BEFORE = "sort", "after", "before"
_SEARCH, _GROUP = "q", "group"


class Filter(NamedTuple):
    """A filter with two values."""

    name: str  # in the query
    label: str
    criterion: str  # the attribute of `Criteria`
    values: tuple[str, str] = ("yes", "no")  # for true and for false, in the query
    texts: tuple[str, str] = (_("yes"), _("no"))  # the values in words


class Choice(NamedTuple):
    """A filter and its value, which can be empty."""

    filter: Filter
    value: str


FILTERS = (
    Filter("active", pgettext("filter", "Active"), "is_active"),
    Filter("staff", pgettext("filter", "Staff"), "is_staff"),
    Filter("superuser", pgettext("filter", "Superuser"), "is_superuser"),
    Filter("verified", pgettext("filter", "Email address verified"), "is_verified"),
    Filter(
        "seen",
        pgettext("filter", "Logged in"),
        "has_logged_in",
        ("ever", "never"),
        (pgettext("logged in", "at least once"), pgettext("logged in", "never")),
    ),
)


class Query(NamedTuple):
    """The parsed query."""

    search: str  # a part of a name, as typed
    choices: tuple[Choice, ...]  # every filter
    group: int | None  # the id of a group
    sort: str  # of `SORTS`; empty for the usual order
    after: str  # the position before the page; empty for the first page
    before: str  # the position after the page, on the way back to the first page

    @classmethod
    def of(cls, environ: WSGIEnvironment) -> "Query":
        """Return the query of a request, or raise ValidationError."""
        fields = (_SEARCH, _GROUP, SORT, AFTER, BEFORE, *(each.name for each in FILTERS))
        given = query_fields(environ, fields)
        choices = tuple(Choice(each, given[each.name]) for each in FILTERS)
        group = given[_GROUP]
        errors: dict[str, list[str]] = {
            each.name: [
                _(
                    "%(field)s must be %(first)s or %(second)s.",
                    field=each.name,
                    first=each.values[0],
                    second=each.values[1],
                )
            ]
            for each, value in choices
            if value not in ("", *each.values)
        }
        if group and not is_number(group):
            errors[_GROUP] = [_("%(field)s must be the id of a group.", field=_GROUP)]
        if given[SORT] not in ("", *SORTS):
            names = list_of(each for each in SORTS if has_usernames() or "username" not in each)
            errors[SORT] = [_("%(field)s must be one of %(values)s.", field=SORT, values=names)]
        if errors:
            raise ValidationError(errors)
        # Bookmarks can have the order from before there were no usernames.
        sort = given[SORT] if has_usernames() else given[SORT].replace("username", "email")
        return cls(
            search=typed(given[_SEARCH]),
            choices=choices,
            group=int(group) if group else None,
            sort=sort,
            after=given[AFTER],
            before=given[BEFORE],
        )

    @property
    def chosen(self) -> dict[str, str]:
        """The values of the filters that have one, and the group, by name."""
        group = "" if self.group is None else str(self.group)
        values = {_GROUP: group, **{each.name: value for each, value in self.choices}}
        return {name: value for name, value in values.items() if value}

    @property
    def criteria(self) -> Criteria:
        """The query for `user_search`."""
        flags: Mapping[str, Any] = {
            each.criterion: value == each.values[0] for each, value in self.choices if value
        }
        return Criteria(search=self.search, group_id=self.group, **flags)

    def __str__(self) -> str:
        """Return the filters for the audit trail, which must not contain names of users."""
        search = ["a search"] if self.search else []
        filters = [f"{name}={value}" for name, value in self.chosen.items()]
        return ", ".join(search + filters) or "all users"

    def url(self, path: str, **further: str) -> str:
        """Return the URL of a path with this query and further fields."""
        fields = {_SEARCH: self.search, **self.chosen, SORT: self.sort, **further}
        fields = {name: value for name, value in fields.items() if value}
        return f"{path}?{urlencode(fields)}" if fields else path

    @property
    def text(self) -> str:
        """The query with the page, as a string."""
        return self.url("", **{AFTER: self.after, BEFORE: self.before}).removeprefix("?")


def carried_query(environ: WSGIEnvironment) -> str:
    """Return the query of the list from which a page was opened, or an empty string.

    Parse it as the list does, so that the link back leads to a list that exists.
    """
    try:
        return Query.of({"QUERY_STRING": query_field(environ, LIST)}).text
    except ValidationError:
        return ""
