"""Tokens of the provider that are presented to it: whose they are, and whether they are valid."""

from collections.abc import Mapping
from typing import Any

from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Grant
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.site import Site


def access_claims(token: str, site: Site) -> Mapping[str, Any] | None:
    """Return the claims of an access token that has not expired, or None.

    Its grant may have ended since; see `grants.find`.
    """
    claims = site.require(SignedTokens).verify(token, site.tokens.now())
    return claims if claims is not None and "grant" in claims else None


def grant_of(token: str, site: Site) -> Grant | None:
    """Return the valid grant of an access token or a refresh token, or None."""
    claims = access_claims(token, site)
    if claims is not None:
        return grants.find(claims["grant"], site.tokens.now())
    named = site.require(OAuthServer).refresh_tokens.verify(token)
    if named is None:
        return None
    grant = grants.find(named[0], site.tokens.now())
    return grant if grant is not None and grant.generation == named[1] else None
