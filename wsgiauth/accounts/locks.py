"""The lock of users: changes of an account and of its rows exclude each other.

docs/concurrency.md says how. A change that can take away a superuser uses `change_locked`.
"""

from collections.abc import Callable, Collection
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import peewee

from wsgiauth import storage
from wsgiauth.exceptions import LastSuperuserError
from wsgiauth.storage import context, database
from wsgiauth.storage.statements import ModelStatement, Statement, is_one_of, locked, numbered

if TYPE_CHECKING:
    from wsgiauth.accounts.models import User

_Result = TypeVar("_Result")

# The user who is not the last superuser until the transaction of this context ends. A second search
# for a witness could lock rows in an order that causes a deadlock.
_dispensable: ContextVar[tuple[peewee.Database, int] | None] = ContextVar(
    "wsgiauth.dispensable", default=None
)


def lock_users(users: "type[User]", user_ids: Collection[int]) -> "list[User]":
    """Lock users in the order of their ids, to prevent deadlocks; return them as stored.

    `users` is the model, which this module cannot import.
    """
    write, read = _locking(users, len(user_ids))
    ids = numbered("id", user_ids)
    if database.locks_by_writing:
        write.execute(**ids)
    return read.all(**ids)


@lru_cache(maxsize=16)
def _locking(users: "type[User]", number: int) -> "tuple[Statement, ModelStatement[User]]":
    """Return the statements that lock so many users; only MariaDB needs the UPDATE."""
    is_chosen = is_one_of(users.id, number)

    def write() -> Any:
        return users.update(locks=users.locks + 1).where(is_chosen).order_by(users.id)

    read = ModelStatement(lambda: locked(users.select().where(is_chosen).order_by(users.id)))
    return Statement(write), read


def remove_locked(user: "User", remove: Callable[[], int]) -> int:
    """Call `remove` as `change_locked` does, and return the number of rows that it has changed.

    Within a `change_locked` of the same user, another superuser is locked already.
    """
    if _dispensable.get() == (storage.current(), user.id):
        return remove()
    try:
        return change_locked(user, remove, is_removal=True)
    except type(user).DoesNotExist:
        return 0


def change_locked(
    user: "User",
    change: Callable[[], _Result],
    *,
    is_removal: bool,
    actor: "User | None" = None,
    check: Callable[[], None] = lambda: None,
) -> _Result:
    """Call `change` in a transaction that locks the user's row and keeps one active superuser.

    Without a lock, two processes could each remove one of the last two superusers, because each
    still sees the other superuser. Therefore the transaction also locks the row of another
    superuser, the witness: the second process waits, and then sees the first one's change.
    SQLite's write transactions exclude each other anyway.

    Args:
        is_removal: Whether `change` can take away a superuser.
        actor: The user who makes the change, whose row is locked as well.
        check: Called first, with the rows locked; raises an exception to refuse the change.

    Raises:
        LastSuperuserError: No other active superuser would remain.
        User.DoesNotExist: The user has been deleted.
    """
    users = type(user)
    involved = {user.id} if actor is None else {user.id, actor.id}
    seen, witness = set(involved), set[int]()
    with context.using(user.database):
        while True:
            with database.atomic() as transaction:
                found = lock_users(users, involved | witness)
                locked = {each.id: each.is_active and each.is_superuser for each in found}
                if user.id not in locked:
                    raise users.DoesNotExist
                check()
                is_superuser = locked.pop(user.id)
                if not is_removal:
                    return change()
                if not is_superuser or any(locked.values()):
                    return _call_without(user, change)
                transaction.rollback()  # a lock that MariaDB wrote could abort the other process
            # Outside the transaction: MariaDB aborts a transaction that waits for a row which has
            # changed since its first read. Each witness is tried once, so the loop ends.
            others = users.select(users.id).where(
                users.is_superuser, users.is_active, users.id.not_in(seen)
            )
            witness = {each.id for each in others.order_by(users.id).limit(1)}
            if not witness:
                raise LastSuperuserError(user.label)
            seen |= witness


def _call_without(user: "User", change: Callable[[], _Result]) -> _Result:
    token = _dispensable.set((storage.current(), user.id))
    try:
        return change()
    finally:
        _dispensable.reset(token)
