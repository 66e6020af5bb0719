"""The second factors of a user as people and programs see them."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from wsgiauth.accounts.models import User
from wsgiauth.authentication import factors, recovery_codes
from wsgiauth.authentication.factors import Factor
from wsgiauth.authentication.methods import HARDWARE_KEY, ONE_TIME_CODE
from wsgiauth.storage.models import json_fields

_KINDS = {ONE_TIME_CODE: "Authenticator app", HARDWARE_KEY: "Passkey"}


@dataclass(frozen=True, kw_only=True)
class ListedFactor:
    """A second factor in a list; the time is in UTC.

    Attributes:
        method: See `Factor`.
        name: How the user calls it.
        added_at: When it became a factor.
    """

    method: str
    name: str
    added_at: datetime

    @classmethod
    def of(cls, factor: Factor) -> "ListedFactor":
        """Return what a list shows of a factor."""
        added_at = datetime.fromtimestamp(factor.added_at, UTC)
        return cls(method=factor.method, name=factor.name, added_at=added_at)

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return _KINDS[self.method]

    def document(self) -> dict[str, object]:
        """Return the factor, ready for JSON."""
        return json_fields(asdict(self))


@dataclass(frozen=True, kw_only=True)
class SecondFactors:
    """All second factors of a user.

    Attributes:
        factors: By type, the oldest first.
        recovery_codes_left: How many recovery codes are not used yet.
    """

    factors: tuple[ListedFactor, ...]
    recovery_codes_left: int

    @classmethod
    def read(cls, user: User) -> "SecondFactors":
        """Return the second factors of a user.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        return cls(
            factors=tuple(map(ListedFactor.of, factors.list_factors(user))),
            recovery_codes_left=recovery_codes.count(user),
        )

    def document(self) -> dict[str, object]:
        """Return the factors, ready for JSON."""
        return {
            "factors": [each.document() for each in self.factors],
            "recovery_codes_left": self.recovery_codes_left,
        }
