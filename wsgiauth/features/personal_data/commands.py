"""The command that prints everything that is stored about a user."""

from itertools import chain

from wsgiauth.extend import ApplicationError, emit
from wsgiauth.extend.console import (
    Arguments,
    CommandError,
    Parser,
    open_personal_data,
    print_error,
    print_pieces,
    require_user,
)
from wsgiauth.features.personal_data.file import ASCII, DATA_EXPORTED, pieces


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
    settings, data = open_personal_data(arguments)
    user = require_user(arguments.user)
    written = pieces(
        user, settings, data, encoder=ASCII, report=lambda why: print_error(f"warning: {why}")
    )
    try:
        first = next(written)
    except ApplicationError as error:
        raise CommandError(str(error)) from None
    emit(DATA_EXPORTED, user_id=user.id)
    if arguments.app is None:
        print_error("note: without --app, the application's data is missing")
    print_pieces(chain([first], written))
