"""The declaration of the feature `panel`: see `wsgiauth.feature`."""

from collections.abc import Sequence

from wsgiauth.feature import Feature
from wsgiauth.features.links.invitations_page import Invitations
from wsgiauth.features.links.invite import Invite
from wsgiauth.features.panel.groups import ChangeGroup, Groups, ShowGroup
from wsgiauth.features.panel.overview import Overview
from wsgiauth.features.panel.several import ChangeSeveral
from wsgiauth.features.panel.trail import Events
from wsgiauth.features.panel.user import ChangeUser, ShowUser
from wsgiauth.features.panel.users import USERS_EXPORTED, Users, UsersCsv
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.staff.administration import MANAGE_USERS
from wsgiauth.staff.frame import EVENTS, GROUPS, OVERVIEW, USERS
from wsgiauth.web.pages import Page, StaffSection


def _pages() -> Sequence[Page]:
    from wsgiauth.features.panel.samples import PAGES

    return PAGES


def _permissions(settings: Settings) -> tuple[str, ...]:
    return (MANAGE_USERS,) if settings.ADMIN_PANEL else ()


def _sections(settings: Settings) -> tuple[StaffSection, ...]:
    if not settings.ADMIN_PANEL:
        return ()
    return (
        StaffSection(OVERVIEW, _("Overview"), "chart"),
        StaffSection(USERS, _("Users"), "person"),
        StaffSection(GROUPS, _("Groups"), "users"),
        StaffSection(EVENTS, _("Audit trail"), "clock"),
    )


FEATURE = Feature(
    name="panel",
    openapi="wsgiauth.features.panel.openapi",
    urls={
        "/admin": Overview(),
        "/admin/users": Users(),
        "/admin/users.csv": UsersCsv(),
        "/admin/users/several": ChangeSeveral(),
        "/admin/users/{id}": ShowUser(),
        "/admin/users/{id}/{action}": ChangeUser(),
        "/admin/invite": Invite(),
        "/admin/invitations": Invitations(),
        "/admin/groups": Groups(),
        "/admin/groups/{id}": ShowGroup(),
        "/admin/groups/{id}/{action}": ChangeGroup(),
        "/admin/events": Events(),
    },
    permissions=_permissions,
    events=(USERS_EXPORTED,),
    staff_sections=_sections,
    pages=_pages,
)
