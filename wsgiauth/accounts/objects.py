"""`User.objects`: how application code creates and finds users."""

from typing import Any, Generic, TypeVar

import peewee

_User = TypeVar("_User", bound=peewee.Model)


class UserObjects(Generic[_User]):
    """Create and find users, as `User.objects`.

    Args:
        model: `User`.
    """

    def __init__(self, model: type[_User]) -> None:
        self._model = model

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

    def get(self, *query: Any, **filters: Any) -> _User:
        """Return the first user that matches.

        Raises:
            User.DoesNotExist: No user matches.
        """
        return self._model.get(*query, **filters)

    def get_or_none(self, *query: Any, **filters: Any) -> _User | None:
        """Return the first user that matches, or None."""
        return self._model.get_or_none(*query, **filters)

    def filter(self, *query: Any, **filters: Any) -> "peewee.ModelSelect[_User]":
        """Return the users that match: `filter(is_staff=True)`, `filter(User.id > 7)`."""
        return self._model.select().filter(*query, **filters)

    def all(self) -> "peewee.ModelSelect[_User]":
        """Return every user, the oldest account first."""
        return self._model.select().order_by(self._model._meta.primary_key)

    def count(self) -> int:
        """Return the number of users."""
        return self._model.select().count()
