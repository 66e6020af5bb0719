"""Commands that list, create and revoke API keys."""

import time

from wsgiauth.accounts.tables import revoke_keys
from wsgiauth.console.command import Arguments, CommandError, open_database, require_user
from wsgiauth.console.output import print_line, print_list
from wsgiauth.console.parser import PERMISSIONS, Parser, positive
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.api_keys import TooManyKeysError, list_keys
from wsgiauth.messages import counted

_COLUMNS = {
    "id": "id",
    "name": "name",
    "created": "created_at",
    "expires": "expires_at",
    "last used": "last_used_at",
    "permissions": "permissions",
}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    parser.command("keys", print_keys, "user", "--json", examples=("ada --json",))
    added = parser.command(
        "makekey",
        create_key,
        "user",
        examples=('ada --name "nightly export" --permission reports.publish --days 30',),
    )
    added.add_argument("--name", required=True, help="what the key is used for")
    added.add_argument(
        "--permission",
        help="a permission of the key, such as reports.publish; the user must have it; a key"
        " without permissions opens only what any logged-in user can open",
        **PERMISSIONS,
    )
    added.add_argument(
        "--days",
        type=positive,
        default=api_keys.DEFAULT_DAYS,
        help=f"after how many days it expires ({api_keys.DEFAULT_DAYS})",
    )
    added = parser.command(
        "endkey",
        revoke_key,
        "user",
        examples=(
            "ada 4fD8sKq2ZxLw",
            "ada --all",
        ),
    )
    which = added.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?", help="as `keys` lists it")
    which.add_argument("--all", action="store_true", help="revoke all keys of the user")


def print_keys(arguments: Arguments) -> None:
    """Print a user's API keys, the newest first."""
    open_database(arguments)
    listed = [each.document() for each in list_keys(require_user(arguments.user), time.time())]
    print_list([listed], _COLUMNS, as_json=arguments.json)


def create_key(arguments: Arguments) -> None:
    """Create an API key, and print it alone, for scripts."""
    open_database(arguments)
    user = require_user(arguments.user)
    try:
        created = api_keys.create(
            user, arguments.name, arguments.permission, days=arguments.days, now=time.time()
        )
    except TooManyKeysError as error:
        raise CommandError(str(error)) from None
    if created is None:
        raise CommandError(f"{user} is not active")
    print_line(created.text)


def revoke_key(arguments: Arguments) -> None:
    """Revoke one API key or all API keys of a user."""
    open_database(arguments)
    user = require_user(arguments.user)
    if arguments.all:
        print_line(f"Revoked {counted(revoke_keys(user.id), 'API key')} of {user}.")
    elif api_keys.revoke(user, arguments.id):
        print_line(f"Revoked the API key {arguments.id} of {user}.")
    else:
        raise CommandError(f"{user} has no API key {arguments.id}")
