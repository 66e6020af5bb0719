"""Where a session begins or is confirmed, if not by credentials of this site.

Such an origin is a login elsewhere, as at another provider, which can end the session there. The
kernel knows these interfaces alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from wsgiauth.accounts.models import User
from wsgiauth.web.cookies import OwnCookie, TaggedCookie
from wsgiauth.web.pages import ProviderButton


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


class Connected(NamedTuple):
    """An account elsewhere that a user has connected; times are in UTC."""

    id: str  # names it in the list of its user
    title: str  # of the provider
    name: str  # what the provider calls it
    connected_at: datetime
    last_used_at: datetime
    is_offered: bool = True  # whether the site still has its provider


class Origins(ABC):
    """The part of a site that knows logins elsewhere; see `Site.part`.

    Attributes:
        waiting: The cookie of a browser that has logged in elsewhere, with an account that no user
            has yet.
    """

    waiting: OwnCookie

    @abstractmethod
    def restore(self, values: Iterable[Any]) -> Origin:
        """Return the login that a pending login has stored.

        The user has just proven a second factor here, whenever they logged in elsewhere.
        """

    @abstractmethod
    def buttons(self, mount: str) -> tuple[ProviderButton, ...]:
        """Return a button for each login elsewhere, for a page at this mount."""

    @abstractmethod
    def buttons_of(self, user: User, url: str = "") -> tuple[ProviderButton, ...]:
        """Return a button for each login elsewhere that a user has connected.

        Args:
            user: The user.
            url: Where the form with the buttons is sent.
        """

    @abstractmethod
    def connected(self, user: User) -> list[Connected]:
        """Return the accounts that a user has connected, the oldest first."""

    @abstractmethod
    def titles(self, user: User) -> Mapping[str, str]:
        """Return where sessions of a user began, by the handle of the session."""

    @abstractmethod
    def has_proven(self, session_id: str, now: float, max_age: int) -> bool:
        """Return whether the user of a session logged in elsewhere at most `max_age` ago.

        Args:
            session_id: The session.
            now: In seconds since the epoch.
            max_age: In seconds.
        """

    @abstractmethod
    def logout_of(self, session_id: str) -> Callable[[str], str | None] | None:
        """Return what makes the URL at which a logout goes on, or None if it ends here.

        Its argument is the URL to which the browser then returns.
        """

    @abstractmethod
    def forget(self, cookies: Iterable[TaggedCookie], now: float) -> None:
        """End the wait of the accounts that these cookies name; see `waiting`."""
