"""Change a user while one active superuser remains."""

from collections.abc import Callable
from typing import TypeVar

from wsgiauth.accounts.models import User
from wsgiauth.exceptions import LastSuperuserError
from wsgiauth.storage import context, database

_Result = TypeVar("_Result")


def change_locked(
    user: User,
    change: Callable[[], _Result],
    *,
    is_removal: bool,
    actor: User | None = None,
    check: Callable[[], None] = lambda: None,
) -> _Result:
    """Call `change` in a transaction that locks the user's row and keeps one active superuser.

    Without a lock, two processes could each remove one of the last two superusers, because each
    still sees the other superuser. Therefore the transaction also locks the row of another
    superuser, the witness: the second process waits, and then sees the first one's change.
    SQLite's write transactions exclude each other anyway.

    Args:
        user: The user who changes.
        change: Called without arguments; what it returns is returned.
        is_removal: Whether it can take away a superuser.
        actor: The user who makes the change, whose row is locked as well.
        check: Called before `change`, with the rows locked; it raises what refuses the change.

    Raises:
        LastSuperuserError: No other active superuser would remain.
        User.DoesNotExist: The user has been deleted.
        peewee.DatabaseError: The database failed.
    """
    involved = {user.id} if actor is None else {user.id, actor.id}
    seen, witness = set(involved), set[int]()
    with context.using(user.origin):
        while True:
            with database.atomic():
                locked = _lock(involved | witness)
                if user.id not in locked:
                    raise User.DoesNotExist
                check()
                is_superuser = locked.pop(user.id)
                if not is_removal or not is_superuser or any(locked.values()):
                    return change()
            # Query outside the transaction: MariaDB aborts a transaction that waits for a row
            # which has changed since its first read. Each witness is tried once, so the loop ends.
            others = User.select(User.id).where(
                User.is_superuser, User.is_active, User.id.not_in(seen)
            )
            witness = {each.id for each in others.order_by(User.id).limit(1)}
            if not witness:
                raise LastSuperuserError(user.username)
            seen |= witness


def _lock(user_ids: set[int]) -> dict[int, bool]:
    """Lock users in id order, to prevent deadlocks; return which are active superusers."""
    rows = User.select(User.id, User.is_active, User.is_superuser).where(User.id.in_(user_ids))
    rows = rows.order_by(User.id)
    if database.for_update:
        rows = rows.for_update()
    return {row.id: row.is_active and row.is_superuser for row in rows}
