"""The command that prints everything that is stored about a user."""

from itertools import chain

from wsgiauth import events
from wsgiauth.accounts.personal_data import PersonalData
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    environment,
    open_database,
    open_site,
    require_user,
)
from wsgiauth.console.output import print_error, print_pieces
from wsgiauth.console.parser import Parser
from wsgiauth.exceptions import ApplicationError
from wsgiauth.features.personal_data.file import ASCII, DATA_EXPORTED, pieces
from wsgiauth.settings import Settings


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    added = parser.command(
        "personal-data", print_personal_data, "user", examples=("ada --app wsgi:application",)
    )
    added.add_argument(
        "--app",
        metavar="MODULE:NAME",
        help="the AuthMiddleware of the application, such as wsgi:application: use its settings"
        " and its database, and add what its function of personal_data returns",
    )


def print_personal_data(arguments: Arguments) -> None:
    """Print the file of a user, as /auth/data sends it."""
    settings, data = _stored(arguments)
    user = require_user(arguments.user)
    written = pieces(user, settings, data, encoder=ASCII)
    try:
        first = next(written)
    except ApplicationError as error:
        raise CommandError(str(error)) from None
    events.emit(DATA_EXPORTED, user_id=user.id)
    if arguments.app is None:
        print_error("note: without --app, the application's data is missing")
    print_pieces(chain([first], written))


def _stored(arguments: Arguments) -> tuple[Settings, PersonalData]:
    """Open the database; return the settings, and what the site stores about a person."""
    if arguments.app is not None:
        site = open_site(arguments)
        return site.settings, site.personal_data
    settings = Settings.for_server(environment(arguments))
    open_database(arguments)
    return settings, arguments.personal_data(settings)
