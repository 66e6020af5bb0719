"""Logins with other providers: OpenID Connect Core 1.0, the authorization code flow with PKCE.

A provider is asked when it is first used, never at a start. Each answer is bounded in time and
size. Every failure is a `ProviderError`, whose reason is for the log; a user is (`iss`, `sub`).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from wsgiauth.exceptions import ProviderError
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.errands import Begun, BegunErrand, Errand, Errands
from wsgiauth.settings import Settings
from wsgiauth.settings.kinds import missing_package
from wsgiauth.settings.oidc import ProviderEntry, parse_entries
from wsgiauth.web.cookies import TaggedCookie

if TYPE_CHECKING:
    from wsgiauth.features.providers.oidc.client import Client
    from wsgiauth.features.providers.oidc.signed_tokens import LogoutToken

_TIMEOUT = 5.0  # seconds for a request to a provider


class Providers:
    """The providers of OIDC_PROVIDERS, in this order.

    Args:
        clock: Returns the time in seconds since the epoch.
        timeout: Of a request to a provider, in seconds.

    Raises:
        ConfigurationError: A package of the extra `oidc` is missing.

    Attributes:
        errands: Reads the cookies of browsers that come back.
    """

    def __init__(
        self, settings: Settings, clock: Callable[[], float], *, timeout: float = _TIMEOUT
    ) -> None:
        self.errands: Errands = Errands(settings)
        entries = parse_entries(settings.OIDC_PROVIDERS)
        made = [Provider(each, self.errands, clock, timeout) for each in entries]
        self._providers = {each.entry.name: each for each in made}

    def __iter__(self) -> Iterator["Provider"]:
        return iter(self._providers.values())

    def find(self, name: str) -> "Provider | None":
        """Return the provider of a name, or None."""
        return self._providers.get(name)


class Provider:
    """A provider, with the requests to it, all of which raise ProviderError."""

    def __init__(
        self, entry: ProviderEntry, errands: Errands, clock: Callable[[], float], timeout: float
    ) -> None:
        try:
            from wsgiauth.features.providers.oidc.client import Client
        except ImportError:
            packages = "urllib3 or cryptography"
            raise missing_package("OIDC_PROVIDERS", packages, "oidc") from None
        self.entry: ProviderEntry = entry
        self._errands = errands
        self._now = clock
        self._client = Client(entry, clock, timeout)

    def use_client(self, client: "Client") -> None:
        """Ask another client from now on, which needs no network: see `wsgiauth.testing`."""
        self._client = client

    def begin(self, errand: Errand, *, redirect_uri: str) -> Begun:
        """Return the URL to which a browser goes, and the cookie that it gets."""
        begun, cookie = self._errands.begin(errand, self.entry.name, self._now())
        url = self._client.login_url(begun, redirect_uri)
        return Begun(url, TaggedCookie(begun.tag, cookie))

    def admit(self) -> AbstractContextManager[None]:
        """Admit a browser that comes back, for the `with` block, or refuse it at once.

        A few are admitted at a time, because each keeps a thread of the server waiting for the
        provider. The others are refused before anything is counted or recorded, so that a flood is
        cheap, and a refused browser can load the same URL again.
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

        Record that `errand.state` is used, and commit that, before.

        Args:
            query: The parameters of the callback.
            errand: What `Errands.read` returned for the browser's cookie and `state`.
            redirect_uri: The same as at `begin`.
            is_known: Whether the account with a subject is connected to a user, who then needs
                nothing of the userinfo endpoint but groups.
        """
        return self._client.account(query, errand, redirect_uri, is_known)

    def logout_url(self, post_logout_redirect_uri: str) -> str | None:
        """Return where the session at the provider ends, or None; raises nothing.

        See OpenID Connect RP-Initiated Logout 1.0, section 2.
        """
        return self._client.logout_url(post_logout_redirect_uri)

    def verify_logout_token(self, token: str) -> "LogoutToken":
        """Return which sessions a logout token ends; record its `jti` in the same transaction."""
        return self._client.verify_logout_token(token)

    def problem(self) -> str | None:
        """Ask the provider now; return why it cannot be used, for an operator, or None."""
        try:
            self._client.check()
        except ProviderError as error:
            found = f"The provider {self.entry.name} cannot be used ({error.reason})."
            return f"{found} {_advice(error.reason)}"
        return None


def _advice(reason: str) -> str:
    """Return what an operator can do."""
    what, _, why = reason.partition(": ")
    if why == "issuer":
        return "Its discovery document names another issuer; compare them to the last slash."
    if why == "certificate":
        return "Its certificate is not valid for this host, or its authority is not known here."
    if why in ("timeout", "connection", "status"):
        return "Check that this host can reach the issuer, and that the issuer is right."
    return f"What it publishes ({what}) cannot be used; see its documentation."
