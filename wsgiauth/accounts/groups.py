"""The Peewee models of groups: their permissions and their members.

`rights` gives users the permissions of their groups.
"""

from typing import TYPE_CHECKING, Any, ClassVar

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts import names, taken_names
from wsgiauth.accounts.objects import Objects
from wsgiauth.exceptions import ValidationError
from wsgiauth.storage import Statement, database
from wsgiauth.storage.models import BoundModel, Model

if TYPE_CHECKING:
    from wsgiauth.accounts.models import User


class GroupObjects(Objects["Group"]):
    """Create and find groups, as `Group.objects`."""

    def create(self, *, name: str) -> "Group":
        """Insert a group without permissions and members, and return it.

        Args:
            name: As typed; unique without regard to letter case.

        Raises:
            ValidationError: The name breaks a rule; `errors` holds the messages.
            TakenError: Another group has the name.
            peewee.DatabaseError: The database failed.
        """
        return self._model.create(name=name)

    def find(self, name: str) -> "Group | None":
        """Return the group with this name, in any letter case, or None.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        if names.group_problem(name) is not None:
            return None  # no group can have this name
        return self._model.get_or_none(Group.name_key == names.key(name))


class Group(BoundModel):
    """A group of users, who have its permissions besides their own.

    Attributes:
        name: Unique without regard to letter case or compatibility forms; shown as typed.
        name_key, origin: Internal, as those of `User`.
    """

    objects: ClassVar[GroupObjects]
    DoesNotExist: ClassVar[type[peewee.DoesNotExist]]

    id: "peewee.BigAutoField[int]" = peewee.BigAutoField()
    name: "peewee.CharField[str]" = peewee.CharField(max_length=names.GROUP_MAX_LENGTH)
    name_key: "peewee.CharField[str]" = peewee.CharField(
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

        The arguments are those of Peewee's `Model.save`; there is nothing else that `only` selects.

        Raises:
            ValidationError: The name breaks a rule.
            TakenError: Another group has the name.
            peewee.DatabaseError: The database failed.
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
            with self._using_origin(), database.atomic():
                stored: Any = Group.select(Group.name).where(Group.id == self.id)
                if not is_new and stored.scalar() == self.name:
                    return False
                saved = super().save(force_insert)
                if saved:  # otherwise the group has been deleted
                    self._report("created" if is_new else "renamed to")
        except peewee.IntegrityError:
            with self._using_origin():
                taken_names.refuse_names(Group, written, {}, owner_id=self.id)
            raise  # the name is no longer taken
        return saved

    def delete_instance(self, *args: Any, **kwargs: Any) -> int:
        """Delete the group; its members lose its permissions."""
        with self._using_origin(), database.atomic():
            deleted: int = super().delete_instance(*args, **kwargs)
            if deleted:
                self._report("deleted")
        return deleted

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions granted to this group, read from the database on each access."""
        with self._using_origin():
            return frozenset(name for (name,) in _PERMISSIONS_OF.fetchall(self.id))

    @property
    def members(self) -> "peewee.ModelSelect[User]":
        """A query for the users in this group, the oldest account first."""
        users: Any = Membership.user.rel_model
        joined = users.select().join(Membership).where(Membership.group == self.id)
        query: peewee.ModelSelect[User] = joined.order_by(Membership.user)
        return query.bind(self.origin or storage.current())

    def grant(self, *permissions: str) -> bool:
        """Grant all given permissions or none; those already granted are left unchanged.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
            Group.DoesNotExist: The group is not in the database.
            peewee.DatabaseError: The database failed.
        """
        wanted = [names.check_permission(permission) for permission in permissions]
        with self._using_origin(), database.atomic():
            Group.get_by_id(self.id)
            granted = [n for n in wanted if insert_new(GroupPermission, group=self.id, name=n)]
            for name in granted:
                self._report(f"granted {name} to")
        return bool(granted)

    def revoke(self, *permissions: str) -> bool:
        """Revoke all given permissions or none; those not granted are ignored.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
            peewee.DatabaseError: The database failed.
        """
        unwanted = [names.check_permission(permission) for permission in permissions]
        with self._using_origin(), database.atomic():
            of_group = GroupPermission.delete().where(GroupPermission.group == self.id)
            revoked = [n for n in unwanted if of_group.where(GroupPermission.name == n).execute()]
            for name in revoked:
                self._report(f"revoked {name} from")
        return bool(revoked)

    def _report(self, change: str) -> None:
        events.emit("group_changed", reason=f"{change} {self.name}")


class GroupPermission(Model):
    """A permission, `<app>.<action>`, that is granted to the members of a group."""

    group_id: int
    group = peewee.ForeignKeyField(Group, backref="+", on_delete="CASCADE", index=False)
    name = peewee.CharField(max_length=names.PERMISSION_MAX_LENGTH)

    class Meta:
        table_name = "wsgiauth_group_permission"
        primary_key = peewee.CompositeKey("group", "name")


class Membership(Model):
    """A user in a group."""

    group_id: int
    group = peewee.ForeignKeyField(Group, backref="+", on_delete="CASCADE", index=False)
    user_id: int
    user: Any  # `models` adds this foreign key, because it defines `User`

    class Meta:
        table_name = "wsgiauth_membership"
        primary_key = peewee.CompositeKey("group", "user")
        indexes = ((("user", "group"), False),)


def insert_new(model: type[Model], **row: object) -> bool:
    """Insert a row that refers to others, and return whether it was not there yet.

    Call this in a transaction; a refused row does not end it. If False, either the row exists, or
    one that it refers to does not. (MariaDB's INSERT IGNORE would also ignore the latter, without
    saying so.)
    """
    try:
        with database.atomic():
            model.insert(row).execute()
    except peewee.IntegrityError:
        return False
    return True


Group.objects = GroupObjects(Group)

_PERMISSIONS_OF = Statement(
    lambda: GroupPermission.select(GroupPermission.name).where(GroupPermission.group == 0)
)
