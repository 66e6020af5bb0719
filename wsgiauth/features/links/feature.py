"""The declaration of the feature `links`: see `wsgiauth.feature`."""

from collections.abc import Sequence

from wsgiauth.feature import Command, Feature
from wsgiauth.features.links import letters
from wsgiauth.features.links.email import Email
from wsgiauth.features.links.forgot import Forgot
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.features.links.open_invitations import INVITATION_ENDED, count_invitations
from wsgiauth.features.links.reset import Reset
from wsgiauth.features.links.restore import Restore
from wsgiauth.features.links.verified_register import Registration
from wsgiauth.features.links.verify import Verify
from wsgiauth.figures import Figure
from wsgiauth.messages import _
from wsgiauth.web.pages import Page


def _pages() -> Sequence[Page]:
    from wsgiauth.features.links.samples import PAGES

    return PAGES


_COMMANDS = "wsgiauth.features.links.commands"

FEATURE = Feature(
    name="links",
    commands={
        "invite": Command(_COMMANDS, "invite a person, by email, to create an account"),
        "invitations": Command(_COMMANDS, "list the open invitations, the newest first"),
        "endinvitation": Command(_COMMANDS, "revoke the open invitations of an address"),
        "resetlink": Command(_COMMANDS, "print a link with which a user can choose a new password"),
    },
    urls={
        "/register": Registration(),
        "/email": Email(),
        "/forgot": Forgot(),
        "/reset": Reset(),
        "/restore": Restore(),
        "/verify": Verify(),
    },
    openapi="wsgiauth.features.links.openapi",
    replaces=frozenset({"/register"}),
    parts=lambda settings: {
        letters.LinkInviter: lambda _: letters.LinkInviter(),
        MailLimits: lambda _: MailLimits(settings),
    },
    pages=_pages,
    events=(INVITATION_ENDED,),
    figures=lambda settings: [
        Figure("open_invitations", "Invitations that can be used.", count_invitations)
    ],
    event_reasons=letters.REASONS,
    composers=letters.composers,
    letter_samples=letters.SAMPLES,
    headlines={
        "link_expired": _("This link can no longer be used"),
        "no_such_invitation": _("This invitation is no longer open"),
    },
)
