"""What other services learn about a token of the provider: see `authentication.descriptions`."""

from collections.abc import Mapping
from typing import Any

from wsgiauth.authentication.descriptions import (
    DescribedClaims,
    DescribedStrings,
    Description,
    Reader,
    described,
    described_alone,
)
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.presented import GRANT, GRANT_TYPE
from wsgiauth.features.oauth_server.refresh_tokens import PREFIX
from wsgiauth.features.oauth_server.scopes import offered
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Grant
from wsgiauth.settings import Settings
from wsgiauth.web.uris import find_equal

REFRESH_TOKEN = "refresh_token"  # noqa: S105 - a type


class DescribedGrants(DescribedStrings, DescribedClaims):
    """Describes the access tokens and the refresh tokens of valid grants."""

    prefix = PREFIX
    claim = GRANT

    def __init__(self, settings: Settings, server: OAuthServer) -> None:
        self._settings = settings
        self._server = server

    def describe(self, text: str, now: int, reader: Reader) -> Description | None:
        """Return the description of the current refresh token of a grant, or None.

        Its audience is this site, so that no service takes it for an access token.
        """
        grant_id, generation = self._server.refresh_tokens.verify(text) or ("", 0)
        grant = self._server.grants.find(grant_id, now)
        if grant is None or grant.generation != generation:
            return None
        issuer = self._settings.PUBLIC_URL
        times = {"iat": grant.refreshed_at, "exp": grant.expires_at}
        claims = {"iss": issuer, "aud": issuer, "client_id": grant.client.client_id, **times}
        kind = {"token_type": REFRESH_TOKEN}
        if not reader.can_ask_about({**claims, **kind}):
            return None
        return self._described(grant, grant.scopes, claims) | kind

    def describe_claims(self, claims: Mapping[str, Any], now: int) -> Description | None:
        """Return the description of an access token, or None."""
        grant = self._server.grants.find(str(claims[GRANT]), now)
        if grant is None or now >= claims["exp"]:
            return None
        return self._described(grant, claims["scope"], claims)

    def _described(self, grant: Grant, scope: str, claims: Mapping[str, object]) -> Description:
        scopes = offered(
            grant.client, scope.split(), grant.user, self._settings, resource=grant.resource
        )
        return described(grant.user, scopes, claims)


class DescribedClients(DescribedClaims):
    """Describes the access tokens of clients that log in as themselves."""

    claim = GRANT_TYPE

    def __init__(self, settings: Settings) -> None:
        self._services = frozenset(settings.SERVICES)

    def describe_claims(self, claims: Mapping[str, Any], now: int) -> Description | None:
        """Return the description of an access token.

        Return None if its client has lost the scope, or if its service has left SERVICES.
        """
        client = clients.find(claims["client_id"], now)
        if client is None or not client.is_service or now >= claims["exp"]:
            return None
        if not find_equal(claims["aud"], self._services):
            return None
        scopes = set(claims["scope"].split()) & set(client.scopes.split())
        return described_alone(scopes, claims) if scopes else None
