"""GET /auth/admin/groups/{id}: one group, its permissions and its members."""

from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.administration import can_govern
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.index_walks import FoundUser
from wsgiauth.accounts.user_search import Criteria, find_users
from wsgiauth.admin import (
    GROUPS,
    USERS,
    Frame,
    PanelEndpoint,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.admin.actions import NOTHING_CHANGED, UNCHANGED
from wsgiauth.admin.group_actions import GROUP_ACTIONS, group_document, require_group
from wsgiauth.admin.groups import offered_permissions
from wsgiauth.site import Site
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Response, json_response

_NOTICES = {name: each.done for name, each in GROUP_ACTIONS.items()}
_NOTICES |= {UNCHANGED: NOTHING_CHANGED}
_NOTICES |= {"create": "The group has been created. It has no permissions and no members yet."}


class GroupPage(PanelPage):
    """The page of a group.

    Attributes:
        frame: See `PanelPage`.
        name: The name of the group.
        permissions: Its permissions.
        offered: Permissions to choose from.
        members: The newest members.
        members_url: All members, in the list of users; nothing if all are shown.
        group_url: The path of this page, below which the actions are.
        users_url: The list of users.
        can_change: Whether the member of the staff can change it.
        notice: What has just been done.
    """

    template = "admin/group.html"

    frame: Frame
    name: str
    permissions: tuple[str, ...]
    offered: tuple[str, ...]
    members: tuple[FoundUser, ...]
    members_url: str
    group_url: str
    users_url: str
    can_change: bool
    notice: str = ""


class ShowGroup(PanelEndpoint):
    """Shows a group."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, or with the group as JSON."""
        member = require_staff(environ, site).user
        group: Group = require_group(environ)
        if not prefers_html(environ):
            return json_response(group_document(group))
        members = find_users(Criteria(group_id=group.id))
        users_url = f"{panel_url(environ)}/{USERS}"
        page = GroupPage(
            frame=frame_of(environ, member, GROUPS),
            name=group.name,
            permissions=tuple(sorted(group.permissions)),
            offered=offered_permissions(),
            members=tuple(members.users),
            members_url=f"{users_url}?group={group.id}" if members.after else "",
            group_url=f"{panel_url(environ)}/{GROUPS}/{group.id}",
            users_url=users_url,
            can_change=can_govern(member),
            notice=_NOTICES.get(query_field(environ, "done"), ""),
        )
        return site.pages.render(page)
