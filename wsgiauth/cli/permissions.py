"""Commands that grant, revoke and list permissions."""

import argparse
from collections.abc import Callable

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.known_permissions import known_permissions
from wsgiauth.accounts.models import User
from wsgiauth.cli.application import import_application
from wsgiauth.cli.command import (
    Arguments,
    UsageError,
    open_database,
    require_group,
    require_user,
)
from wsgiauth.cli.output import Table, print_change, print_json_list, print_line, yes_or_no
from wsgiauth.cli.parser import AddCommand, permission

_COLUMNS = ("permission", "asked for", "users", "groups")


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    _add_change(add, "grant", grant, "grant permissions to a user or a group")
    _add_change(add, "revoke", revoke, "revoke permissions from a user or a group")
    added = add("permissions", list_permissions, "list the permissions that are known")
    added.add_argument(
        "--app",
        metavar="MODULE",
        help="import this module of the application, such as wsgi:application, and list also the"
        " permissions that it asks for",
    )
    added.add_argument("--json", action="store_true", help="print JSON, for programs")


def grant(arguments: Arguments) -> None:
    """Grant permissions to a user or a group."""
    holder, permissions = _holder_and_permissions(arguments)
    _print_permissions(holder, is_changed=holder.grant(*permissions))


def revoke(arguments: Arguments) -> None:
    """Revoke permissions from a user or a group."""
    holder, permissions = _holder_and_permissions(arguments)
    _print_permissions(holder, is_changed=holder.revoke(*permissions))
    if isinstance(holder, User):
        for group in holder.groups:
            for kept in sorted(group.permissions.intersection(permissions)):
                print_line(f"{kept} comes from the group {group}.")


def list_permissions(arguments: Arguments) -> None:
    """Print the permissions that are granted, and those that the application asks for."""
    if arguments.app:
        import_application(arguments.app)
    open_database(arguments)  # after the import, which can open another one
    known = known_permissions()
    if arguments.json:
        documents = [
            {
                "name": each.name,
                "asked_for": each.is_asked_for if arguments.app else None,
                "users": each.users,
                "groups": each.groups,
            }
            for each in known
        ]
        print_json_list(documents)
        return
    Table(_COLUMNS).print(
        [
            [
                each.name,
                yes_or_no(each.is_asked_for) if arguments.app else "unknown",
                str(each.users),
                ", ".join(each.groups),
            ]
            for each in known
        ]
    )


def _add_change(add: AddCommand, name: str, run: Callable[[Arguments], None], text: str) -> None:
    added = add(name, run, f"{text}, each of the form <app>.<action>")
    added.usage = f"wsgiauth {name} [-h] [--database URL] (USER | --group NAME) PERMISSION ..."
    added.add_argument("--group", metavar="NAME", help="the group, instead of a USER")
    added.add_argument(
        "words",
        metavar="PERMISSION",
        nargs="+",
        help="such as reports.publish; before the first one, a username or an e-mail address",
    )


def _holder_and_permissions(arguments: Arguments) -> tuple[User | Group, list[str]]:
    words: list[str] = arguments.words
    name = None if arguments.group else words.pop(0)
    if not words:
        raise UsageError("a USER, or --group NAME, and at least one PERMISSION are needed")
    try:
        permissions = [permission(each) for each in words]
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"argument PERMISSION: {error}") from None
    open_database(arguments)
    if name is None:
        return require_group(arguments.group), permissions
    return require_user(name), permissions


def _print_permissions(holder: User | Group, *, is_changed: bool) -> None:
    held = ", ".join(sorted(holder.permissions)) or "no permissions"
    print_change(is_changed, f"{holder} holds: {held}")
