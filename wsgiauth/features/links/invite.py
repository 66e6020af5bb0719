"""GET, POST /auth/admin/invite: invites a person by email."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import check_names, names
from wsgiauth.accounts.known_permissions import offered_permissions
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import GROUP_MAX_LENGTH
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.links.invitations import HOURS, Invitation, InvitedGroup
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.features.links.open_invitations import find_invitations
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, see_other
from wsgiauth.forms.fields import Flag, Text, Texts
from wsgiauth.messages import _, ngettext
from wsgiauth.openapi.problems import INVALID, TAKEN, THROTTLED
from wsgiauth.openapi.schemas import text
from wsgiauth.openapi.strings import EMAIL
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.staff.administration import (
    TO_INVITE,
    Party,
    administer_invitation,
    can_govern,
    invitation_refusal,
)
from wsgiauth.staff.frame import USERS, PanelForm, PanelPage, frame_of, panel_url
from wsgiauth.staff.groups import list_groups, require_group
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response

INVITED = "invite"  # in the path, and as the `done` of the query
SENT = ngettext(
    "The invitation is on its way. Its link works for %(num)s hour.",
    "The invitation is on its way. Its link works for %(num)s hours.",
    HOURS,
)


class InvitePage(PanelPage, FormPage):
    """The form that invites a person."""

    template = "admin/invite.html"
    typed = ("email", "username", "permissions", "groups")
    invite_url = UrlBelow("admin/invite")  # where the form is sent
    back_url = UrlBelow("admin/users")
    hours: int = HOURS  # the lifetime of the link
    gives_rights: bool  # the member of the staff can also give rights
    offered: tuple[str, ...] = ()  # permissions to choose from
    chosen: frozenset[str] = frozenset()  # the chosen permissions
    groups: tuple[str, ...] = ()  # names of groups to choose from
    joined: frozenset[str] = frozenset()  # the chosen groups
    email: str = ""
    username: str = ""
    is_staff: bool = False


class Invite(PanelForm):
    """Sends an invitation, on a site that sends email."""

    step = _("Invite a person")
    fields = (
        Text("email", EMAIL, required=True),
        Text(
            "username", "Without it, the person chooses one.", needs="USERNAMES", examples=["grace"]
        ),
        Texts("permissions", "What the user gets. Only by superusers.", items=text(maxLength=100)),
        Texts(
            "groups",
            "The names of the groups that the user joins, in any letter case. Only by superusers.",
            items=text(maxLength=GROUP_MAX_LENGTH),
        ),
        Flag("is_staff", "Makes the user a member of the staff. Only by superusers."),
    )
    refusals = (INVALID, TAKEN, THROTTLED)
    right = TO_INVITE

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site has a panel, and sends email."""
        return super().is_offered(settings) and settings.MAIL_URL is not None

    def act(self, submission: MemberSubmission) -> Response:
        """Send the invitation."""
        site = submission.site
        permissions = submission.lists["permissions"]
        errors: dict[str, list[str]] = {}
        if not all(map(names.is_permission, permissions)):
            message = _("A permission has the form app.action, such as reports.publish.")
            errors["permissions"] = [message]
        groups = set()
        for name in submission.lists["groups"]:
            try:
                groups.add(InvitedGroup.of(require_group(name, "groups")))
            except ValidationError as error:
                errors |= error.errors
        invitation = Invitation(
            email=submission.fields["email"],
            username=submission.fields.get("username", ""),
            is_staff="is_staff" in submission.flags,
            permissions=tuple(sorted(set(permissions))),
            groups=tuple(sorted(groups, key=lambda each: each.name)),
            is_of_staff=True,
        )
        # Count only valid names, and outside of the transaction.
        check_names(invitation.names, errors)
        replaced = find_invitations(invitation.email, site.tokens.now())
        site.require(MailLimits).count_invitation_by_staff(invitation.email)
        administer_invitation(
            submission.member.user,
            lambda: issue_invitation(
                invitation,
                site.outbox,
                site.settings,
                mount=site.pages.mount,
                now=site.tokens.now(),
            ),
            # Also to replace an invitation that does.
            gives_rights=invitation.gives_rights or any(each.gives_rights for each in replaced),
        )
        if submission.wants_json:
            return json_response({"detail": SENT}, status=HTTPStatus.ACCEPTED)
        return see_other(submission, f"admin/{USERS}?done={INVITED}")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> InvitePage:
        """Return the form, as it was sent."""
        member = submission.member.user
        gives_rights = can_govern(member)
        return InvitePage(
            frame=frame_of(submission.environ, member, USERS),
            gives_rights=gives_rights,
            offered=offered_permissions() if gives_rights else (),
            chosen=frozenset(submission.lists["permissions"]),
            groups=tuple(each.name for each in list_groups()) if gives_rights else (),
            joined=frozenset(submission.lists["groups"]),
            email=submission.fields["email"],
            username=submission.fields.get("username", ""),
            is_staff="is_staff" in submission.flags,
            message=refusal.message,
            errors=refusal.errors,
        )

    def refusal(self, environ: WSGIEnvironment, site: Site, member: User) -> str | None:
        """Refuse a member of the staff who cannot invite anyone."""
        return cannot_invite(member)


def invite_url(environ: WSGIEnvironment, site: Site, member: User) -> str:
    """Return the URL of the form; empty without email or the right to invite."""
    if site.outbox is None or cannot_invite(member) is not None:
        return ""
    return f"{panel_url(environ)}/{INVITED}"


def cannot_invite(member: User) -> str | None:
    """Return why a member of the staff cannot invite anyone, for people, or None."""
    if can_govern(member):  # without a query for their permissions
        return None
    return invitation_refusal(Party(member, member.permissions), gives_rights=False)
