"""The pages of users, and an organisation as one of its members sees it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from wsgiauth import extend
from wsgiauth.extend import FormPage, UrlBelow, User

from .invitations import OpenInvitation, list_invitations
from .members import SLUG
from .memberships import Membership, document, require_membership
from .roles import Role
from .tables import Member


class Seat(NamedTuple):
    """A member, as another one sees them."""

    user: int
    label: str
    email: str | None  # for admins alone
    role: Role
    joined_at: datetime


class View(NamedTuple):
    """An organisation, as one of its members sees it."""

    own: Membership
    seats: Sequence[Seat]
    invitations: Sequence[OpenInvitation]  # for admins alone

    def document(self) -> dict[str, object]:
        """Return the organisation, ready for JSON."""
        lists = {"members": self.seats, "invitations": self.invitations}
        return document(self.own) | {name: [*map(document, each)] for name, each in lists.items()}


def view(viewer: User, slug: str, site: extend.Site) -> View:
    """Return an organisation; raise NotFoundError if the viewer is no member."""
    own = require_membership(viewer, slug)
    is_admin = own.role.covers(Role.ADMIN)

    def seat(row: Any) -> Seat:
        user, role, since = row.user, Role(row.role), extend.from_timestamp(row.joined_at)
        # With USERNAMES=off, the label is the address.
        shows_label = site.settings.USERNAMES or is_admin or user.id == viewer.id
        label = user.label if shows_label else extend.email_in_part(user.email)
        return Seat(user.id, label, user.email if is_admin else None, role, since)

    is_here = Member.organisation == own.organisation_id
    members = Member.select(Member, User).join(User).where(is_here).order_by(Member.id)
    invited = list_invitations(own.organisation_id, site.tokens.now()) if is_admin else ()
    return View(own, [*map(seat, members)], invited)


class OrganisationsPage(FormPage):
    """The organisations of a user, and the form to found one."""

    template = "organisations.html"
    typed = ("name", "slug")
    organisations_url = UrlBelow("organisations")
    memberships: Sequence[Membership]
    name: str = ""
    slug: str = ""
    pattern: str = SLUG


class OrganisationPage(FormPage):
    """An organisation, with the forms of those who can change it."""

    template = "organisations_one.html"
    typed = ("email",)
    organisations_url = UrlBelow("organisations")
    view: View
    viewer_id: int
    email: str = ""  # to invite, as it was sent
    role: str = Role.MEMBER
    can_invite: bool = True  # the site sends emails

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"{self.organisations_url}/{self.view.own.slug}"

    @property
    def choices(self) -> Sequence[tuple[Role, str]]:
        """The roles that the viewer can give; none without the right."""
        own = self.view.own.role
        return [(each, each.words) for each in Role if own.covers(Role.ADMIN, each)]


class JoinPage(FormPage):
    """The button that accepts an invitation."""

    template = "organisations_join.html"
    join_url = UrlBelow("organisations/join")
    token: str
    name: str  # of the organisation
    role: Role
