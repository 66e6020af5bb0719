"""The command that invites a person to create an account."""

import time

from wsgiauth import events, storage
from wsgiauth.authentication.invitations import HOURS, INVITATION, Invitation, InvitedGroup
from wsgiauth.cli.command import Arguments, CommandError, open_database, require_group
from wsgiauth.cli.output import print_line
from wsgiauth.cli.parser import AddCommand, add_mount, permission
from wsgiauth.mail.link_letters import issue_invitation
from wsgiauth.mail.outbox import Mail, Outbox
from wsgiauth.mail.site_outbox import make_outbox


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    added = add("invite", send_invitation, "invite a person, by mail, to create an account")
    added.add_argument("email", metavar="EMAIL", help="an address that has no account")
    added.add_argument("--username", metavar="NAME", help="without it, the person chooses one")
    added.add_argument("--staff", action="store_true", help="mark the user as staff")
    added.add_argument(
        "--grant",
        metavar="PERMISSION",
        nargs="+",
        action="extend",
        type=permission,
        default=[],
        help="what the user gets, such as reports.publish",
    )
    added.add_argument(
        "--join",
        metavar="GROUP",
        nargs="+",
        action="extend",
        default=[],
        help="the groups that the user joins",
    )
    add_mount(added)


def send_invitation(arguments: Arguments) -> None:
    """Send an invitation; print its link if the site sends no mail."""
    settings = open_database(arguments)
    outbox = make_outbox(settings)
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
    print_line(f"Invited {arguments.email}; the link in the mail works for {HOURS} hours.")


def _send(outbox: Outbox, email: str) -> None:
    """Send what is due, because this process ends before its thread has.

    Raises:
        CommandError: The mail was not sent.
    """
    noted: list[events.Event] = []
    events.subscribe(storage.current(), [noted.append])
    outbox.stop()
    outbox.deliver()
    failures = [str(event.reason) for event in noted if event.name == "mail_failed"]
    refused = [reason for reason in failures if reason.startswith(INVITATION)]
    if refused:
        raise CommandError(f"the mail was refused: {'; '.join(refused)}")
    if Mail.select().where(Mail.kind == INVITATION, Mail.name == email).exists():
        raise CommandError("the mail was not sent yet; the server, or `mail`, tries it again")
