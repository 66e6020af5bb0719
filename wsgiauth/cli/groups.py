"""Commands that create, delete and list groups, and change their members."""

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.listing import list_groups as listed_groups
from wsgiauth.accounts.models import User
from wsgiauth.cli.command import (
    Arguments,
    CommandError,
    open_database,
    require_group,
    require_user,
)
from wsgiauth.cli.output import Table, counted, print_change, print_json_list, print_line
from wsgiauth.cli.parser import AddCommand, add_user
from wsgiauth.cli.prompts import confirm, require_terminal

_COLUMNS = ("name", "members", "permissions")


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    for name, run, text in (
        ("join", join, "make a user a member of a group"),
        ("leave", leave, "take a user out of a group"),
    ):
        added = add(name, run, text)
        add_user(added)
        added.add_argument("group", metavar="GROUP", help="the name of a group")
    added = add("creategroup", create_group, "create a group, unless it exists")
    added.add_argument("group", metavar="NAME", help="unique; spaces inside are allowed")
    added = add("deletegroup", delete_group, "delete a group; its members lose its permissions")
    added.add_argument("group", metavar="GROUP", help="the name of a group")
    added.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    added = add("groups", list_groups, "list groups, their permissions and number of members")
    added.add_argument("--json", action="store_true", help="print JSON, for programs")


def join(arguments: Arguments) -> None:
    """Make a user a member of a group."""
    user, group = _user_and_group(arguments)
    _print_groups(user, is_changed=user.join(group))


def leave(arguments: Arguments) -> None:
    """Take a user out of a group."""
    user, group = _user_and_group(arguments)
    _print_groups(user, is_changed=user.leave(group))


def create_group(arguments: Arguments) -> None:
    """Create a group, unless it exists."""
    open_database(arguments)
    existing = Group.objects.find(arguments.group)
    if existing is not None:
        print_line(f"The group {existing} exists already.")
        return
    print_line(f"Created the group {Group.objects.create(name=arguments.group)}.")


def delete_group(arguments: Arguments) -> None:
    """Delete a group; ask for confirmation on a terminal."""
    open_database(arguments)
    group = require_group(arguments.group)
    if not arguments.yes:
        require_terminal("--yes")
        members = counted(group.members.count(), "member")
        if not confirm(f"Delete the group {group} with {members}? The users stay."):
            raise CommandError("nothing was deleted")
    if not group.delete_instance():
        raise Group.DoesNotExist
    print_line(f"Deleted the group {group}.")


def list_groups(arguments: Arguments) -> None:
    """Print groups as a table or as JSON."""
    open_database(arguments)
    listed = listed_groups()
    if arguments.json:
        documents = [
            {"name": each.group.name, "members": each.members, "permissions": each.permissions}
            for each in listed
        ]
        print_json_list(documents)
        return
    rows = [[each.group.name, str(each.members), " ".join(each.permissions)] for each in listed]
    Table(_COLUMNS).print(rows)


def _user_and_group(arguments: Arguments) -> tuple[User, Group]:
    open_database(arguments)
    return require_user(arguments.user), require_group(arguments.group)


def _print_groups(user: User, *, is_changed: bool) -> None:
    print_change(is_changed, f"{user} is in: {', '.join(map(str, user.groups)) or 'no group'}")
