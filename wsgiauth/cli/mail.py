"""Commands about mail: send what is due, show each mail, and a link for a user without mail."""

import time
from dataclasses import replace
from email.message import EmailMessage

from wsgiauth.authentication.resets import make_printed_reset_link
from wsgiauth.cli.command import (
    Arguments,
    CommandError,
    open_database,
    read_settings,
    require_user,
)
from wsgiauth.cli.output import counted, print_line, print_text
from wsgiauth.cli.parser import AddCommand, add_mount, add_user
from wsgiauth.mail.letters import Letters
from wsgiauth.mail.outbox import Mail
from wsgiauth.mail.site_outbox import SAMPLES, SAMPLES_BY_NAME, make_outbox

_NAMES = f"one of: {', '.join(SAMPLES_BY_NAME)}"


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    add("mail", send, "send the mails that are due, as the server does")
    shown = add("preview", preview, "print the mails that the site sends, with example values")
    shown.add_argument("name", metavar="NAME", nargs="?", choices=SAMPLES_BY_NAME, help=_NAMES)
    add_mount(shown)
    added = add("resetlink", print_reset_link, "print a link to choose a new password, for a user")
    add_user(added)
    add_mount(added)


def send(arguments: Arguments) -> None:
    """Send the mails that are due."""
    outbox = make_outbox(open_database(arguments))
    if outbox is None:
        raise CommandError("MAIL_URL must be set, because it says how mails are sent")
    outbox.deliver()
    print_line(f"{counted(Mail.select().count(), 'mail')} left for later.")


def preview(arguments: Arguments) -> None:
    """Print one mail, or all of them, as a user would get it."""
    settings = read_settings(arguments)
    settings = replace(
        settings,  # an example for what is not set
        MAIL_FROM=settings.MAIL_FROM or "accounts@example.org",
        PUBLIC_URL=settings.PUBLIC_URL or "https://example.org",
    )
    letters = Letters(settings)
    samples = SAMPLES_BY_NAME[arguments.name] if arguments.name else SAMPLES
    mails = [letters.preview(each, arguments.mount) for each in samples]
    print_text("\n---\n\n".join(map(_as_text, mails)))


def print_reset_link(arguments: Arguments) -> None:
    """Print a link with which a user can choose a new password."""
    settings = open_database(arguments)
    if settings.PUBLIC_URL is None:
        raise CommandError("PUBLIC_URL must be set, because the link begins with it")
    user = require_user(arguments.user)
    if not user.is_active:
        raise CommandError(f"{user} is inactive")
    link = make_printed_reset_link(user, settings, mount=arguments.mount, now=time.time())
    print_line(link)


def _as_text(message: EmailMessage) -> str:
    headers = "".join(f"{name}: {message[name]}\n" for name in ("Subject", "From", "To"))
    return f"{headers}\n{message.get_content()}"
