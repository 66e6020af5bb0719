"""Rows for requests with an API key, which are limited to the permissions of the key."""

from collections.abc import Callable
from copy import copy
from functools import cache, lru_cache
from typing import Any

from django.db.models import Model

_LIMIT = "_wsgiauth_permissions"  # in the `__dict__` of a row, so that copies have it, too
_FLAGS = ("is_staff", "is_superuser")
_RELATIONS = ("groups", "user_permissions")


def limit_row(row: Model, permissions: frozenset[str]) -> None:
    """Limit an object, not the stored row, to some permissions; it loses its flags and groups."""
    vars(row)[_LIMIT] = permissions
    # The caches of Django's ModelBackend, so that a row has none of Django's own permissions.
    for name in ("_perm_cache", "_user_perm_cache", "_group_perm_cache"):
        vars(row)[name] = set(permissions)
    row.__class__ = _limited(row.__class__)


def limit_of(row: object) -> frozenset[str] | None:
    """Return the permissions that a row is limited to; None if it is not."""
    limit: frozenset[str] | None = getattr(row, _LIMIT, None)  # `request.user` is a lazy object
    return limit


class _LimitedRow:
    """The first base class of limited rows, whose flags are off.

    The stored flags stay in the `__dict__` of the row, so that `save` writes them unchanged.
    """

    def save(self, *args: Any, **kwargs: Any) -> None:
        self._as_stored("save", *args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        return self._as_stored("delete", *args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, super().__reduce__()

    def _as_stored(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method while the row is one of its model, as signals expect."""
        limited = type(self)
        self.__class__ = limited.__mro__[2]
        try:
            return getattr(self, method)(*args, **kwargs)
        finally:
            self.__class__ = limited


@cache
def _limited(model: Any) -> Any:
    # Without ModelBase.__new__, which would register another model.
    flags = {name: property(lambda row: False, _setter(name)) for name in _FLAGS}
    related = {each.name for each in model._meta.many_to_many}.intersection(_RELATIONS)
    relations = {name: _EmptyRelation(getattr(model, name)) for name in related}
    names = {"__module__": model.__module__, "__qualname__": model.__qualname__}
    members = names | flags | relations
    return type.__new__(type(model), model.__name__, (_LimitedRow, model), members)


def _setter(name: str) -> Callable[[Any, object], None]:
    def store(row: Any, value: object) -> None:
        vars(row)[name] = value

    return store


class _EmptyRelation:
    """A relation of limited rows that reads as empty, and stores changes."""

    def __init__(self, stored: Any) -> None:
        self._stored = stored

    def __get__(self, row: Model | None, owner: type | None = None) -> Any:
        found = self._stored.__get__(row, owner)
        return found if row is None else _emptied(found)

    def __set__(self, row: Model, value: object) -> None:
        self._stored.__set__(row, value)


class _EmptyManager:
    """The first base class of the managers of such relations."""

    def __call__(self, *, manager: str) -> Any:
        return _emptied(super().__call__(manager=manager))  # type: ignore[misc]  # of Django

    def get_queryset(self) -> Any:
        return super().get_queryset().none()  # type: ignore[misc]  # of Django

    def exists(self) -> bool:
        return False  # Django's own `exists` and `count` do not call `get_queryset`

    def count(self) -> int:
        return 0

    def set(self, *args: Any, **kwargs: Any) -> None:
        stored = copy(self)
        stored.__class__ = type(self).__mro__[2]
        stored.set(*args, **kwargs)  # it compares with the stored values


def _emptied(manager: Any) -> Any:
    manager.__class__ = _empty(manager.__class__)
    return manager


@lru_cache(maxsize=16)  # Django makes a class for each call of a manager
def _empty(kind: type) -> type:
    return type(kind.__name__, (_EmptyManager, kind), {})


def _restore(unpickle: Callable[..., Any], arguments: Any, state: dict[str, Any]) -> Any:
    """Return a copied or unpickled row, as limited as the original."""
    row = unpickle(*arguments)
    row.__setstate__(state)
    row.__class__ = _limited(row.__class__)
    return row
