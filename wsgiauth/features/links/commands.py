"""Commands that send an invitation, or print a link for a new password."""

import time

from wsgiauth import events, storage
from wsgiauth.accounts.names import typed
from wsgiauth.accounts.tables import INVITATION
from wsgiauth.authentication.password import make_printed_reset_link
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    columns_of,
    open_database,
    refuse_username,
    require_group,
    require_passwords,
    require_user,
)
from wsgiauth.console.output import print_line, print_list
from wsgiauth.console.parser import PERMISSIONS, Parser
from wsgiauth.feature import composers_of, letters_by_feature
from wsgiauth.features.links.invitations import HOURS, Invitation, InvitedGroup
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.features.links.open_invitations import (
    end_invitations,
    find_invitations,
    open_invitations,
)
from wsgiauth.features.registry import features_of
from wsgiauth.mail.outbox import Mail, Outbox
from wsgiauth.mail.site_outbox import make_outbox

_COLUMNS = {
    "email": "email",
    "username": "username",
    "staff": "is_staff",
    "permissions": "permissions",
    "groups": "groups",
    "invited by": "actor",
    "until": "until",
}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    added = parser.command(
        "invite",
        send_invitation,
        "--mount",
        examples=(
            "grace@example.org --username grace --staff --grant reports.publish --join editors",
        ),
        details="The link works for 72 hours. Without MAIL_URL, it is printed, and needs"
        " PUBLIC_URL.",
    )
    added.add_argument("email", metavar="EMAIL", type=typed, help="an address that has no account")
    added.add_argument(
        "--username",
        metavar="NAME",
        type=typed,
        help="without it, the person chooses one; not with USERNAMES=off",
    )
    added.add_argument("--staff", action="store_true", help="mark the user as staff")
    added.add_argument(
        "--grant", help="a permission that the user gets, such as reports.publish", **PERMISSIONS
    )
    added.add_argument(
        "--join",
        metavar="GROUP",
        nargs="+",
        action="extend",
        default=[],
        help="the groups that the user joins",
    )
    parser.command(
        "invitations",
        print_invitations,
        "--json",
        details="An email that waits to be sent has no time yet. Links that people asked for at"
        " /auth/register are not invitations.",
    )
    added = parser.command("endinvitation", revoke_invitation, examples=("grace@example.org",))
    added.add_argument("email", metavar="EMAIL", type=typed, help="as `invitations` lists it")
    parser.command(
        "resetlink",
        print_reset_link,
        "user",
        "--mount",
        examples=("ada",),
        details="Needs PUBLIC_URL, for the command and the server.",
    )


def send_invitation(arguments: Arguments) -> None:
    """Send an invitation; print its link if the site sends no emails."""
    refuse_username(arguments)
    settings = open_database(arguments)
    features = features_of(settings)
    outbox = make_outbox(settings, composers_of(features), letters_by_feature(features))
    invitation = Invitation(
        email=arguments.email,
        username=arguments.username or "",
        is_staff=arguments.staff,
        permissions=tuple(arguments.grant),
        groups=tuple(InvitedGroup.of(require_group(name)) for name in arguments.join),
    )
    link = issue_invitation(invitation, outbox, settings, mount=arguments.mount, now=time.time())
    if outbox is None:
        print_line(str(link))
        return
    _send(outbox, arguments.email)
    print_line(f"Invited {arguments.email}; the link in the email works for {HOURS} hours.")


def print_invitations(arguments: Arguments) -> None:
    """Print the open invitations, the newest first."""
    settings = open_database(arguments)
    listed = [each.document() for each in open_invitations(time.time())]
    print_list([listed], columns_of(settings, _COLUMNS), as_json=arguments.json)


def revoke_invitation(arguments: Arguments) -> None:
    """Revoke the open invitations of an address."""
    open_database(arguments)
    if not find_invitations(arguments.email, time.time()):
        raise CommandError(f"{arguments.email} has no open invitation")
    end_invitations(arguments.email)
    print_line(f"Revoked the invitation of {arguments.email}.")


def print_reset_link(arguments: Arguments) -> None:
    """Print a link with which a user can choose a new password."""
    settings = open_database(arguments)
    require_passwords(settings)
    if settings.PUBLIC_URL is None:
        raise CommandError("PUBLIC_URL must be set, because the link begins with it")
    user = require_user(arguments.user)
    if not user.is_active:
        raise CommandError(f"{user} is inactive")
    link = make_printed_reset_link(user, settings, mount=arguments.mount, now=time.time())
    print_line(link)


def _send(outbox: Outbox, email: str) -> None:
    """Send due emails here: the process ends before the thread of the outbox sends them."""
    noted: list[events.Event] = []
    events.subscribe_once(storage.current(), noted.append)
    outbox.stop()
    outbox.deliver()
    failures = [str(event.reason) for event in noted if event.name == "mail_failed"]
    refused = [reason for reason in failures if reason.startswith(INVITATION)]
    if refused:
        raise CommandError(f"the email was refused: {'; '.join(refused)}")
    if Mail.select().where(Mail.kind == INVITATION, Mail.name == email).exists():
        raise CommandError("the email was not sent yet; the server, or `mail`, tries again")
