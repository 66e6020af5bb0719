"""The emails: an invitation, and a notice about a change of one's own membership by others.

They have the slug, because a name can be anything that someone wants a stranger to read.
"""

import json

from wsgiauth import extend
from wsgiauth.extend import Addressed, Mail, Settings, _, one_time
from wsgiauth.extend.samples import SAMPLE_ROOT

from .invitations import MAIL, PURPOSE, find_invitation
from .roles import Role

NOTICE = "organisation notice"  # the kind of the emails


class InvitationLetter(extend.LinkLetter):
    """The email with the link to join."""

    template = "mail/organisations_invitation.txt"
    action = _("Join the organisation")
    slug: str


class NoticeLetter(extend.Letter):
    """The email to a member about their new role, or their removal."""

    template = "mail/organisations_notice.txt"
    slug: str
    role: str  # in words; empty for a removal

    def why(self, site: extend.SiteLabel, address: str) -> extend.Message:
        """Return the sentence at its end."""
        names = {"site": site.name, "email": address}
        return _("%(site)s sent this email to %(email)s about an organisation there.", **names)


def _compose_invitation(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the email with a new link, or None if the invitation was revoked meanwhile."""
    data = json.loads(mail.data)
    invitation = find_invitation(data["invitation"], now)
    if invitation is None:
        return None
    lifetime = invitation.expires_at - int(now)
    secret = one_time.issue(PURPOSE, None, now=now, lifetime=lifetime, data=invitation.id)
    link = one_time.link_url(settings, data["mount"], "organisations/join", secret)
    values = {"slug": invitation.organisation.slug, "link": link, "minutes": lifetime // 60}
    return Addressed(InvitationLetter(**values), invitation.email, None, mail.language)


def _compose_notice(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the notice, or None if the account is inactive by now."""
    user, (slug, _space, role) = mail.user, json.loads(mail.data)["reason"].partition(" ")
    if user is None or not user.is_active:
        return None
    letter = NoticeLetter(slug=slug, role=Role(role).words if role else "")
    return Addressed(letter, user.email, user.id, user.language)


COMPOSERS = {MAIL: _compose_invitation, NOTICE: _compose_notice}

_LINK = f"{SAMPLE_ROOT}/organisations/join?token=example"
LETTERS = (
    InvitationLetter(slug="analytical-engines", link=_LINK, minutes=72 * 60),
    NoticeLetter(slug="analytical-engines", role=Role.ADMIN.words),
    NoticeLetter(slug="analytical-engines", role=""),
)
