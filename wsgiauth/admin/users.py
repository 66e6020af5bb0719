"""GET /auth/admin/users: find users by the beginning of their names, and by what they are."""

from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.user_search import FoundUser, find_users
from wsgiauth.admin import (
    USERS,
    Frame,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.admin.criteria import AFTER, Choice, Query
from wsgiauth.admin.groups import ListedGroup, list_groups
from wsgiauth.admin.invite import INVITED, SENT, invite_url
from wsgiauth.forms.endpoint import AccountLink
from wsgiauth.site import Site
from wsgiauth.storage.models import json_fields
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Response, json_response

# What has just been done, by the `done` of the query.
_NOTICES = {"delete": "The account has been deleted.", INVITED: SENT}


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

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with a page of the list, or with the same as JSON."""
        member = require_staff(environ, site).user
        query = Query.of(environ)
        found = find_users(query.criteria, query.after)
        users_url = f"{panel_url(environ)}/{USERS}"
        next_url = query.url(users_url, **{AFTER: found.after}) if found.after else ""
        if not prefers_html(environ):
            users = [json_fields(each._asdict()) for each in found.users]
            return json_response({"users": users, "next": next_url or None})
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
