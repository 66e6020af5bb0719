"""The users of requests, built from rows without the overhead of Peewee."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from wsgiauth.accounts.models import User
from wsgiauth.storage.context import current_request, default_database
from wsgiauth.storage.models import as_utc

# The columns that a request needs. It knows the id and `is_active`, because only active users are
# callers; only statements use the keys of names and `locks`.
CALLER = (
    User.username,
    User.email,
    User.hashed_password,
    User.security_stamp,
    User.is_staff,
    User.is_superuser,
    User.created_at,
    User.email_verified_at,
    User.email_verified_by,
    User.last_login_at,
    User.language,
)

# Parsing takes four times as long as a look-up in the cache.
_moment = lru_cache(maxsize=4096)(as_utc)


def from_row(user_id: int, row: Sequence[Any]) -> User:
    """Return the active user of a row that begins with the columns of `CALLER`."""
    user: Any = User.__new__(User)
    user.__data__ = {
        "id": user_id,
        "username": row[0],
        "email": row[1],
        "hashed_password": row[2],
        "security_stamp": row[3],
        "is_active": True,
        "is_staff": row[4] == 1,  # SQLite stores booleans as numbers
        "is_superuser": row[5] == 1,
        "created_at": _moment(row[6]),
        "email_verified_at": row[7] and _moment(row[7]),
        "email_verified_by": row[8],
        "last_login_at": row[9] and _moment(row[9]),
        "language": row[10],
    }
    user.__rel__ = {}
    user._dirty = set()
    user.database = current_request()[0] or default_database()
    return cast(User, user)
