"""The command that sends the emails that are due."""

from wsgiauth.console.command import (
    Arguments,
    CommandError,
    environment,
    open_database,
)
from wsgiauth.console.output import print_line
from wsgiauth.console.parser import Parser
from wsgiauth.feature import composers_of, letters_by_feature
from wsgiauth.features.registry import features_of
from wsgiauth.mail.outbox import Mail
from wsgiauth.mail.site_outbox import make_outbox
from wsgiauth.messages import counted
from wsgiauth.settings import Settings


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    parser.command("mail", send)


def send(arguments: Arguments) -> None:
    """Send the emails that are due."""
    settings = open_database(arguments)
    if settings.LOGIN_CODES:  # the codes are made with SECRET_KEY
        settings = Settings.for_server(environment(arguments))
    features = features_of(settings)
    outbox = make_outbox(settings, composers_of(features), letters_by_feature(features))
    if outbox is None:
        raise CommandError("MAIL_URL must be set, because it says how emails are sent")
    outbox.deliver()
    print_line(f"{counted(Mail.select().count(), 'email')} left for later.")
