"""The command that lists users."""

import json
from collections.abc import Iterator
from textwrap import indent

from wsgiauth import accounts
from wsgiauth.cli.command import Arguments, open_database
from wsgiauth.cli.output import Table, yes_or_no
from wsgiauth.endpoints.me import profile

_Profile = dict[str, object]
_COLUMNS = ("id", "username", "email", "active", "staff", "superuser", "created", "permissions")


def list_users(arguments: Arguments) -> None:
    """Print users as a table or as JSON, a page at a time."""
    open_database(arguments)
    pages = (
        [profile(user, permissions) for user, permissions in page]
        for page in accounts.user_pages(arguments.prefix, limit=arguments.limit)
    )
    if arguments.json:
        _print_json(pages)
    else:
        _print_table(pages)


def _print_json(pages: Iterator[list[_Profile]]) -> None:
    separator = "["
    for page in pages:
        for user in page:
            print(separator)
            print(indent(json.dumps(user, indent=2, ensure_ascii=False), "  "), end="")
            separator = ","
    print("[]" if separator == "[" else "\n]")


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
