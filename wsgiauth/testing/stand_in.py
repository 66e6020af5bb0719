"""A provider without a network: each login uses the account that a test has described.

`provider_account` imports it when called, because it needs the packages of the extra `oidc`.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.code_flow import CodeFlow
from wsgiauth.features.providers.oidc.errands import BegunErrand
from wsgiauth.features.providers.oidc.profiles import make_account
from wsgiauth.settings.oidc import OPENID, ProviderEntry


class StandIn(CodeFlow):
    """A client that sends no request; the provider says `claims` and the time of the login.

    A provider without OpenID Connect does not say the time.
    """

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
        time = {"auth_time": now} if self._entry.kind == OPENID else {}
        return make_account(self._entry, {**self._claims, **time}, now)

    def check(self) -> None:
        """Find nothing wrong."""
