"""POST /auth/oauth/token: an app gets tokens for a code or its credentials (RFC 6749)."""

import hashlib
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.authentication.scopes import OPENID
from wsgiauth.features.oauth_server import devices, grants
from wsgiauth.features.oauth_server.client_uses import note_use
from wsgiauth.features.oauth_server.codes import LIFETIME
from wsgiauth.features.oauth_server.endpoints.program_endpoint import ProgramEndpoint
from wsgiauth.features.oauth_server.grants import Code
from wsgiauth.features.oauth_server.issuing import (
    further_claims,
    token_of_client,
    tokens_of,
)
from wsgiauth.features.oauth_server.oauth_errors import (
    INVALID_GRANT,
    INVALID_REQUEST,
    UNAUTHORIZED_CLIENT,
    OAuthError,
    resource_problem,
)
from wsgiauth.features.oauth_server.origins import OF_APPS
from wsgiauth.features.oauth_server.presented import CLIENT_CREDENTIALS
from wsgiauth.features.oauth_server.scopes import asked_in, granted_in, offered
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.uris import canonical, find_equal

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")  # RFC 7636 section 4.1

_Fields = Mapping[str, str]


class OAuthToken(ProgramEndpoint):
    """Issues tokens to apps."""

    cross_origin = OF_APPS

    def respond(
        self, client: Client, fields: _Fields, environ: WSGIEnvironment, site: Site
    ) -> Response:
        """Answer with tokens, by the type of the grant."""
        kind = fields.get("grant_type", "")
        if kind not in GRANT_TYPES:
            error = "unsupported_grant_type" if kind else INVALID_REQUEST
            raise OAuthError(error, f"grant_type must be one of {', '.join(GRANT_TYPES)}")
        if client.is_service != (kind == CLIENT_CREDENTIALS):
            can = "can only" if client.is_service else "cannot"
            description = f"this client {can} use the grant_type {CLIENT_CREDENTIALS}"
            raise OAuthError(UNAUTHORIZED_CLIENT, description)
        return json_response(GRANT_TYPES[kind](client, fields, site))


def _by_code(client: Client, fields: _Fields, site: Site) -> dict[str, object]:
    server, now = site.require(OAuthServer), site.tokens.now()
    if "code" not in fields:
        raise OAuthError(INVALID_REQUEST, "send the code")
    code = server.codes.read(fields["code"], now)
    if code is None or code.client_id != client.id:
        description = f"the code is wrong, of another client, or older than {LIFETIME} seconds"
        raise _invalid_grant(description)
    if not secrets.compare_digest(
        fields.get("redirect_uri", "").encode(), code.redirect_uri.encode()
    ):
        raise _invalid_grant("redirect_uri is not the one of the authorization request")
    if not _is_bound(code, client, fields.get("code_verifier", "")):
        raise _invalid_grant("code_verifier does not match the code_challenge (PKCE)")
    _require_resource(fields, code.resource)
    return _redeemed(code, client, site)


def _by_refresh_token(client: Client, fields: _Fields, site: Site) -> dict[str, object]:
    server, now = site.require(OAuthServer), site.tokens.now()
    if "refresh_token" not in fields:
        raise OAuthError(INVALID_REQUEST, "send the refresh_token")
    named = server.refresh_tokens.verify(fields["refresh_token"])
    grant = None if named is None else server.grants.find(named[0], now)
    if named is None or grant is None or grant.client_id != client.id:
        raise _invalid_grant("the refresh token is wrong, or has ended")
    _require_resource(fields, grant.resource)
    granted = granted_in(grant.scopes)
    asked = fields["scope"].split() if "scope" in fields else granted
    chosen = [each for each in asked if each in granted]
    if not (chosen and set(asked) <= set(asked_in(grant.scopes))):
        raise OAuthError("invalid_scope", "the scope has more than was asked for, or nothing of it")
    scopes = offered(client, chosen, grant.user, site.settings, resource=grant.resource)
    further = further_claims(grant.user, grant.client, scopes, site)  # before anything changes
    if not grants.refresh(grant, named[1], site.settings, now):
        raise _invalid_grant("the refresh token was used before, or has ended")
    return tokens_of(grant, grant.user, grant.client, scopes, site, further=further)


def _by_device_code(client: Client, fields: _Fields, site: Site) -> dict[str, object]:
    now = site.tokens.now()
    if "device_code" not in fields:
        raise OAuthError(INVALID_REQUEST, "send the device_code")
    question = devices.ask(fields["device_code"], client, now)
    if question is None:
        raise _invalid_grant("the device code is wrong")
    row = question.row
    if row.expires_at <= int(now):
        raise OAuthError("expired_token", "the device code has expired")
    if row.is_refused:
        raise OAuthError("access_denied", "the user has refused")
    code = devices.code_of(row)
    if code is None:
        if question.is_too_early:
            raise OAuthError("slow_down", f"the interval stays {devices.INTERVAL} seconds")
        raise OAuthError("authorization_pending", f"ask again in {devices.INTERVAL} seconds")
    return _redeemed(code, client, site)


def _by_client_credentials(client: Client, fields: _Fields, site: Site) -> dict[str, object]:
    services = site.require(OAuthServer).services
    (only,) = services if len(services) == 1 else ("",)
    resource = find_equal(fields.get("resource", only), services)
    if not resource:
        is_missing = services and "resource" not in fields
        problem = "send the service as resource" if is_missing else resource_problem(services)
        raise OAuthError("invalid_target", problem)
    granted = client.scopes.split()
    asked = list(dict.fromkeys(fields.get("scope", "").split())) or granted
    if not set(asked) <= set(granted):
        raise OAuthError("invalid_scope", "the client has not all of these scopes")
    note_use(client, site.tokens.now())
    return token_of_client(client, asked, resource, site)


GRANT_TYPES: Mapping[str, Callable[[Client, _Fields, Site], dict[str, object]]] = {
    "authorization_code": _by_code,
    "refresh_token": _by_refresh_token,
    CLIENT_CREDENTIALS: _by_client_credentials,
    "urn:ietf:params:oauth:grant-type:device_code": _by_device_code,  # RFC 8628 section 3.4
}


def _redeemed(code: Code, client: Client, site: Site) -> dict[str, object]:
    """Return the tokens for a code that the client can use."""
    further = _further_claims(code, client, site)  # before the code is used
    grant = site.require(OAuthServer).grants.redeem(code, client, site.tokens.now())
    if grant is None:
        raise _invalid_grant("the code was used, or what it granted has ended")
    user, granted = grant.user, granted_in(grant.scopes)
    scopes = offered(grant.client, granted, user, site.settings, resource=grant.resource)
    return tokens_of(grant, user, grant.client, scopes, site, code.nonce, further)


def _further_claims(code: Code, client: Client, site: Site) -> dict[str, object]:
    """Return the claims that the application adds to the first ID token."""
    if site.id_claims.function is None:
        return {}
    user = User.find_by_id(code.user_id)
    if user is None or not user.is_active or user.security_stamp != code.stamp:  # cannot be used
        return {}
    granted = granted_in(code.scope)
    scopes = offered(client, granted, user, site.settings, resource=code.resource)
    return further_claims(user, client, scopes, site)


def _is_bound(code: Code, client: Client, verifier: str) -> bool:
    """Return whether a code is of the login that the program has begun.

    Without a challenge, the nonce in the ID token binds it. A verifier then shows that someone has
    removed the challenge from the request (RFC 9700 section 2.1.1).
    """
    if code.challenge:
        return _VERIFIER.fullmatch(verifier) is not None and _answers(verifier, code.challenge)
    has_nonce = client.is_without_pkce and OPENID in granted_in(code.scope)
    return bool(has_nonce) and not verifier


def _answers(verifier: str, challenge: str) -> bool:
    digest = hashlib.sha256(verifier.encode()).digest()
    computed = urlsafe_b64encode(digest).rstrip(b"=").decode()
    return secrets.compare_digest(computed, challenge)


def _require_resource(fields: _Fields, granted: str) -> None:
    """Refuse a `resource` that is not the one of the grant (RFC 8707 section 2.2)."""
    if canonical(fields.get("resource", granted)) != canonical(granted):
        raise OAuthError("invalid_target", "the grant is not for this resource")


def _invalid_grant(description: str) -> OAuthError:
    return OAuthError(INVALID_GRANT, description)
