"""What a user is allowed to do: permissions of their own, and those of their groups."""

from typing import Any, NamedTuple

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts import names
from wsgiauth.accounts.base import RightsHolder, insert_new
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.tables import GroupPermission, Membership, Permission
from wsgiauth.storage import Statement, database


class _Limit(NamedTuple):
    """What a user identified by an API key is limited to."""

    permissions: frozenset[str]
    has_every: bool  # whether the owner is a superuser


class UserRights(RightsHolder):
    """The part of `User` that is about permissions and groups."""

    _limit: _Limit | None = None

    is_active: "peewee.BooleanField[bool]"
    is_staff: "peewee.BooleanField[bool]"
    is_superuser: "peewee.BooleanField[bool]"

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions granted to this user and to their groups.

        Read from the database on each access, in one statement. A superuser has every permission,
        but only the granted ones are listed here. If an API key identified the user, these are the
        permissions of the key that its owner has.
        """
        if self._limit is not None and self._limit.has_every:
            return self._limit.permissions
        with self._using_origin():
            granted = frozenset(name for (name,) in _PERMISSIONS_OF.fetchall(self.id, self.id))
        return granted if self._limit is None else granted & self._limit.permissions

    @property
    def groups(self) -> "peewee.ModelSelect[Group]":
        """A query for the groups that this user is in, by name.

        If an API key identified the user, it finds none: a group may have more permissions.
        """
        member_id = self.id if self._limit is None else None
        query = Group.select().join(Membership).where(Membership.user == member_id)
        return query.order_by(Group.name_key).bind(self.origin or storage.current())

    def has_permission(self, permission: str) -> bool:
        """Return whether the user has `permission`, which has the form `<app>.<action>`.

        An active superuser has every permission; an inactive user has none. If an API key
        identified the user, the key must have the permission, and its owner too.

        Raises:
            ValueError: `permission` has another form.
            peewee.DatabaseError: The database failed.
        """
        names.check_permission(permission)
        if not self.is_active:
            return False
        return self.is_superuser or permission in self.permissions

    @property
    def is_limited(self) -> bool:
        """Whether an API key identified this user, who then has only permissions of the key."""
        return self._limit is not None

    def join(self, group: Group | str) -> bool:
        """Make the user a member of `group`; a member stays one.

        Args:
            group: The group, or its name in any letter case.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: `group` is of another application.
            Group.DoesNotExist: There is no such group.
            User.DoesNotExist: The user is not in the database.
            peewee.DatabaseError: The database failed.
        """
        with self._using_origin(), database.atomic():
            joined = require_group(group)
            if insert_new(Membership, group=joined.id, user=self.id):
                self._report_rights("joined", joined.name)
                return True
            Group.get_by_id(joined.id)  # it, or the user, can have been deleted meanwhile
            type(self).get_by_id(self.id)
        return False

    def leave(self, group: Group | str) -> bool:
        """Take the user out of `group`; for one who is no member, nothing changes.

        Args:
            group: The group, or its name in any letter case.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: `group` is of another application.
            Group.DoesNotExist: There is no group of this name.
            peewee.DatabaseError: The database failed.
        """
        with self._using_origin(), database.atomic():
            left = require_group(group)
            of_group = Membership.delete().where(Membership.group == left.id)
            has_left = bool(of_group.where(Membership.user == self.id).execute())
            if has_left:
                self._report_rights("left", left.name)
        return has_left

    def _grants_of(self) -> Any:
        return Permission.user

    def _report_grant(self, change: str, permission: str) -> None:
        self._report_rights(change, permission)

    def _report_rights(self, change: str, what: str) -> None:
        events.emit("rights_changed", user_id=self.id, reason=f"{change} {what}")


def limit(user: UserRights, permissions: frozenset[str]) -> None:
    """Limit an object, not the stored user, to some permissions; it loses its flags."""
    values = vars(user)["__data__"]  # not the attributes, which `save` would write
    user._limit = _Limit(permissions, values["is_superuser"])
    values["is_staff"] = values["is_superuser"] = False


def require_group(group: Group | str) -> Group:
    """Return a group, or that of a name in any letter case.

    Raises:
        ValueError: It is a group of another application, where another group may have its id.
        Group.DoesNotExist: There is no group of this name.
        peewee.DatabaseError: The database failed.
    """
    if isinstance(group, Group):
        if group.origin not in (None, storage.current()):
            raise ValueError(f"{group!r} is a group of another application.")
        return group
    found = Group.objects.find(group)
    if found is None:
        raise Group.DoesNotExist(f"there is no group {group!r}")
    return found


def _permissions_of() -> Any:
    own = Permission.select(Permission.name).where(Permission.user == 0)
    of_groups = GroupPermission.select(GroupPermission.name).join(
        Membership, on=Membership.group == GroupPermission.group
    )
    # UNION ALL: the database need not look for duplicates, because a set has none.
    return own + of_groups.where(Membership.user == 0)


_PERMISSIONS_OF = Statement(_permissions_of)
