"""The interface of trusted browsers, in which a user's logins skip the second step.

A browser has its secrets in a cookie of its own. `features.trusted_browsers` implements it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.storage.models import utc_text
from wsgiauth.web.clients import Client, device_of
from wsgiauth.web.cookies import OwnCookie


class ListedBrowser(NamedTuple):
    """A trusted browser in the list of its user; times are in UTC.

    Example:
        def names_of(browsers: Sequence[ListedBrowser]) -> list[str]:
            return [each.browser for each in browsers]
    """

    handle: str
    is_current: bool  # whether it sent the request
    trusted_at: datetime
    last_used_at: datetime | None  # by a login that skipped the second step
    expires_at: datetime
    address: str  # of the client when it became trusted, or empty
    browser: str  # the browser and the system in words

    @property
    def device(self) -> str:
        """The icon of the device; see `device_of`."""
        return device_of(self.browser)

    def document(self) -> dict[str, object]:
        """Return the browser, ready for JSON."""
        return {
            "handle": self.handle,
            "is_current": self.is_current,
            "trusted_at": utc_text(self.trusted_at),
            "last_used_at": self.last_used_at and utc_text(self.last_used_at),
            "expires_at": utc_text(self.expires_at),
            "address": self.address or None,
            "browser": str(self.browser),
        }


class TrustedBrowsers(ABC):
    """The part of a site that knows trusted browsers; see `Site.part`.

    Attributes:
        cookie: The cookie of a browser, whose value the methods get. It can be empty.
        days: For how many days a browser is trusted.

    Example:
        def count(trusted: TrustedBrowsers, user: User, site: Site) -> int:
            return len(trusted.list_browsers(user, site.factors, site.now()))
    """

    cookie: OwnCookie
    days: int

    @abstractmethod
    def find(
        self, cookie: str, user: User, factors: SecondFactors, now: float
    ) -> Callable[[], bool] | None:
        """Return a function if a browser is trusted by `user`, as read before the first step.

        The function is for the transaction that starts the session. It locks the user, and returns
        whether the browser is still trusted.
        """

    @abstractmethod
    def trust(
        self,
        cookie: str,
        user: User,
        state: str,
        factors: SecondFactors,
        *,
        client: Client,
        now: float,
    ) -> str:
        """Trust a browser, and return its new cookie; "" if the user or a factor has changed.

        Args:
            user: As read before the first step.
            state: See `SecondFactors.state`; as read before the second step.
        """

    @abstractmethod
    def list_browsers(
        self, user: User, factors: SecondFactors, now: float, cookie: str = ""
    ) -> list[ListedBrowser]:
        """Return the browsers that a user trusts, the newest first."""

    @abstractmethod
    def revoke(self, user: User, handle: str) -> bool:
        """End the trust in a browser; return whether the user had trusted one with this handle."""
