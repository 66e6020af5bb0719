"""An example of each page, by which wsgiauth checks the templates of a site at its start."""

from wsgiauth.extend import Frame, Page
from wsgiauth.extend.samples import THEN

from .invitations import OpenInvitation
from .memberships import Membership
from .pages import JoinPage, OrganisationPage, OrganisationsPage, Seat, View
from .panel import OrganisationsPanelPage
from .roles import Role

_OWN = Membership(1, "analytical-engines", "Analytical Engines", Role.OWNER, THEN)
_SEATS = [Seat(1, "ada", "ada@example.org", Role.OWNER, THEN), Seat(2, "G", None, Role.ADMIN, THEN)]
_INVITED = OpenInvitation("00c0ffee00c0ffee", "mary@example.org", Role.ADMIN, THEN)
_VIEW = View(_OWN, _SEATS, (_INVITED,))
_PAGE = OrganisationPage(view=_VIEW, viewer_id=1)
_LIST = OrganisationsPage(memberships=(_OWN,))
_LISTED = {"slug": _OWN.slug, "name": _OWN.name, "members": 2}
_FRAME = Frame("/auth/admin", "organisations", "ada", "/auth/account", "/")
_PANEL = OrganisationsPanelPage(frame=_FRAME, organisations=(_LISTED,), next_url="/x")

PAGES: tuple[Page, ...] = (
    _LIST.replaced(memberships=(), notice="Done."),
    _LIST.replaced(message="No.", errors={"name": ["A rule."], "slug": ["A rule."]}),
    _LIST,
    _PAGE.replaced(message="No.", errors={"email": ["A rule."]}, can_invite=False),
    _PAGE.replaced(view=_VIEW._replace(own=_OWN._replace(role=Role.MEMBER)), notice="Done."),
    _PAGE,
    JoinPage(token="example", name=_OWN.name, role=Role.ADMIN, message="No."),
    _PANEL.replaced(organisations=(), next_url=""),
    _PANEL,
)
