"""GET /auth/admin/users/{id}: one user, and what the member of the staff can do with them."""

from collections.abc import Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.admin import (
    EVENTS,
    GROUPS,
    USERS,
    Frame,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
    require_target,
)
from wsgiauth.admin.account import Account
from wsgiauth.admin.actions import ACCESS, DANGER, NOTICES, RIGHTS
from wsgiauth.admin.changes import GROUP, PERMISSION
from wsgiauth.admin.groups import list_groups, offered_permissions
from wsgiauth.admin.trail_rows import TrailRow, trail_rows
from wsgiauth.authentication.session_list import LISTED
from wsgiauth.events import trail
from wsgiauth.events.trail import Filters
from wsgiauth.site import Site
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Response, json_response

_EVENTS = 10  # on the page of the user


class UserPage(PanelPage):
    """The page of a user.

    Attributes:
        frame: See `PanelPage`.
        account: The user.
        user_url: The path of this page, below which the actions are.
        is_own: Whether it is the member of the staff themselves.
        choices: What to choose from in the fields of the actions, by field.
        events: The newest events of the user.
        groups_url: The list of groups.
        events_url: All events of the user.
        users_url: Below which each user is.
        sections: The names of the sections of actions.
        limit: How many logins are shown at most.
        notice: What has just been done, or nothing.
    """

    template = "admin/user.html"

    frame: Frame
    account: Account
    user_url: str
    is_own: bool
    choices: Mapping[str, tuple[str, ...]]
    events: tuple[TrailRow, ...]
    groups_url: str
    events_url: str
    users_url: str
    sections: tuple[str, ...] = (ACCESS, RIGHTS, DANGER)
    limit: int = LISTED
    notice: str = ""


class ShowUser(PanelEndpoint):
    """Shows a user."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the user as JSON."""
        login = require_staff(environ, site)
        target = require_target(environ)
        account = Account.read(site, target, login)
        if not prefers_html(environ):
            return json_response(account.document())
        page = UserPage(
            frame=frame_of(environ, login.user, USERS),
            account=account,
            user_url=f"{panel_url(environ)}/{USERS}/{target.id}",
            is_own=target.id == login.user.id,
            choices=_choices(account),
            events=tuple(trail_rows(trail.page(Filters(user_id=target.id), size=_EVENTS))),
            groups_url=f"{panel_url(environ)}/{GROUPS}",
            events_url=f"{panel_url(environ)}/{EVENTS}?user={target.id}",
            users_url=f"{panel_url(environ)}/{USERS}",
            notice=NOTICES.get(query_field(environ, "done"), ""),
        )
        return site.pages.render(page)


def _choices(account: Account) -> dict[str, tuple[str, ...]]:
    """Return what to choose from for the actions that are offered."""
    if "grant" not in account.actions:
        return {}
    groups = tuple(each.name for each in list_groups())
    return {PERMISSION.name: offered_permissions(), GROUP.name: groups}
