"""What the feature `panel` declares: see `wsgiauth.feature`."""

from collections.abc import Sequence

from wsgiauth.accounts.administration import MANAGE_USERS
from wsgiauth.admin import Panel
from wsgiauth.admin.group import ChangeGroup, ShowGroup
from wsgiauth.admin.groups import Groups
from wsgiauth.admin.invite import Invite
from wsgiauth.admin.several import ChangeSeveral
from wsgiauth.admin.trail import Events
from wsgiauth.admin.user import ChangeUser, ShowUser
from wsgiauth.admin.users import Users, UsersCsv
from wsgiauth.feature import Feature
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page


def _pages() -> Sequence[Page]:
    from wsgiauth.features.panel.samples import PAGES

    return PAGES


def _permissions(settings: Settings) -> tuple[str, ...]:
    return (MANAGE_USERS,) if settings.ADMIN_PANEL else ()


FEATURE = Feature(
    name="panel",
    urls={
        "/admin": Panel(),
        "/admin/users": Users(),
        "/admin/users.csv": UsersCsv(),
        "/admin/users/several": ChangeSeveral(),
        "/admin/users/{id}": ShowUser(),
        "/admin/users/{id}/{action}": ChangeUser(),
        "/admin/invite": Invite(),
        "/admin/groups": Groups(),
        "/admin/groups/{id}": ShowGroup(),
        "/admin/groups/{id}/{action}": ChangeGroup(),
        "/admin/events": Events(),
    },
    permissions=_permissions,
    pages=_pages,
)
