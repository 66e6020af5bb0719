"""The command that lists users."""

from collections.abc import Iterator
from itertools import chain

from wsgiauth.accounts.listing import user_pages
from wsgiauth.accounts.profile import summary
from wsgiauth.cli.command import Arguments, open_database, require_group
from wsgiauth.cli.output import Table, print_json_list, yes_or_no
from wsgiauth.cli.parser import AddCommand, positive

_Profile = dict[str, object]
_COLUMNS = ("id", "username", "email", "active", "staff", "superuser", "created", "permissions")


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    added = add("users", list_users, "list users, the oldest account first")
    added.add_argument(
        "prefix",
        metavar="PREFIX",
        nargs="?",
        default="",
        help="only users whose username or e-mail address begins with PREFIX, in any letter case",
    )
    added.add_argument("--group", metavar="NAME", help="only members of this group")
    added.add_argument("--limit", metavar="N", type=positive, help="at most N users")
    added.add_argument("--json", action="store_true", help="print JSON, for programs")


def list_users(arguments: Arguments) -> None:
    """Print users as a table or as JSON, a page at a time."""
    open_database(arguments)
    group = require_group(arguments.group) if arguments.group else None
    pages = (
        [summary(user, permissions) for user, permissions in page]
        for page in user_pages(arguments.prefix, limit=arguments.limit, group=group)
    )
    if arguments.json:
        print_json_list(chain.from_iterable(pages))
    else:
        _print_table(pages)


def _print_table(pages: Iterator[list[_Profile]]) -> None:
    table = Table(_COLUMNS)
    table.print([_row(user) for user in next(pages, [])])
    for page in pages:
        table.print([_row(user) for user in page])


def _row(user: _Profile) -> list[str]:
    flags = [yes_or_no(user[name]) for name in ("is_active", "is_staff", "is_superuser")]
    permissions = " ".join(user["permissions"])  # type: ignore[arg-type]
    return [
        *(str(user[name]) for name in ("id", "username", "email")),
        *flags,
        str(user["created_at"]),
        permissions,
    ]
