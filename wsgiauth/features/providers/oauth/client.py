"""The requests of a login at a provider without OpenID Connect, in their order.

No token is signed here: the access token comes from the provider itself, over TLS, for a code that
PKCE and `state` bind to this browser, and only asks the provider's own API who the user is.
"""

from collections.abc import Callable, Mapping

from wsgiauth.features.providers.oauth.api import Api, ApiError
from wsgiauth.features.providers.oauth.discord import Discord
from wsgiauth.features.providers.oauth.github import GitHub
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.code_flow import CodeFlow, with_query
from wsgiauth.features.providers.oidc.documents import Document, parse_json
from wsgiauth.features.providers.oidc.errands import CONFIRM, BegunErrand
from wsgiauth.features.providers.oidc.failures import ProviderError
from wsgiauth.features.providers.oidc.profiles import make_account
from wsgiauth.features.providers.oidc.transport import Request
from wsgiauth.settings.oidc import ProviderEntry, Proxy

APIS: Mapping[str, type[Api]] = {"github": GitHub, "discord": Discord}


class OAuthClient(CodeFlow):
    """This site as a client of one provider without OpenID Connect."""

    def __init__(
        self,
        entry: ProviderEntry,
        clock: Callable[[], float],
        timeout: float,
        proxy: Proxy | None = None,
    ) -> None:
        super().__init__(entry, clock, timeout, proxy)
        self._api = APIS[entry.kind](entry.issuer)

    def login_url(self, begun: BegunErrand, redirect_uri: str) -> str:
        """Return the URL at the provider to which a browser goes."""
        return with_query(self._api.authorization_endpoint, self._asked(begun, redirect_uri))

    def account(
        self,
        query: Mapping[str, str],
        begun: BegunErrand,
        redirect_uri: str,
        is_known: Callable[[str], bool],
    ) -> ProviderAccount:
        """Return the account with which a browser comes back; see `Provider.finish`."""
        asked_at = int(self._now())
        code = self._code_of(query, self._api.issuer, names_issuer=False)
        if begun.errand.purpose == CONFIRM:  # begun before the entry became one of this kind
            raise self._failures.not_confirmed()
        access_token = self._redeem(code, begun.verifier, redirect_uri)
        claims, is_partial = self._claims(access_token, is_known)
        return make_account(self._entry, claims, asked_at)._replace(is_partial=is_partial)

    def check(self) -> None:
        """Send a code that was never issued: the provider refuses it only for a known client."""
        try:
            self._redeem("check", "of-the-client-by-a-code-that-was-never-issued", "")
        except ProviderError as error:
            # Discord can notice first that there is no redirect URI.
            if error.reason not in ("token: code refused", "token: invalid_request"):
                raise

    def _redeem(self, code: str, verifier: str, redirect_uri: str) -> str:
        """Return the access token for a code."""
        entry = self._entry
        form = {
            "client_id": entry.client_id,
            "client_secret": entry.client_secret,
            "code": code,
            "code_verifier": verifier,
        }
        form |= {"redirect_uri": redirect_uri} if redirect_uri else {}
        return self._exchange(self._api.token_endpoint, form, {})[0]

    def _claims(self, access_token: str, is_known: Callable[[str], bool]) -> tuple[Document, bool]:
        """Return what the API says about the user, and whether the address is missing."""
        try:
            claims = self._api.profile(lambda what, url: self._ask(what, url, access_token))
        except ApiError as error:
            raise self._failures.wrong(str(error)) from None
        try:
            return claims | self._address(access_token), False
        except ProviderError as error:
            if not is_known(str(claims["sub"])):
                raise
            self._go_on_without(error)
        return claims, True

    def _address(self, access_token: str) -> Document:
        try:
            return self._api.address(
                lambda what, url: self._ask(what, url, access_token, is_optional=True)
            )
        except ApiError as error:
            raise self._failures.wrong(str(error)) from None

    def _ask(self, what: str, url: str, access_token: str, *, is_optional: bool = False) -> object:
        """Return the JSON value at a URL of the API."""
        headers = {**self._api.headers, "Authorization": f"Bearer {access_token}"}
        response = self._transport.send(Request(what, url, headers, is_optional=is_optional))
        self._check_status(what, response)
        value = parse_json(response.body)
        if value is None:
            raise self._failures.wrong(f"{what}: JSON")
        return value
