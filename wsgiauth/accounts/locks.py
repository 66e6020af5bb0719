"""The lock of users: changes of an account, and of what belongs to it, exclude each other.

docs/concurrency.md has what it keeps.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from wsgiauth.storage import database

if TYPE_CHECKING:
    from wsgiauth.accounts.models import User


def lock_users(users: "type[User]", user_ids: Collection[int]) -> "list[User]":
    """Lock users in the order of their ids, to prevent deadlocks; return them as stored.

    Args:
        users: The model, which this module cannot import.
        user_ids: Those without a user are left out.
    """
    is_chosen = users.id.in_(user_ids)
    if database.locks_by_writing:
        users.update(locks=users.locks + 1).where(is_chosen).order_by(users.id).execute()
    query = users.select().where(is_chosen).order_by(users.id)
    return list(query.for_update() if database.for_update else query)
