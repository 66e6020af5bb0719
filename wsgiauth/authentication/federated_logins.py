"""The interfaces of federated logins: logins at a provider, which begin or confirm a session.

`features.providers` implements them: a provider can end the session that began there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from wsgiauth.accounts.models import User
from wsgiauth.web.cookies import OwnCookie, TaggedCookie
from wsgiauth.web.pages import ProviderButton


class FederatedLogin(Protocol):
    """A login at another provider: a tuple of JSON values, which a pending login stores."""

    def proven_at(self, now: int) -> int:
        """Return when the user proved their identity, in seconds since the epoch."""

    def is_valid_for(self, user: User) -> bool:
        """Lock the user, and return whether this login can start or confirm the user's session."""

    def record(self, session_id: str, *, is_first: bool) -> None:
        """Record the login in the transaction that starts (`is_first`) or confirms a session."""

    def has_ended(self) -> bool:
        """Return whether the provider has ended the login."""


class Connected(NamedTuple):
    """An account at a provider that a user has connected; times are in UTC."""

    id: str  # names it in the list of its user
    title: str  # of the provider
    name: str  # at the provider
    connected_at: datetime
    last_used_at: datetime
    is_offered: bool = True  # whether the site still has its provider


class FederatedLogins(ABC):
    """The part of a site that knows federated logins; see `Site.part`."""

    waiting: OwnCookie  # of a browser whose login named an account that no user has connected

    @abstractmethod
    def restore(self, values: Iterable[Any]) -> FederatedLogin:
        """Return the login of a pending login whose second factor was just proven here."""

    @abstractmethod
    def buttons(self, mount: str) -> tuple[ProviderButton, ...]:
        """Return a button for each provider."""

    @abstractmethod
    def buttons_of(self, user: User, url: str = "") -> tuple[ProviderButton, ...]:
        """Return a button for each provider that can confirm the user, in a form for `url`."""

    @abstractmethod
    def connected(self, user: User) -> list[Connected]:
        """Return the accounts that a user has connected, the oldest first."""

    @abstractmethod
    def titles(self, user: User) -> Mapping[str, str]:
        """Return the providers at which sessions of a user began, by the handle of the session."""

    @abstractmethod
    def has_proven(self, session_id: str, now: float, max_age: int) -> bool:
        """Return whether the user of a session logged in at a provider at most `max_age` ago."""

    @abstractmethod
    def logout_of(self, session_id: str) -> Callable[[str], str | None] | None:
        """Return a function from the URL to come back to, to the URL where a logout continues.

        Return None if the logout ends here.
        """

    @abstractmethod
    def forget(self, cookies: Iterable[TaggedCookie], now: float) -> None:
        """Delete the accounts that these cookies name; see `waiting`."""
