"""The base classes of `User` and `Group`, and of their `objects`."""

from typing import Any, Generic, TypeVar

import peewee

from wsgiauth.accounts import names
from wsgiauth.storage import database
from wsgiauth.storage.models import BoundModel, Model

_Row = TypeVar("_Row", bound=peewee.Model)


class Objects(Generic[_Row]):
    """Find users as `User.objects`, and groups as `Group.objects`."""

    def __init__(self, model: type[_Row]) -> None:
        self._model = model

    def get(self, *query: Any, **filters: Any) -> _Row:
        """Return the first one that matches.

        Raises:
            User.DoesNotExist, Group.DoesNotExist: None matches.
        """
        return self._model.get(*query, **filters)

    def get_or_none(self, *query: Any, **filters: Any) -> _Row | None:
        """Return the first one that matches, or None."""
        return self._model.get_or_none(*query, **filters)

    def filter(self, *query: Any, **filters: Any) -> "peewee.ModelSelect[_Row]":
        """Return those that match: `filter(is_staff=True)`, `filter(User.id > 7)`."""
        return self._model.select().filter(*query, **filters)

    def all(self) -> "peewee.ModelSelect[_Row]":
        """Return all, the oldest first."""
        return self._model.select().order_by(self._model._meta.primary_key)

    def count(self) -> int:
        """Return the number of all."""
        return self._model.select().count()


class RightsHolder(BoundModel):
    """A user or a group, to which permissions are granted."""

    id: "peewee.BigAutoField[int]"

    def grant(self, *permissions: str) -> bool:
        """Grant all given permissions or none; those already granted are left unchanged.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
            User.DoesNotExist, Group.DoesNotExist: The user or group is not in the database.
            peewee.DatabaseError: The database failed.
        """
        wanted = [names.check_permission(permission) for permission in permissions]
        holder = self._grants_of()
        with self._using_origin(), database.atomic():
            type(self).get_by_id(self.id)
            row = {holder.name: self.id}
            granted = [n for n in wanted if insert_new(holder.model, **row, name=n)]
            for name in granted:
                self._report_grant("granted", name)
        return bool(granted)

    def revoke(self, *permissions: str) -> bool:
        """Revoke all given permissions or none; those not granted are ignored.

        A permission of one of a user's groups stays: leave the group, or revoke it from the group.

        Returns:
            Whether anything changed.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
            peewee.DatabaseError: The database failed.
        """
        unwanted = [names.check_permission(permission) for permission in permissions]
        holder = self._grants_of()
        with self._using_origin(), database.atomic():
            own = holder.model.delete().where(holder == self.id)
            revoked = [n for n in unwanted if own.where(holder.model.name == n).execute()]
            for name in revoked:
                self._report_grant("revoked", name)
        return bool(revoked)

    def _grants_of(self) -> Any:
        """Return the column for the holder, of the table of permissions."""

    def _report_grant(self, change: str, permission: str) -> None:
        """Emit an event: the permission was `granted` or `revoked`."""


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
