"""Commands that send the emails that are due, and show each email."""

from dataclasses import replace
from email.message import EmailMessage
from pathlib import PurePath

from wsgiauth.console.command import (
    Arguments,
    CommandError,
    environment,
    open_database,
    read_settings,
)
from wsgiauth.console.output import print_line, print_text
from wsgiauth.console.parser import Parser
from wsgiauth.features import COMPOSERS, LETTER_SAMPLES
from wsgiauth.mail.letters import Letter, Letters
from wsgiauth.mail.outbox import Mail
from wsgiauth.mail.site_outbox import make_outbox
from wsgiauth.messages import counted
from wsgiauth.settings import Settings


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    parser.command("mail", send)
    added = parser.command("preview", preview, "--mount")
    names = list(dict.fromkeys(map(_name_of, LETTER_SAMPLES)))
    added.add_argument(
        "name", metavar="NAME", nargs="?", choices=names, help=f"one of: {', '.join(names)}"
    )
    added.add_argument("--language", metavar="LANGUAGE", help="such as de; without it, the first")


def send(arguments: Arguments) -> None:
    """Send the emails that are due."""
    settings = open_database(arguments)
    if settings.LOGIN_CODES:  # the codes are made with SECRET_KEY
        settings = Settings.for_server(environment(arguments))
    outbox = make_outbox(settings, COMPOSERS, LETTER_SAMPLES)
    if outbox is None:
        raise CommandError("MAIL_URL must be set, because it says how emails are sent")
    outbox.deliver()
    print_line(f"{counted(Mail.select().count(), 'email')} left for later.")


def preview(arguments: Arguments) -> None:
    """Print one email, or all of them, as a user would get it."""
    settings = read_settings(arguments)
    settings = replace(
        settings,  # with examples of unset values
        MAIL_FROM=settings.MAIL_FROM or "accounts@example.org",
        PUBLIC_URL=settings.PUBLIC_URL or "https://example.org",
    )
    if arguments.language is not None:
        settings = replace(settings, LANGUAGES=(arguments.language,))
    letters = Letters(settings)
    messages = [
        letters.preview(each, arguments.mount)
        for each in LETTER_SAMPLES
        if arguments.name in (None, _name_of(each))
    ]
    print_text("\n---\n\n".join(map(_as_text, messages)))


def _name_of(letter: Letter) -> str:
    return PurePath(letter.template).stem


def _as_text(message: EmailMessage) -> str:
    headers = "".join(f"{name}: {message[name]}\n" for name in ("Subject", "From", "To"))
    return f"{headers}\n{message.get_content()}"
