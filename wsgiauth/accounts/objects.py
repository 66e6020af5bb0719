"""`User.objects` and `Group.objects`: how application code creates and finds users and groups."""

from typing import Any, Generic, TypeVar

import peewee

_Row = TypeVar("_Row", bound=peewee.Model)
_User = TypeVar("_User", bound=peewee.Model)


class Objects(Generic[_Row]):
    """Find rows of a model.

    Args:
        model: `User` or `Group`.
    """

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


class UserObjects(Objects[_User]):
    """Create and find users, as `User.objects`."""

    def create(
        self,
        *,
        username: str,
        email: str,
        hashed_password: str,
        is_active: bool = True,
        is_staff: bool = False,
        is_superuser: bool = False,
    ) -> _User:
        """Insert a user and return it.

        Args:
            username: As typed; unique without regard to letter case.
            email: As typed; unique without regard to letter case.
            hashed_password: A hash that `hash_password` returned.
            is_active, is_staff, is_superuser: See `User`.

        Raises:
            ValidationError: A name breaks a rule; `errors` holds the messages by field.
            TakenError: Another user has the name.
            ValueError: `hashed_password` is not a bcrypt hash.
            peewee.DatabaseError: The database failed.
        """
        return self._model.create(
            username=username,
            email=email,
            hashed_password=hashed_password,
            is_active=is_active,
            is_staff=is_staff,
            is_superuser=is_superuser,
        )
