"""Where a session begins or is confirmed, if not by credentials of this site.

Such an origin is a login elsewhere, as at another provider, which can end the session there. The
code that starts and confirms sessions knows these two interfaces alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

from wsgiauth.accounts.models import User


class Origin(Protocol):
    """A login elsewhere. It is a tuple of JSON values, which a pending login stores."""

    def proven_at(self, now: int) -> int:
        """Return when the user proved their identity, in seconds since the epoch."""

    def is_valid_for(self, user: User) -> bool:
        """Return whether a session of the user can begin or be confirmed by this login.

        Call it in the transaction of that change. It locks the user.
        """

    def record(self, session_id: str, *, is_first: bool) -> None:
        """Record the origin of a session, in the transaction that starts or confirms it.

        Args:
            is_first: Whether the session begins by this login.
        """

    def has_ended(self) -> bool:
        """Return whether the login has been ended elsewhere."""


class Origins(ABC):
    """The part of a site whose logins are origins of sessions; see `Site.part`."""

    @abstractmethod
    def restore(self, values: Iterable[Any]) -> Origin:
        """Return the login that a pending login has stored.

        The user has just proven a second factor here, whenever they logged in elsewhere.
        """
