"""Tokens of the provider that are presented to it, and whose they are."""

from collections.abc import Mapping
from typing import Any

from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.site import Site

GRANT = "grant"  # the claim of access tokens with the id of their grant
# The claim of access tokens that have none, because no user has allowed them.
GRANT_TYPE, CLIENT_CREDENTIALS = "grant_type", "client_credentials"


def access_claims(token: str, site: Site) -> Mapping[str, Any] | None:
    """Return the claims of an access token that has not expired, or None.

    Its grant may have ended since; see `grants.Grants`.
    """
    claims = site.require(SignedTokens).verify(token, site.tokens.now())
    return claims if claims is not None and GRANT in claims else None


def grant_id_of(token: str, site: Site) -> str | None:
    """Return the id of the grant of an access token or of any of its refresh tokens, or None."""
    claims = access_claims(token, site)
    if claims is not None:
        return str(claims[GRANT])
    named = site.require(OAuthServer).refresh_tokens.verify(token)
    return None if named is None else named[0]


def is_of_client_alone(token: str, client: Client, site: Site) -> bool:
    """Return whether a token is one of client credentials that this client can still use."""
    claims = site.require(SignedTokens).verify(token, site.tokens.now()) or {}
    return GRANT_TYPE in claims and claims["client_id"] == client.id
