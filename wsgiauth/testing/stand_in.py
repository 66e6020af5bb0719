"""A provider without a network: each login uses the account that a test has described.

`provider_account` imports it when called, because it needs the packages of the extra `oidc`.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.client import Client
from wsgiauth.features.providers.oidc.errands import BegunErrand
from wsgiauth.features.providers.oidc.failures import Failures
from wsgiauth.features.providers.oidc.profiles import make_account
from wsgiauth.features.providers.oidc.signed_tokens import LogoutToken
from wsgiauth.settings.oidc import ProviderEntry


class StandIn(Client):
    """A client that sends no request; the ID token has `claims` and the time of the login."""

    def __init__(
        self, entry: ProviderEntry, clock: Callable[[], float], claims: Mapping[str, Any]
    ) -> None:
        super().__init__(entry, clock, timeout=0)
        self._claims = claims

    def login_url(self, begun: BegunErrand, redirect_uri: str) -> str:
        """Return the path of the callback, as if the user had logged in at the provider."""
        query = urlencode({"state": begun.state, "code": "test", "iss": self._entry.issuer})
        return f"{urlsplit(redirect_uri).path}?{query}"

    def account(
        self,
        query: Mapping[str, str],
        begun: BegunErrand,
        redirect_uri: str,
        is_known: Callable[[str], bool],
    ) -> ProviderAccount:
        """Return the account with the claims."""
        now = int(self._now())
        return make_account(self._entry, {**self._claims, "auth_time": now}, now)

    def logout_url(self, post_logout_redirect_uri: str) -> str | None:
        """Return None: there is no session at the provider."""
        return None

    def verify_logout_token(self, token: str) -> LogoutToken:
        """Refuse every token."""
        raise Failures(self._entry.title).logout_token("signature")

    def check(self) -> None:
        """Find nothing wrong."""
