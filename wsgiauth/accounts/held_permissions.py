"""Where the permissions of a user come from."""

from typing import Any, NamedTuple

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import GroupPermission, Membership, Permission


class HeldPermission(NamedTuple):
    """A permission that a user holds.

    Attributes:
        name: `<app>.<action>`.
        is_own: Whether it is granted to the user themselves.
        groups: The groups of the user that have it, by name.
    """

    name: str
    is_own: bool
    groups: tuple[str, ...]


def held_permissions(user: User) -> list[HeldPermission]:
    """Return the permissions of a user, by name.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    rows: Any = Permission.select(Permission.name).where(Permission.user == user.id)
    own = {name for (name,) in rows.tuples()}
    rows = (
        GroupPermission.select(GroupPermission.name, Group.name)
        .join(Group)
        .join(Membership, on=Membership.group == Group.id)
        .where(Membership.user == user.id)
        .order_by(Group.name_key)
    )
    groups: dict[str, list[str]] = {}
    for permission, group in rows.tuples():
        groups.setdefault(permission, []).append(group)
    return [
        HeldPermission(name, name in own, tuple(groups.get(name, ())))
        for name in sorted(own | groups.keys())
    ]
