"""The permissions that a site asks for or grants, and the permissions of a user.

A guard registers its permission when it decorates a view, so a process knows the permissions of the
views that it has imported. `AuthMiddleware(permissions=…)` registers those of the application.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import peewee

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import GroupPermission, Membership, Permission
from wsgiauth.storage.statements import Statement, is_given

_MOST = 500  # permissions of groups
_LIKENESS = 0.8  # of a mistyped permission, where 1 is the same: one or two wrong letters

_asked_for: set[str] = set()


class KnownPermission(NamedTuple):
    """A permission that is asked for or granted."""

    name: str
    is_asked_for: bool  # by a guard, the panel or the application in this process
    users: int  # with a grant of their own; members of groups do not count
    groups: tuple[str, ...]  # the names of the groups that have it


class HeldPermission(NamedTuple):
    """A permission that a user holds."""

    name: str
    is_own: bool  # whether it is granted to the user themselves
    groups: tuple[str, ...]  # the names of the user's groups that have it


def register(permission: str) -> None:
    """Note that something in this process asks for `permission`."""
    _asked_for.add(permission)


def asked_for() -> frozenset[str]:
    """Return the permissions that were registered in this process."""
    return frozenset(_asked_for)


def offered_permissions() -> tuple[str, ...]:
    """Return the permissions that the site asks for or grants to groups, by name.

    Permissions that only single users have are left out, because it would take too long to find
    them among a million users.
    """
    rows: Any = GroupPermission.select(GroupPermission.name).distinct().limit(_MOST).tuples()
    return tuple(sorted({*asked_for(), *(name for (name,) in rows)}))


def similar_permission(permission: str) -> str:
    """Return the offered permission that is most similar, or an empty string."""
    from difflib import get_close_matches  # here, because it is seldom needed

    return "".join(get_close_matches(permission, offered_permissions(), n=1, cutoff=_LIKENESS))


def known_permissions() -> list[KnownPermission]:
    """Return all permissions that are asked for or granted, by name; read every grant for it."""
    counts: Any = Permission.select(Permission.name, peewee.fn.COUNT(peewee.SQL("*")))
    users: dict[str, int] = dict(counts.group_by(Permission.name).tuples())
    groups = _groups_by_permission(_GRANTED_TO_GROUPS.tuples())
    return [
        KnownPermission(name, name in _asked_for, users.get(name, 0), groups.get(name, ()))
        for name in sorted(_asked_for | users.keys() | groups.keys())
    ]


def held_permissions(user: User) -> list[HeldPermission]:
    """Return the permissions of a user, by name."""
    own = {name for (name,) in _OWN.fetchall(user=user.id)}
    groups = _groups_by_permission(_OF_GROUPS.fetchall(user=user.id))
    return [
        HeldPermission(name, name in own, groups.get(name, ()))
        for name in sorted(own | groups.keys())
    ]


_GRANTED_TO_GROUPS: Any = (
    GroupPermission.select(GroupPermission.name, Group.name).join(Group).order_by(Group.name_key)
)
_OWN = Statement(lambda: Permission.select(Permission.name).where(is_given(Permission.user)))
_OF_GROUPS = Statement(
    lambda: _GRANTED_TO_GROUPS.join(Membership, on=Membership.group == Group.id).where(
        is_given(Membership.user)
    )
)


def _groups_by_permission(rows: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for permission, group in rows:
        groups[permission] = (*groups.get(permission, ()), group)
    return groups
