"""The passkeys of a user as their owner sees them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from wsgiauth.authentication.passkeys import Passkey
from wsgiauth.storage.models import utc_text


@dataclass(frozen=True, kw_only=True)
class ListedPasskey:
    """A passkey in the list of its owner; times are in UTC.

    Attributes:
        handle: Names it; no credential.
        name: What the owner calls it.
        created_at: When it was added.
        last_used_at: When it was last used, or None.
        is_backed_up: Whether it is on several devices.
        is_usable: Whether it works on this site.
        host: The host that it was made for.
    """

    handle: str
    name: str
    created_at: datetime
    last_used_at: datetime | None
    is_backed_up: bool
    is_usable: bool
    host: str

    @classmethod
    def of(cls, row: Passkey, host: str) -> "ListedPasskey":
        """Return what the owner sees of a passkey, on a site at `host`."""
        return cls(
            handle=row.id,
            name=row.name,
            created_at=_moment(row.created_at),
            last_used_at=_moment(row.last_used_at) if row.last_used_at else None,
            is_backed_up=row.is_backed_up,
            is_usable=row.relying_party == host,
            host=row.relying_party,
        )

    def document(self) -> dict[str, object]:
        """Return the passkey, ready for JSON."""
        return {
            "handle": self.handle,
            "name": self.name,
            "created_at": utc_text(self.created_at),
            "last_used_at": self.last_used_at and utc_text(self.last_used_at),
            "backed_up": self.is_backed_up,
            "host": self.host,
        }


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
