"""The API keys of a user as their owner sees them."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key
from wsgiauth.authentication import keys
from wsgiauth.authentication.lifetimes import HOUR
from wsgiauth.storage.models import json_fields


@dataclass(frozen=True, kw_only=True)
class ListedKey:
    """A key in the list of its owner; times are in UTC.

    Attributes:
        id: Names it; no credential.
        name: What the owner calls it.
        permissions: What it can be used for, if its owner has them.
        created_at: When it was made.
        expires_at: When it ends.
        last_used_at: When it was last used: the beginning of the hour, or when it was made if that
            is later; None if it was never used.
    """

    id: str
    name: str
    permissions: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None

    @classmethod
    def of(cls, row: Key) -> "ListedKey":
        """Return what the owner sees of a key."""
        used = row.last_used_at
        return cls(
            id=row.id,
            name=row.name,
            permissions=tuple(row.permissions.split()),
            created_at=_moment(row.created_at),
            expires_at=_moment(row.expires_at),
            last_used_at=None if used is None else _moment(max(used - used % HOUR, row.created_at)),
        )

    def document(self) -> dict[str, object]:
        """Return the key, ready for JSON."""
        return json_fields(asdict(self))


def list_keys(user: User, now: float) -> list[ListedKey]:
    """Return the keys of a user that have not expired, the newest first.

    Args:
        user: The owner.
        now: Seconds since the epoch.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    return [ListedKey.of(each) for each in keys.list_keys(user, now)]


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
