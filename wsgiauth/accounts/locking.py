"""Read a user and lock their row, for a change that depends on what is stored."""

from wsgiauth.accounts.models import User
from wsgiauth.storage import database


def lock_user(user_id: int) -> User | None:
    """Return a user as stored, or None; no other transaction changes the row before this one ends.

    Call this in a transaction, before other reads: MariaDB's later reads then see what was
    committed before the lock.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    query = User.select().where(User.id == user_id)
    user: User | None = (query.for_update() if database.for_update else query).first()
    return user
