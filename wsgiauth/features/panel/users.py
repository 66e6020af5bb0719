"""GET /auth/admin/users: finds users by a part of their names and by properties.

GET /auth/admin/users.csv returns all users of such a list as a file for spreadsheets, streamed.
"""

import io
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import chain, islice
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.accounts.models import has_usernames, is_proven
from wsgiauth.events.kinds import Change
from wsgiauth.features.links.invitations_page import invitations_url
from wsgiauth.features.links.invite import INVITED, SENT, invite_url
from wsgiauth.features.panel.several import SharedAction, shared_actions
from wsgiauth.features.panel.user_query import AFTER, BEFORE, SORT, Choice, Query
from wsgiauth.features.panel.user_search import FoundUser, all_users, find_users
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import STAFF, AccountLink
from wsgiauth.messages import _, pgettext
from wsgiauth.openapi.problems import INVALID_QUERY
from wsgiauth.site import Site
from wsgiauth.staff.frame import (
    USERS,
    Chip,
    PanelEndpoint,
    PanelPage,
    carrying,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.staff.groups import ListedGroup, list_groups
from wsgiauth.storage.models import json_fields
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import path_asked_for

USERS_EXPORTED = Change(
    "users_exported",
    _("Users downloaded"),
    icon="download",
    is_list=True,
    reasons={
        "all users": pgettext("reason of an event", "all users"),
        "a search": pgettext("reason of an event", "a search"),
    },
)

_NOTICES = {"delete": _("The account has been deleted."), INVITED: SENT}

_ROWS = 500  # of one chunk of the file


class Column(NamedTuple):
    """A column of the table."""

    label: str
    direction: str = ""  # as in `aria-sort`; empty if the users are not sorted by it
    url: str = ""  # the list sorted by it, or in the other direction


# The labels of the columns, and the order after the first click.
_COLUMNS = (
    (_("Username"), "username"),
    (_("Email address"), "email"),
    (_("Status"), ""),
    (pgettext("account", "Created"), "-created"),
    (_("Last login"), "-last_login"),
)
ORDERS = {
    "-created": _("the newest first"),
    "created": _("the oldest first"),
    "username": _("by username"),
    "-username": _("by username, in reverse"),
    "email": _("by email address"),
    "-email": _("by email address, in reverse"),
    "-last_login": _("the latest login first, then users who never logged in"),
    "last_login": _("users who never logged in first, then the earliest login"),
    "-verified": _("the latest verification first"),
}


class UsersPage(PanelPage):
    """A page of the list of users; a URL is empty if there is no such page."""

    template = "admin/users.html"
    users_url = UrlBelow("admin/users")  # where the form is sent
    several_url = UrlBelow("admin/users/several")  # where the chosen users are sent
    users: tuple[FoundUser, ...]
    unproven: frozenset[int] = frozenset()  # the ids of the users whose address is not proven
    search: str  # a part of a name, as typed
    choices: tuple[Choice, ...]  # every filter
    groups: tuple[ListedGroup, ...]  # to choose from
    group: int | None  # the id of the chosen group
    chosen: int  # the number of filters that have a value
    chips: tuple[Chip, ...] = ()  # these filters
    columns: tuple[Column, ...]
    sort: str  # as asked for; empty for the usual order
    order: str  # in words
    count: int  # the number of users that match; at most 1,001
    count_is_exact: bool  # false: more users can match
    csv_url: str  # the same users as a file
    actions: tuple[SharedAction, ...]  # that the member of the staff can do with several users
    this_url: str
    list_query: str  # for the links to users, so that their pages lead back here; can be empty
    invite_url: str
    invitations_url: str  # the list of open invitations; empty on a site without links
    first_url: str
    previous_url: str
    next_url: str
    is_first: bool
    timed_out: bool  # no users are shown, because the search took too long
    notice: str = ""  # what has just been done


class Users(PanelEndpoint):
    """Lists users, a page at a time."""

    account_link = AccountLink(
        STAFF, _("Users and groups"), _("Find users, and change their accounts."), icon="users"
    )
    failures = (INVALID_QUERY,)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with a page of the list, or with the same users as JSON."""
        member = require_staff(environ, site).user
        query = Query.of(environ)
        found = find_users(query.criteria, query.sort, after=query.after, before=query.before)
        users_url = f"{panel_url(environ)}/{USERS}"
        first_url = query.url(users_url)
        previous_url = query.url(users_url, **{BEFORE: found.before}) if found.before else ""
        next_url = query.url(users_url, **{AFTER: found.after}) if found.after else ""
        if not prefers_html(environ):
            return json_response(
                {
                    "users": [each.document() for each in found.users],
                    "sort": found.sort,
                    "count": found.total,
                    "count_is_exact": found.is_exact,
                    "timed_out": found.timed_out,
                    "first": first_url,
                    "previous": previous_url or None,
                    "next": next_url or None,
                }
            )
        groups = tuple(list_groups())
        page = UsersPage(
            frame=frame_of(environ, member, USERS),
            users=tuple(found.users),
            unproven=frozenset(
                each.id for each in found.users if not is_proven(each, site.settings)
            ),
            search=query.search,
            choices=query.choices,
            groups=groups,
            group=query.group,
            chosen=len(query.chosen),
            chips=tuple(_chips(query, groups, users_url)),
            columns=tuple(_columns(query, found.sort, users_url)),
            sort=query.sort,
            order=ORDERS[found.sort],
            count=found.total,
            count_is_exact=found.is_exact,
            csv_url=query.url(f"{users_url}.csv"),
            actions=shared_actions(member),
            this_url=path_asked_for(environ),
            list_query=carrying(query.text),
            invite_url=invite_url(environ, site, member),
            invitations_url=invitations_url(environ, site),
            first_url=first_url,
            previous_url=previous_url,
            next_url=next_url,
            is_first=not found.before,
            timed_out=found.timed_out,
            notice=notice_of(environ, _NOTICES),
        )
        return site.pages.render(environ, page)


class UsersCsv(PanelEndpoint):
    """Streams the users as CSV (RFC 4180)."""

    failures = (INVALID_QUERY,)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the file, or fail if the audit trail cannot record who gets it."""
        require_staff(environ, site)
        query = Query.of(environ)
        chunks = _chunks(all_users(query.criteria, query.sort))
        first = next(chunks)  # the database can fail before the answer begins
        if environ["REQUEST_METHOD"] == "GET":  # HEAD gets no users
            events.emit(USERS_EXPORTED, reason=str(query))
        return Response(
            HTTPStatus.OK,
            content_type="text/csv; charset=utf-8; header=present",
            headers=(("Content-Disposition", 'attachment; filename="users.csv"'),),
            app_iter=chain([first], chunks),
        )


def _columns(query: Query, sorted_by: str, users_url: str) -> Iterator[Column]:
    for label, first in _COLUMNS if has_usernames() else _COLUMNS[1:]:
        name = first.removeprefix("-")
        direction = ""
        if sorted_by.removeprefix("-") == name:
            direction = "descending" if sorted_by.startswith("-") else "ascending"
        other = name if first.startswith("-") else f"-{name}"
        sort = other if sorted_by == first else first
        url = query.url(users_url, **{SORT: sort}) if first else ""
        yield Column(label, direction, url)


def _chips(query: Query, groups: Iterable[ListedGroup], users_url: str) -> Iterator[Chip]:
    for each, value in query.choices:
        if value:
            text = each.texts[each.values.index(value)]
            yield Chip(each.label, text, query.url(users_url, **{each.name: ""}))
    if query.group is not None:
        names = {each.id: each.name for each in groups}
        name = names.get(query.group, str(query.group))
        yield Chip(_("Group"), name, query.url(users_url, group=""))


def _chunks(users: Iterator[FoundUser]) -> Iterator[bytes]:
    import csv  # here, because only this file needs it

    columns = FoundUser.columns()
    rows = chain([columns], (_cells(each, columns) for each in users))
    while chunk := list(islice(rows, _ROWS)):
        file = io.StringIO()
        csv.writer(file).writerows(chunk)
        yield file.getvalue().encode()


def _cells(user: FoundUser, columns: list[str]) -> Iterator[str]:
    from wsgiauth.features.transfer.cells import neutralize_formula

    fields = json_fields(user._asdict())
    for value in map(fields.__getitem__, columns):
        if isinstance(value, bool):
            yield "yes" if value else "no"
        else:
            yield neutralize_formula("" if value is None else str(value))
