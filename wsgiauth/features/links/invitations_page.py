"""GET, POST /auth/admin/invitations: the open invitations, and the end of those of one address."""

from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.exceptions import RequestError
from wsgiauth.features.links.invite import cannot_invite, invite_url
from wsgiauth.features.links.open_invitations import (
    OpenInvitation,
    end_invitations,
    find_invitations,
    open_invitations,
)
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, see_other
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.strings import EMAIL
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.staff.administration import TO_INVITE, administer_invitation, can_govern
from wsgiauth.staff.frame import (
    USERS,
    PanelForm,
    PanelPage,
    frame_of,
    panel_url,
    require_staff,
)
from wsgiauth.staff.people import Person, people_of
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Response, json_response

INVITATIONS = "invitations"  # in the path
LISTED = 200  # invitations

_REVOKED = "revoked"  # as the `done` of the query
_DETAIL = _("The invitation has been revoked: its link no longer works.")


class ListedInvitation(NamedTuple):
    """An open invitation, and whether the member of the staff can revoke it."""

    invitation: OpenInvitation
    inviter: Person | str | None  # in words if it is no user
    can_revoke: bool


class InvitationsPage(PanelPage, FormPage):
    """The list of open invitations."""

    template = "admin/invitations.html"
    invitations_url = UrlBelow("admin/invitations")  # where the forms are sent
    users_url = UrlBelow("admin/users")
    invitations: tuple[ListedInvitation, ...]
    limit: int = LISTED  # how many are shown at most
    invite_url: str = ""  # empty without email or the right to invite


_NOT_INVITED = Problem(
    "NotInvited",
    404,
    {"no_such_invitation": "The address has no open invitation."},
)


class Invitations(PanelForm):
    """Lists open invitations, and revokes those of one address."""

    back = BackLink("admin/invitations", _("Back to the invitations"))
    step = _("Open invitations")
    fields = (Text("email", EMAIL, required=True),)
    refusals = (_NOT_INVITED,)
    is_list = True
    right = TO_INVITE

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site has a panel, and invitations."""
        return super().is_offered(settings) and settings.PUBLIC_URL is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the list as a page, or as JSON; it needs no recent proof."""
        member = require_staff(environ, site)
        if not prefers_html(environ):
            listed = open_invitations(site.tokens.now(), LISTED)
            return json_response({"invitations": [each.document() for each in listed]})
        fields = {"email": ""}
        submission = MemberSubmission(environ=environ, site=site, member=member, fields=fields)
        return site.pages.render(environ, self.page(submission, Refusal()))

    def act(self, submission: MemberSubmission) -> Response:
        """Revoke the invitations of the address."""
        email = submission.fields["email"]
        found = find_invitations(email, submission.site.tokens.now())
        if not found:
            raise RequestError(
                HTTPStatus.NOT_FOUND,
                "no_such_invitation",
                _("This address has no open invitation: it was used or revoked, or has expired."),
            )
        administer_invitation(
            submission.member.user,
            lambda: end_invitations(email),
            gives_rights=any(each.gives_rights for each in found),
        )
        if submission.wants_json:
            return json_response({"detail": _DETAIL})
        return see_other(submission, f"admin/{INVITATIONS}?done={_REVOKED}")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> InvitationsPage:
        """Return the list."""
        environ, site, member = submission.environ, submission.site, submission.member.user
        listed = open_invitations(site.tokens.now(), LISTED)
        inviters = people_of(each.actor for each in listed)
        can_invite = cannot_invite(member) is None
        return InvitationsPage(
            frame=frame_of(environ, member, USERS),
            invitations=tuple(
                ListedInvitation(
                    each, inviter, can_govern(member) or (can_invite and not each.gives_rights)
                )
                for each, inviter in zip(listed, inviters, strict=True)
            ),
            invite_url=invite_url(environ, site, member),
            message=refusal.text,
            notice=notice_of(environ, {_REVOKED: _DETAIL}),
        )

    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Refuse a member of the staff who cannot invite anyone."""
        return cannot_invite(member)


def invitations_url(environ: WSGIEnvironment, site: Site) -> str:
    """Return the URL of the list; empty on a site without links."""
    return f"{panel_url(environ)}/{INVITATIONS}" if site.settings.PUBLIC_URL else ""
