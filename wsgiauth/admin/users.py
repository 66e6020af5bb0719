"""GET /auth/admin/users: find users by the beginning of their names, and by what they are."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.index_walks import FoundUser
from wsgiauth.accounts.user_search import PAGE, find_users
from wsgiauth.admin import (
    EXAMPLE_FRAME,
    USERS,
    Frame,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.admin.criteria import AFTER, FILTERS, PARAMETERS, Choice, Query
from wsgiauth.admin.groups import ListedGroup, list_groups
from wsgiauth.admin.invite import INVITED, SENT, invite_url
from wsgiauth.forms.endpoint import AccountLink
from wsgiauth.site import Site
from wsgiauth.storage.models import utc_text
from wsgiauth.web.openapi import LOGGED_IN, TO_LOGIN, operation, success, with_page
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Response, json_response

# What has just been done, by the `done` of the query.
_NOTICES = {"delete": "The account has been deleted.", INVITED: SENT}

EXAMPLE_USER = FoundUser(
    id=7,
    username="grace",
    email="grace@example.org",
    is_active=True,
    is_staff=True,
    is_superuser=False,
    created_at=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
    email_verified_at=datetime(2026, 3, 1, 9, 35, tzinfo=UTC),
    last_login_at=datetime(2026, 11, 2, 9, 5, tzinfo=UTC),
)

_FLAG = {"type": "boolean"}
_TIME = {"type": ["string", "null"], "format": "date-time"}
USER_PROPERTIES: dict[str, dict[str, Any]] = {
    "id": {"type": "integer", "format": "int64", "minimum": 1},
    "username": {"$ref": "#/components/schemas/Username"},
    "email": {"$ref": "#/components/schemas/Email"},
    "is_active": {**_FLAG, "description": "Whether the user can log in."},
    "is_staff": {**_FLAG, "description": "Whether the user is a member of the staff."},
    "is_superuser": {**_FLAG, "description": "Whether the user has every permission."},
    "created_at": {"type": "string", "format": "date-time", "description": "In UTC."},
    "email_verified_at": {**_TIME, "description": "When the user proved the e-mail address."},
    "last_login_at": {**_TIME, "description": "When the user last logged in, to the hour."},
}


@dataclass(frozen=True, kw_only=True)
class UsersPage(PanelPage):
    """A page of the list of users.

    Attributes:
        frame: See `PanelPage`.
        users: The users.
        beginning: What was searched for.
        choices: Every filter as it was chosen.
        groups: The groups to choose from.
        group: The number of the chosen group, or None.
        chosen: How many filters have a value.
        users_url: Where the form is sent.
        csv_url: The same users as a file.
        invite_url: Where a person is invited; nothing without mail or the right to.
        next_url: The next page, or nothing.
        is_first: Whether the list begins with this page.
        is_cut: Whether the page is short because so many users did not match.
        notice: What has just been done, or nothing.
    """

    template = "admin/users.html"

    frame: Frame
    users: tuple[FoundUser, ...]
    beginning: str
    choices: tuple[Choice, ...]
    groups: tuple[ListedGroup, ...]
    group: int | None
    chosen: int
    users_url: str
    csv_url: str
    invite_url: str
    next_url: str
    is_first: bool
    is_cut: bool
    notice: str = ""


class Users(PanelEndpoint):
    """Lists users, a page at a time."""

    account_link = AccountLink("Administration", "Find users, and change their accounts.")
    is_for_staff = True
    samples = (
        UsersPage(
            frame=EXAMPLE_FRAME,
            users=(EXAMPLE_USER,),
            beginning="gr",
            choices=tuple(Choice(each, each.values[0]) for each in FILTERS),
            groups=(ListedGroup(3, "Editors"),),
            group=3,
            chosen=len(FILTERS),
            users_url="/auth/admin/users",
            csv_url="/auth/admin/users.csv?q=gr",
            invite_url="/auth/admin/invite",
            next_url="/auth/admin/users?q=gr&after=name%3Agrace",
            is_first=False,
            is_cut=True,
            notice=_NOTICES["delete"],
        ),
    )
    operations = {
        "get": operation(
            "findUsers",
            tag="administration",
            summary="Find users",
            description=f"At most {PAGE} users: by their names if `q` is given, otherwise the"
            " newest first, or the latest login or proof of an address. A page can have fewer"
            " users, even none, although there are more: `next` says so.",
            security=LOGGED_IN,
            parameters=[
                *PARAMETERS,
                {
                    "name": AFTER,
                    "in": "query",
                    "description": "Where the page begins, as in a `next`.",
                    "schema": {"type": "string"},
                },
            ],
            answers={200: with_page(success("The users.", "FoundUsers")), 302: TO_LOGIN},
            failures=["Unauthenticated", "NotFound", "InvalidQuery", "Unavailable"],
        )
    }
    schemas = {
        "FoundUsers": {
            "type": "object",
            "required": ["users", "next"],
            "properties": {
                "users": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/FoundUser"},
                    "maxItems": PAGE,
                },
                "next": {
                    "type": ["string", "null"],
                    "description": "The path and query of the next page. Null: this is the last.",
                },
            },
        },
        "FoundUser": {
            "type": "object",
            "required": [*FoundUser._fields],
            "properties": USER_PROPERTIES,
        },
    }

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with a page of the list, or with the same as JSON."""
        member = require_staff(environ, site).user
        query = Query.of(environ)
        found = find_users(query.criteria, query.after)
        users_url = f"{panel_url(environ)}/{USERS}"
        next_url = query.url(users_url, **{AFTER: found.after}) if found.after else ""
        if not prefers_html(environ):
            return json_response(
                {"users": [document(each) for each in found.users], "next": next_url or None}
            )
        page = UsersPage(
            frame=frame_of(environ, member, USERS),
            users=tuple(found.users),
            beginning=query.beginning,
            choices=query.choices,
            groups=tuple(list_groups()),
            group=query.group,
            chosen=query.number_chosen,
            users_url=users_url,
            csv_url=query.url(f"{users_url}.csv"),
            invite_url=invite_url(environ, site, member),
            next_url=next_url,
            is_first=not query.after,
            is_cut=found.is_cut,
            notice=_NOTICES.get(query_field(environ, "done"), ""),
        )
        return site.pages.render(page)


def document(user: FoundUser) -> dict[str, object]:
    """Return a user of the list, ready for JSON."""
    fields = user._asdict()
    times = {name: value and utc_text(value) for name, value in fields.items() if name in _TIMES}
    return {**fields, **times}


_TIMES = ("created_at", "email_verified_at", "last_login_at")
