"""Commands that list, make and end API keys."""

import time

from wsgiauth.accounts.tables import revoke_keys
from wsgiauth.authentication import keys
from wsgiauth.authentication.key_list import ListedKey
from wsgiauth.authentication.key_list import list_keys as list_keys_of
from wsgiauth.cli.command import Arguments, CommandError, open_database, require_user
from wsgiauth.cli.output import Table, counted, print_json_list, print_line
from wsgiauth.cli.parser import AddCommand, add_user, permission, positive
from wsgiauth.storage.models import utc_text

_COLUMNS = ("id", "name", "made", "ends", "last used", "permissions")


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    added = add("keys", list_keys, "list a user's API keys, the newest first")
    add_user(added)
    added.add_argument("--json", action="store_true", help="print JSON, for programs")
    added = add("makekey", make_key, "make an API key, and print it: it is not shown again")
    add_user(added)
    added.add_argument("--name", required=True, help="what the key is used for")
    added.add_argument(
        "--permission",
        metavar="PERMISSION",
        dest="permissions",
        nargs="+",
        action="extend",
        type=permission,
        default=[],
        help="what it can be used for, such as reports.publish; the user must have it; without"
        " any, the key is enough only where a login is",
    )
    added.add_argument(
        "--days",
        type=positive,
        default=keys.DEFAULT_DAYS,
        help=f"after how many days it ends ({keys.DEFAULT_DAYS})",
    )
    added = add("endkey", end_key, "end an API key of a user, or all")
    add_user(added)
    which = added.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?", help="as `keys` lists it")
    which.add_argument("--all", action="store_true", help="end all keys of the user")


def list_keys(arguments: Arguments) -> None:
    """Print a user's keys as a table or as JSON, the newest first."""
    open_database(arguments)
    listed = list_keys_of(require_user(arguments.user), time.time())
    if arguments.json:
        print_json_list(each.document() for each in listed)
    else:
        Table(_COLUMNS).print([_row(each) for each in listed])


def make_key(arguments: Arguments) -> None:
    """Make a key, and print it alone, for scripts."""
    open_database(arguments)
    user = require_user(arguments.user)
    made = keys.create(
        user, arguments.name, arguments.permissions, days=arguments.days, now=time.time()
    )
    if made is None:
        raise CommandError(f"{user} is not active")
    print_line(made.text)


def end_key(arguments: Arguments) -> None:
    """End one key or all keys of a user."""
    open_database(arguments)
    user = require_user(arguments.user)
    if arguments.all:
        print_line(f"Ended {counted(revoke_keys(user.id), 'API key')} of {user}.")
    elif keys.end(user, arguments.id):
        print_line(f"Ended the API key {arguments.id} of {user}.")
    else:
        raise CommandError(f"{user} has no API key {arguments.id}")


def _row(key: ListedKey) -> list[str]:
    return [
        key.id,
        key.name,
        utc_text(key.created_at),
        utc_text(key.expires_at),
        utc_text(key.last_used_at) if key.last_used_at else "",
        " ".join(key.permissions),
    ]
