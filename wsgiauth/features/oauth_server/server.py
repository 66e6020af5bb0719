"""The part of a site that is an OpenID provider."""

from urllib.parse import quote

from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.oauth_server.authorization import (
    OwnParameters,
    login_hint,
    registered_uri,
)
from wsgiauth.features.oauth_server.grants import Grants
from wsgiauth.features.oauth_server.redirect_uris import origin_of
from wsgiauth.features.oauth_server.refresh_tokens import GrantTokens
from wsgiauth.features.oauth_server.stored_requests import UnknownRequestError, expanded
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import OnwardRedirects

ACCESS_MINUTES = 5  # the longest that an access token lasts


class OAuthServer(OnwardRedirects):
    """What the endpoints of the provider use, made from the settings.

    Attributes:
        issuer: PUBLIC_URL.
        services: The values of `resource` that an app can ask for (RFC 8707).
        lifetime: Of an access token, in seconds.
    """

    def __init__(self, settings: Settings, tokens: Tokens, sessions: Sessions) -> None:
        from wsgiauth.features.oauth_server.codes import Codes  # imports cryptography

        self._tokens = tokens
        self.issuer: str = settings.PUBLIC_URL or ""
        self.services: frozenset[str] = frozenset(settings.SERVICES)
        self.lifetime: int = min(settings.SERVICE_TOKEN_MINUTES, ACCESS_MINUTES) * MINUTE
        self.codes: Codes = Codes(settings)
        self.own_parameters: OwnParameters = OwnParameters(settings)
        self.refresh_tokens: GrantTokens = GrantTokens(settings)
        self.grants: Grants = Grants(settings, sessions)

    def source_after(self, destination: str, mount: str) -> str:
        """Return the origin of the app to which a login with this `next` leads."""
        now = self._tokens.now()
        uri = registered_uri(_request_in(destination, mount, now), now)
        return origin_of(uri) if uri else ""

    def name_for(self, destination: str, mount: str) -> str:
        """Return the `login_hint` of a request to which a login with this `next` leads."""
        now = self._tokens.now()
        return login_hint(_request_in(destination, mount, now), now)


def _request_in(destination: str, mount: str, now: float) -> str:
    """Return the parameters of the authorization request that a `next` leads to, or ""."""
    path, _, query = destination.partition("#")[0].partition("?")
    if path not in (f"{mount}/authorize", f"{mount}/consent"):
        return ""
    try:
        return expanded(query, now)[0]
    except UnknownRequestError:
        return ""


def base_url(site: Site) -> str:
    """Return the URL of /auth. Only PUBLIC_URL is trusted for its host."""
    return site.require(OAuthServer).issuer.rstrip("/") + quote(site.pages.mount)


def userinfo_url(site: Site) -> str:
    """Return the URL of /auth/userinfo, which is also the audience of tokens for it."""
    return f"{base_url(site)}/userinfo"
