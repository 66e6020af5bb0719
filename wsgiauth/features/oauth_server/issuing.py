"""The tokens that an app gets: access tokens (RFC 9068) and ID tokens (OpenID Connect Core 1.0)."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping
from types import MappingProxyType

from wsgiauth.accounts.models import User, is_proven
from wsgiauth.authentication.id_claims import OAuthClient
from wsgiauth.authentication.methods import MULTI_FACTOR, USER_VERIFIED, has_second_factor
from wsgiauth.authentication.scopes import EMAIL, GROUPS, OPENID, PROFILE
from wsgiauth.features.oauth_server.presented import CLIENT_CREDENTIALS, GRANT, GRANT_TYPE
from wsgiauth.features.oauth_server.server import OAuthServer, userinfo_url
from wsgiauth.features.oauth_server.tables import Client, Grant
from wsgiauth.features.services.signed_tokens import ID_TOKEN, SignedTokens
from wsgiauth.settings import Settings
from wsgiauth.site import Site

# OpenID Provider Authentication Policy Extension 1.0, section 5.1: none of its policies.
SINGLE_FACTOR = "http://schemas.openid.net/pape/policies/2007/06/none"


def tokens_of(
    grant: Grant,
    user: User,
    client: Client,
    scopes: Collection[str],
    site: Site,
    nonce: str = "",
    further: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, object]:
    """Return the response of the token endpoint (RFC 6749 section 5.1).

    Args:
        scopes: What the app gets now, from the scopes of its grant.
        nonce: Of the request, for the first ID token.
        further: The claims of the application for the ID token: see `further_claims`.
    """
    server = site.require(OAuthServer)
    now = int(site.tokens.now())
    claims = {"sub": str(user.id), GRANT: grant.id, **_proof(grant)}
    audience = grant.resource or userinfo_url(site)
    access_token = _access_token(claims, audience, client, scopes, site, now)
    response: dict[str, object] = {
        "access_token": access_token,
        "token_type": "Bearer",
        "expires_in": server.lifetime,
        "refresh_token": server.refresh_tokens.issue(grant.id, grant.generation),
        "scope": " ".join(scopes),
    }
    if OPENID in scopes:
        claims = {**claims_of(user, scopes, site.settings), **further}
        response["id_token"] = _id_token(
            grant, claims, client, site, now, access_token=access_token, nonce=nonce
        )
    return response


def token_of_client(
    client: Client, scopes: Collection[str], resource: str, site: Site
) -> dict[str, object]:
    """Return the response for a client that logs in as itself (RFC 6749 section 4.4.3).

    Its `sub` can never be the number of a user (RFC 9068 section 5).
    """
    claims = {"sub": f"client:{client.id}", GRANT_TYPE: CLIENT_CREDENTIALS}
    now = int(site.tokens.now())
    return {
        "access_token": _access_token(claims, resource, client, scopes, site, now),
        "token_type": "Bearer",
        "expires_in": site.require(OAuthServer).lifetime,
        "scope": " ".join(scopes),
    }


def claims_of(user: User, scopes: Collection[str], settings: Settings) -> dict[str, object]:
    """Return the claims about a user that the scopes open (section 5.4)."""
    claims: dict[str, object] = {"sub": str(user.id)}
    if PROFILE in scopes:
        claims["preferred_username"] = user.username
        if settings.USERNAMES:  # otherwise, apps would greet people by it
            claims["name"] = user.username
        if user.language:
            claims["locale"] = user.language
    if EMAIL in scopes:
        claims |= {"email": user.email, "email_verified": is_proven(user, settings)}
    if GROUPS in scopes:
        claims["groups"] = sorted(each.name for each in user.groups)
    return claims


def further_claims(
    user: User, client: Client, scopes: Collection[str], site: Site
) -> dict[str, object]:
    """Return the claims that the application adds, for an app that learns who the user is.

    Raises:
        ApplicationError: Its function failed.
    """
    if OPENID not in scopes:
        return {}
    app = OAuthClient(client.client_id, client.name)
    return site.id_claims.of(user, app, frozenset(scopes))


def acr_of(methods: str) -> str:
    """Return the `acr` for the methods of a login, separated by spaces."""
    is_strong = has_second_factor(methods) or USER_VERIFIED in methods.split()
    return MULTI_FACTOR if is_strong else SINGLE_FACTOR


def _access_token(
    claims: Mapping[str, object],
    audience: str,
    client: Client,
    scopes: Collection[str],
    site: Site,
    now: int,
) -> str:
    """Return a token with the claims of RFC 9068 section 2.2, and others."""
    return site.require(SignedTokens).sign(
        {
            **claims,
            "aud": audience,
            "exp": now + site.require(OAuthServer).lifetime,
            "iat": now,
            "jti": secrets.token_urlsafe(16),
            "client_id": client.client_id,
            "scope": " ".join(scopes),
        }
    )


def _id_token(
    grant: Grant,
    claims: Mapping[str, object],
    client: Client,
    site: Site,
    now: int,
    *,
    access_token: str,
    nonce: str,
) -> str:
    signed = site.require(SignedTokens)
    algorithm = client.algorithm if client.algorithm in signed.algorithms else signed.default
    return signed.sign(
        {
            **claims,
            "aud": client.client_id,
            "exp": now + site.require(OAuthServer).lifetime,
            "iat": now,
            **_proof(grant),
            "sid": grant.sid,
            "at_hash": _half_digest(access_token, algorithm),
            **({"nonce": nonce} if nonce else {}),
        },
        kind=ID_TOKEN,
        algorithm=algorithm,
    )


def _proof(grant: Grant) -> dict[str, object]:
    return {
        "auth_time": grant.authenticated_at,
        "amr": grant.methods.split(),
        "acr": acr_of(grant.methods),
    }


def _half_digest(access_token: str, algorithm: str) -> str:
    """Return the `at_hash` (section 3.1.3.6), by the hash function of the signature."""
    function = hashlib.sha512 if algorithm == "EdDSA" else hashlib.sha256
    digest = function(access_token.encode()).digest()
    return urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()
