"""The permissions of a site: those that it asks for, and those that are granted.

A guard registers its permission when it decorates a view, and the staff panel does when it is made.
`AuthMiddleware(permissions=…)` registers those that the application's own code asks for.
So a process knows the permissions of the views that it has imported.
"""

from typing import Any, NamedTuple

import peewee

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.tables import GroupPermission, Permission

_asked_for: set[str] = set()


class KnownPermission(NamedTuple):
    """A permission that is asked for or granted.

    Attributes:
        name: `<app>.<action>`.
        is_asked_for: Whether a guard, the panel or the application in this process asks for it.
        users: The number of users with a grant of their own; members of groups do not count.
        groups: The names of the groups to which it is granted.
    """

    name: str
    is_asked_for: bool
    users: int
    groups: tuple[str, ...]


def register(permission: str) -> None:
    """Note that something in this process asks for `permission`."""
    _asked_for.add(permission)


def asked_for() -> frozenset[str]:
    """Return the permissions that were registered in this process."""
    return frozenset(_asked_for)


def known_permissions() -> list[KnownPermission]:
    """Return all permissions that are asked for or granted, by name.

    It reads all granted permissions.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    counts: Any = Permission.select(Permission.name, peewee.fn.COUNT(peewee.SQL("*")))
    users: dict[str, int] = dict(counts.group_by(Permission.name).tuples())
    rows: Any = GroupPermission.select(GroupPermission.name, Group.name).join(Group)
    groups: dict[str, list[str]] = {}
    for permission, group in rows.order_by(Group.name_key).tuples():
        groups.setdefault(permission, []).append(group)
    return [
        KnownPermission(name, name in _asked_for, users.get(name, 0), tuple(groups.get(name, ())))
        for name in sorted(_asked_for | users.keys() | groups.keys())
    ]
