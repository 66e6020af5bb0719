"""Groups, and the permissions that users have directly and through groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts import names
from wsgiauth.accounts.locks import lock_users
from wsgiauth.accounts.tables import (
    GroupPermission,
    Membership,
    Objects,
    Permission,
    RightsHolder,
    insert_new,
)
from wsgiauth.events import kinds
from wsgiauth.exceptions import ValidationError
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.statements import ModelStatement, Statement, is_given, locked

if TYPE_CHECKING:
    from wsgiauth.accounts.models import User


class GroupObjects(Objects["Group"]):
    """Create and find groups, as `Group.objects`."""

    def create(self, *, name: str) -> Group:
        """Insert a group and return it.

        Raises:
            ValidationError: The name breaks a rule; `errors` holds the messages.
            TakenError: Another group has the name, in any letter case.
        """
        return self._model.create(name=name)

    def find(self, name: str) -> Group | None:
        """Return the group with this name, in any letter case, or None."""
        if names.group_problem(name) is not None:
            return None  # no group can have this name
        return _BY_NAME.first(name_key=names.key(name))


class Group(RightsHolder):
    """A group of users, who have its permissions besides their own.

    Methods that use the database raise peewee.DatabaseError if it fails.

    Attributes:
        name: Unique without regard to letter case or compatibility forms; shown as typed.
        name_key, database: Internal: see `User`.
        objects: Creates and finds groups: see `User`; `find` ignores the case of a name.
    """

    objects: ClassVar[GroupObjects]
    DoesNotExist: ClassVar[type[peewee.DoesNotExist]]

    id: peewee.BigAutoField[int] = peewee.BigAutoField()
    name: peewee.CharField[str] = peewee.CharField(max_length=names.GROUP_MAX_LENGTH)
    name_key: peewee.CharField[str] = peewee.CharField(
        max_length=names.GROUP_MAX_LENGTH, unique=True
    )

    class Meta:
        table_name = "wsgiauth_group"

    def __str__(self) -> str:
        return str(self.name)

    def __repr__(self) -> str:
        return f"<Group {self.id} {self.name!r}>"

    def save(self, force_insert: bool = False, only: Any = None) -> int | bool:
        """Write the name with its key, if it has changed.

        The arguments are those of Peewee's `Model.save`; `only` has no effect.

        Raises:
            ValidationError: The name breaks a rule.
            TakenError: Another group has the name.
        """
        is_new = force_insert or self.id is None
        if not is_new and Group.name not in self.dirty_fields:
            return False
        written: dict[str, str] = {"name": self.name}
        errors = names.name_errors(written)
        if errors:
            raise ValidationError(errors)
        self.name_key = names.key(self.name)
        try:
            with self._using_database(), database.atomic():
                stored: Any = Group.select(Group.name).where(Group.id == self.id)
                if not is_new and stored.scalar() == self.name:
                    return False
                saved = super().save(force_insert)
                if saved:  # otherwise the group has been deleted
                    self._report("created" if is_new else "renamed to")
        except peewee.IntegrityError:
            with self._using_database():
                names.refuse_names(Group, written, {}, owner_id=self.id, is_refused=True)
            raise  # the name is no longer taken
        return saved

    def delete_instance(self, *args: Any, **kwargs: Any) -> int:
        """Delete the group; its members lose its permissions."""
        with self._using_database(), database.atomic():
            deleted: int = super().delete_instance(*args, **kwargs)
            if deleted:
                self._report("deleted")
        return deleted

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions granted to this group, read from the database on each access."""
        with self._using_database():
            return frozenset(name for (name,) in _PERMISSIONS_OF_GROUP.fetchall(group=self.id))

    @property
    def members(self) -> peewee.ModelSelect[User]:
        """A query for the users in this group, the oldest account first."""
        users: type[User] = Membership.user.rel_model
        joined = users.select().join(Membership).where(Membership.group == self.id)
        query: peewee.ModelSelect[User] = joined.order_by(Membership.user)
        return query.bind(self.database or storage.current())

    def _grants_of(self) -> Any:
        return GroupPermission.group

    def _lock(self) -> None:
        _LOCK.fetchone(id=self.id)

    def _report_rights(self, change: str, what: str) -> None:
        self._report(f"{change} {what} {'to' if change == 'granted' else 'from'}")

    def _report(self, change: str) -> None:
        events.emit(kinds.GROUP_CHANGED, reason=f"{change} {self.name}")


class UserRights(RightsHolder):
    """The methods of `User` for permissions and groups."""

    # If an API key identified the user: its permissions, and whether its owner is a superuser.
    _limit: frozenset[str] | None = None
    _has_every = False
    _group_names: Sequence[str] = ()  # if they were read with the user

    is_active: peewee.BooleanField[bool]
    is_staff: peewee.BooleanField[bool]
    is_superuser: peewee.BooleanField[bool]

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions granted to this user and to their groups.

        Each access reads them from the database, in one statement. A superuser has every
        permission, but only the granted ones are listed here. If an API key identified the user,
        the list has only the permissions of the key that its owner has.
        """
        if self._limit is not None and self._has_every:
            return self._limit
        with self._using_database():
            granted = frozenset(name for (name,) in _PERMISSIONS_OF_USER.fetchall(user=self.id))
        return granted if self._limit is None else granted & self._limit

    @property
    def groups(self) -> peewee.ModelSelect[Group]:
        """A query for the groups that this user is in, by name.

        If an API key identified the user, it finds none: a group may have more permissions.
        """
        member_id = self.id if self._limit is None else None
        query = Group.select().join(Membership).where(Membership.user == member_id)
        return query.order_by(Group.name_key).bind(self.database or storage.current())

    def has_permission(self, permission: str) -> bool:
        """Return whether the user has `permission`.

        An active superuser has every permission; an inactive user has none. If an API key
        identified the user, both the key and its owner must have the permission.

        Raises:
            ValueError: `permission` does not have the form `<app>.<action>`.
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
        """Add the user to a group, or the group of this name, and return whether anything changed.

        Raises:
            ValueError: `group` is of another application.
            Group.DoesNotExist: There is no such group.
            User.DoesNotExist: The user is not in the database.
        """
        with self._using_database():
            return self._join(group)

    def leave(self, group: Group | str) -> bool:
        """Remove the user from a group, given as to `join`, and return whether anything changed.

        Raises:
            ValueError: `group` is of another application.
            Group.DoesNotExist: There is no group with this name.
        """
        with self._using_database():
            return self._leave(group)

    @repeated_after_conflict
    def _join(self, group: Group | str) -> bool:
        with database.atomic():
            self._lock()
            type(self).get_by_id(self.id)
            joined = resolve_group(group)
            if insert_new(Membership, group=joined.id, user=self.id):
                self._report_rights("joined", joined.name)
                return True
            # Only a read with a lock sees that another transaction has deleted the group meanwhile.
            if _LOCK.fetchone(id=joined.id) is None:
                raise Group.DoesNotExist
        return False

    @repeated_after_conflict
    def _leave(self, group: Group | str) -> bool:
        with database.atomic():
            self._lock()
            left = resolve_group(group)
            has_left = bool(_LEAVE.execute(group=left.id, user=self.id))
            if has_left:
                self._report_rights("left", left.name)
        return has_left

    def _grants_of(self) -> Any:
        return Permission.user

    def _lock(self) -> None:
        users: type[User] = Membership.user.rel_model
        lock_users(users, [self.id])

    def _report_rights(self, change: str, what: str) -> None:
        events.emit(kinds.RIGHTS_CHANGED, user_id=self.id, reason=f"{change} {what}")


def groups_of(user: UserRights) -> list[tuple[int, str]]:
    """Return the ids and the names of `user.groups`, by a SELECT whose SQL is written once."""
    if user.is_limited:
        return []
    with user._using_database():
        return _GROUPS_OF_USER.fetchall(user=user.id)


def keep_group_names(user: UserRights, found: Sequence[str]) -> None:
    """Keep the names of the groups that were read with a user, for one request."""
    user._group_names = found


def group_names(user: UserRights) -> Sequence[str]:
    """Return the names that `keep_group_names` kept; none if an API key identified the user."""
    return user._group_names


def limit(user: UserRights, permissions: frozenset[str]) -> None:
    """Limit an object, but not the stored user, to some permissions, and clear its flags."""
    values = vars(user)["__data__"]  # `save` would write a change of the attributes
    user._limit, user._has_every = permissions, values["is_superuser"]
    values["is_staff"] = values["is_superuser"] = False


def resolve_group(group: Group | str) -> Group:
    """Return `group` itself, or the group with that name, ignoring case.

    Raises:
        ValueError: The group is of another application, where its id can mean another group.
        Group.DoesNotExist: There is no group with this name.
    """
    if isinstance(group, Group):
        if group.database not in (None, storage.current()):
            raise ValueError(f"{group!r} is a group of another application.")
        return group
    found = Group.objects.find(group)
    if found is None:
        raise Group.DoesNotExist(f"there is no group {group!r}")
    return found


Group.objects = GroupObjects(Group)

_BY_NAME = ModelStatement(lambda: Group.select().where(is_given(Group.name_key)))
_GROUPS_OF_USER = Statement(
    lambda: (
        Group.select(Group.id, Group.name)
        .join(Membership)
        .where(is_given(Membership.user))
        .order_by(Group.name_key)
    )
)
_LEAVE = Statement(
    lambda: Membership.delete().where(is_given(Membership.group), is_given(Membership.user))
)


_LOCK = Statement(lambda: locked(Group.select(Group.id).where(is_given(Group.id))))
_PERMISSIONS_OF_GROUP = Statement(
    lambda: GroupPermission.select(GroupPermission.name).where(is_given(GroupPermission.group))
)


def _permissions_of_user() -> Any:
    own = Permission.select(Permission.name).where(is_given(Permission.user))
    of_groups = GroupPermission.select(GroupPermission.name).join(
        Membership, on=Membership.group == GroupPermission.group
    )
    # UNION ALL: the database need not look for duplicates, because a set has none.
    return own + of_groups.where(is_given(Membership.user))


_PERMISSIONS_OF_USER = Statement(_permissions_of_user)
