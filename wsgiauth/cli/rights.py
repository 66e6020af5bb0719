"""Commands for permissions, for groups and for their members."""

import argparse

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.known_permissions import known_permissions
from wsgiauth.accounts.listing import group_documents
from wsgiauth.accounts.models import User
from wsgiauth.console.command import (
    Arguments,
    UsageError,
    import_application,
    open_database,
    require_group,
    require_user,
)
from wsgiauth.console.output import print_change, print_line, print_list
from wsgiauth.console.parser import Parser, permission
from wsgiauth.console.prompts import confirm
from wsgiauth.messages import counted

_PERMISSION_COLUMNS = {
    "permission": "name",
    "asked for": "asked_for",
    "users": "users",
    "groups": "groups",
}
_GROUP_COLUMNS = {"name": "name", "members": "members", "permissions": "permissions"}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    for name, run in (("grant", grant), ("revoke", revoke)):
        examples = ("ada reports.publish", "--group editors reports.archive")
        added = parser.command(name, run, examples=examples)
        added.usage = f"wsgiauth {name} [-h] [--database URL] (USER | --group NAME) PERMISSION ..."
        added.add_argument("--group", metavar="NAME", help="the group, instead of a USER")
        added.add_argument(
            "words",
            metavar="PERMISSION",
            nargs="+",
            help="such as reports.publish; before the first one, a username or an email address",
        )
    added = parser.command(
        "permissions",
        print_permissions,
        "--json",
        examples=("--app wsgi:application",),
        details="A permission that is granted but never asked for may be mistyped.",
    )
    added.add_argument(
        "--app",
        metavar="MODULE:NAME",
        help="import this application, such as wsgi:application, and list also the"
        " permissions that it asks for",
    )
    for name, change in (("join", User.join), ("leave", User.leave)):
        added = parser.command(name, change_membership, "user", examples=("ada editors",))
        added.set_defaults(change=change)
        added.add_argument("group", metavar="GROUP", help="the name of a group")
    added = parser.command("creategroup", create_group, examples=("editors",))
    added.add_argument("group", metavar="NAME", help="unique; spaces inside are allowed")
    added = parser.command("deletegroup", delete_group, "--yes", examples=("editors --yes",))
    added.add_argument("group", metavar="GROUP", help="the name of a group")
    parser.command("groups", print_groups, "--json", examples=("--json",))


def grant(arguments: Arguments) -> None:
    """Grant permissions to a user or a group."""
    holder, permissions = _holder_and_permissions(arguments)
    _print_holder(holder, is_changed=holder.grant(*permissions))


def revoke(arguments: Arguments) -> None:
    """Revoke permissions from a user or a group."""
    holder, permissions = _holder_and_permissions(arguments)
    _print_holder(holder, is_changed=holder.revoke(*permissions))
    if isinstance(holder, User):
        for group in holder.groups:
            for kept in sorted(group.permissions.intersection(permissions)):
                print_line(f"{kept} comes from the group {group}.")


def print_permissions(arguments: Arguments) -> None:
    """Print the permissions that are granted or that the application asks for."""
    if arguments.app:
        import_application(arguments.app)
    open_database(arguments)  # after the import, which can open another one
    unknown = None if arguments.json else "unknown"
    documents = [
        {
            "name": each.name,
            "asked_for": each.is_asked_for if arguments.app else unknown,
            "users": each.users,
            # Names of groups can have spaces.
            "groups": each.groups if arguments.json else ", ".join(each.groups),
        }
        for each in known_permissions()
    ]
    print_list([documents], _PERMISSION_COLUMNS, as_json=arguments.json)


def change_membership(arguments: Arguments) -> None:
    """Make a user a member of a group, or take them out of it."""
    open_database(arguments)
    user, group = require_user(arguments.user), require_group(arguments.group)
    is_changed = arguments.change(user, group)
    print_change(is_changed, f"{user} is in: {', '.join(map(str, user.groups)) or 'no group'}")


def create_group(arguments: Arguments) -> None:
    """Create a group, unless it exists."""
    open_database(arguments)
    existing = Group.objects.find(arguments.group)
    if existing is not None:
        print_line(f"The group {existing} exists already.")
    else:
        print_line(f"Created the group {Group.objects.create(name=arguments.group)}.")


def delete_group(arguments: Arguments) -> None:
    """Delete a group, after a confirmation."""
    open_database(arguments)
    group = require_group(arguments.group)
    members = counted(group.members.count(), "member")
    confirm(arguments, f"Delete the group {group} with {members}? The users stay.")
    if not group.delete_instance():
        raise Group.DoesNotExist
    print_line(f"Deleted the group {group}.")


def print_groups(arguments: Arguments) -> None:
    """Print the groups, with their permissions and number of members."""
    open_database(arguments)
    print_list([group_documents()], _GROUP_COLUMNS, as_json=arguments.json)


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
    holder = require_group(arguments.group) if name is None else require_user(name)
    return holder, permissions


def _print_holder(holder: User | Group, *, is_changed: bool) -> None:
    held = ", ".join(sorted(holder.permissions)) or "no permissions"
    print_change(is_changed, f"{holder} has: {held}")
