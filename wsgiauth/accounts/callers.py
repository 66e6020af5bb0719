"""The users that requests read, without the overhead of Peewee's own rows."""

from collections.abc import Sequence
from typing import Any

from wsgiauth.accounts.models import User
from wsgiauth.storage import context
from wsgiauth.storage.models import as_utc

# The columns that a request needs: all but the keys, which are only for look-ups, and `is_active`,
# because only active users are callers.
CALLER = (
    User.id,
    User.username,
    User.email,
    User.hashed_password,
    User.security_stamp,
    User.is_staff,
    User.is_superuser,
    User.created_at,
    User.email_verified_at,
    User.last_login_at,
)


def from_row(row: Sequence[Any]) -> User:
    """Return the active user of a row of `User.select(*CALLER, …)` with one further column."""
    user: Any = User.__new__(User)
    number, username, email, hashed, stamp, is_staff, is_superuser, created_at, *times, _ = row
    verified_at, last_login_at = (None if time is None else as_utc(time) for time in times)
    user.__data__ = {
        "id": number,
        "username": username,
        "email": email,
        "hashed_password": hashed,
        "security_stamp": stamp,
        "is_active": True,
        "is_staff": bool(is_staff),  # SQLite stores booleans as numbers
        "is_superuser": bool(is_superuser),
        "created_at": as_utc(created_at),
        "email_verified_at": verified_at,
        "last_login_at": last_login_at,
    }
    user.__rel__ = {}
    user._dirty = set()
    user.origin = context.database()
    made: User = user
    return made
