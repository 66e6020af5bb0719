"""The URLs of the panel."""

from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.administration import MANAGE_USERS
from wsgiauth.admin import Panel
from wsgiauth.admin.group import ShowGroup
from wsgiauth.admin.group_actions import ChangeGroup
from wsgiauth.admin.groups import Groups
from wsgiauth.admin.invite import Invite
from wsgiauth.admin.trail import Events
from wsgiauth.admin.user import ShowUser
from wsgiauth.admin.user_actions import UserActions
from wsgiauth.admin.users import Users
from wsgiauth.admin.users_csv import UsersCsv
from wsgiauth.endpoints import Endpoint
from wsgiauth.settings import Settings

PANEL: dict[str, Endpoint] = {
    "/admin": Panel(),
    "/admin/users": Users(),
    "/admin/users.csv": UsersCsv(),
    "/admin/users/{id}": ShowUser(),
    "/admin/users/{id}/{action}": UserActions(),
    "/admin/invite": Invite(),
    "/admin/groups": Groups(),
    "/admin/groups/{id}": ShowGroup(),
    "/admin/groups/{id}/{action}": ChangeGroup(),
    "/admin/events": Events(),
}


def register_permissions(settings: Settings) -> None:
    """Note that this process asks for the permission of the panel, if the site has one."""
    if settings.ADMIN_PANEL:
        known_permissions.register(MANAGE_USERS)
