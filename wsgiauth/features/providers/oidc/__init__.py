"""Logins with other providers: OpenID Connect Core 1.0, the authorization code flow with PKCE.

A provider is asked when it is first used, never at a start. Every failure is a `ProviderError`,
whose reason is for the log. `wsgiauth.features.providers.oauth` has the providers without OpenID
Connect.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.errands import Begun, BegunErrand, Errand, Errands
from wsgiauth.features.providers.oidc.failures import ProviderError
from wsgiauth.features.providers.oidc.remedies import remedy_of
from wsgiauth.settings import Settings
from wsgiauth.settings.kinds import missing_package
from wsgiauth.settings.oidc import OPENID, ProviderEntry, Proxy, parse_entries, parse_proxy
from wsgiauth.web.cookies import TaggedCookie

if TYPE_CHECKING:
    from wsgiauth.features.providers.oidc.code_flow import CodeFlow
    from wsgiauth.features.providers.oidc.signed_tokens import LogoutToken

_TIMEOUT = 5.0  # seconds for a request to a provider


class Providers:
    """The providers of OIDC_PROVIDERS, in this order."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float], *, timeout: float = _TIMEOUT
    ) -> None:
        self.errands: Errands = Errands(settings)
        entries = parse_entries(settings.OIDC_PROVIDERS)
        proxy = None if settings.OIDC_PROXY is None else parse_proxy(settings.OIDC_PROXY)
        made = [Provider(each, self.errands, clock, timeout, proxy) for each in entries]
        self._providers = {each.entry.name: each for each in made}

    def __iter__(self) -> Iterator["Provider"]:
        return iter(self._providers.values())

    def find(self, name: str) -> "Provider | None":
        """Return the provider with this name, or None."""
        return self._providers.get(name)


class Provider:
    """A provider; all requests to it raise ProviderError."""

    def __init__(
        self,
        entry: ProviderEntry,
        errands: Errands,
        clock: Callable[[], float],
        timeout: float,
        proxy: Proxy | None,
    ) -> None:
        self.entry: ProviderEntry = entry
        self._errands = errands
        self._now = clock
        self._client = _client(entry, clock, timeout, proxy)

    def use_client(self, client: "CodeFlow") -> None:
        """Use a client that needs no network: see `wsgiauth.testing`."""
        self._client = client

    def begin(self, errand: Errand, *, redirect_uri: str) -> Begun:
        """Return the URL at the provider to which a browser goes, and the cookie of its errand."""
        begun, cookie = self._errands.begin(errand, self.entry.name, self._now())
        url = self._client.login_url(begun, redirect_uri)
        return Begun(url, TaggedCookie(begun.tag, cookie))

    def admit(self) -> AbstractContextManager[None]:
        """Admit a browser that comes back, for the `with` block, or refuse it at once.

        A few are admitted at a time, because each occupies a thread of the server. The others are
        refused before anything is counted or recorded, so that a flood is cheap, and a refused
        browser can load the same URL again.
        """
        return self._client.admit()

    def finish(
        self,
        query: Mapping[str, str],
        errand: BegunErrand,
        *,
        redirect_uri: str,
        is_known: Callable[[str], bool],
    ) -> ProviderAccount:
        """Return the account with which a browser comes back.

        Before the call, commit a record of the use of `errand.state`.

        Args:
            is_known: Whether a user has connected the account with this subject. Such a login
                needs nothing of the userinfo endpoint but groups.
        """
        return self._client.account(query, errand, redirect_uri, is_known)

    def logout_url(self, post_logout_redirect_uri: str) -> str | None:
        """Return the URL that ends the session there (RP-Initiated Logout 1.0, section 2)."""
        return self._client.logout_url(post_logout_redirect_uri)

    def verify_logout_token(self, token: str) -> "LogoutToken":
        """Return the content of a logout token; the caller refuses a `jti` that it knows."""
        return self._client.verify_logout_token(token)

    def problem(self) -> str | None:
        """Ask the provider now; return a sentence for operators if it cannot be used."""
        try:
            self._client.check()
        except ProviderError as error:
            found = f"The provider {self.entry.name} cannot be used ({error.reason})."
            return f"{found} {remedy_of(error.reason)}"
        return None


def _client(
    entry: ProviderEntry, clock: Callable[[], float], timeout: float, proxy: Proxy | None
) -> "CodeFlow":
    try:
        from wsgiauth.features.providers.oauth.client import OAuthClient
        from wsgiauth.features.providers.oidc.client import Client
    except ImportError:
        raise missing_package("OIDC_PROVIDERS", "cryptography", "oidc") from None
    kind = Client if entry.kind == OPENID else OAuthClient
    return kind(entry, clock, timeout, proxy)
