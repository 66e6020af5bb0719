"""Groups, whose members have their permissions."""

from typing import TYPE_CHECKING, Any, ClassVar

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts import names, taken_names
from wsgiauth.accounts.base import Objects, RightsHolder
from wsgiauth.accounts.tables import GroupPermission, Membership
from wsgiauth.exceptions import ValidationError
from wsgiauth.storage import Statement, database

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


class Group(RightsHolder):
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
        users: type[User] = Membership.user.rel_model
        joined = users.select().join(Membership).where(Membership.group == self.id)
        query: peewee.ModelSelect[User] = joined.order_by(Membership.user)
        return query.bind(self.origin or storage.current())

    def _grants_of(self) -> Any:
        return GroupPermission.group

    def _report_grant(self, change: str, permission: str) -> None:
        self._report(f"{change} {permission} {'to' if change == 'granted' else 'from'}")

    def _report(self, change: str) -> None:
        events.emit("group_changed", reason=f"{change} {self.name}")


Group.objects = GroupObjects(Group)

_PERMISSIONS_OF = Statement(
    lambda: GroupPermission.select(GroupPermission.name).where(GroupPermission.group == 0)
)
