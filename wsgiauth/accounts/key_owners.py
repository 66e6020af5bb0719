"""The owners of API keys, without the use of a key: for questions about tokens."""

from typing import NamedTuple

from wsgiauth.accounts.callers import CALLER, from_row
from wsgiauth.accounts.groups import limit
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key
from wsgiauth.storage.statements import Statement, given, is_given

# The SELECT of `api_keys.find`, without the column about the last use.
_OWNER = Statement(
    lambda: (
        User.select(*CALLER, User.id, Key.permissions, Key.digest, Key.created_at, Key.expires_at)
        .join(Key, on=(Key.user == User.id))
        .where(is_given(Key.id), Key.expires_at > given(Key.expires_at, "now"), User.is_active)
    )
)


class KeyOwner(NamedTuple):
    """The owner of a key, limited to its permissions, and columns of its row."""

    user: User
    digest: str
    created_at: int
    expires_at: int


def owner_of_key(key_id: str, now: int) -> KeyOwner | None:
    """Return the active owner of a key that has not expired, or None."""
    row = _OWNER.fetchone(id=key_id, now=now)
    if row is None:
        return None
    user_id, permissions, digest, created_at, expires_at = row[len(CALLER) :]
    user = from_row(user_id, row)
    limit(user, frozenset(permissions.split()))
    return KeyOwner(user, digest, created_at, expires_at)
