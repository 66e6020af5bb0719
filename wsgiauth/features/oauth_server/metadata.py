"""The documents in which clients find the provider (OpenID Connect Discovery 1.0, RFC 8414)."""

from collections.abc import Mapping

from wsgiauth.authentication.methods import MULTI_FACTOR
from wsgiauth.authentication.scopes import STANDARD
from wsgiauth.endpoints.register import is_open
from wsgiauth.feature import WellKnown
from wsgiauth.features.oauth_server.authorization import CREATE, MODES, PROMPTS
from wsgiauth.features.oauth_server.endpoints.oauth_token import GRANT_TYPES
from wsgiauth.features.oauth_server.issuing import SINGLE_FACTOR
from wsgiauth.features.oauth_server.protected_resources import protected_resources
from wsgiauth.features.oauth_server.server import OAuthServer, base_url, userinfo_url
from wsgiauth.features.services.jwks import introspection_methods
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.site import Site
from wsgiauth.web.responses import PUBLIC_FOR_AN_HOUR, json_response

OPENID_CONFIGURATION = "/.well-known/openid-configuration"
AUTHORIZATION_SERVER = "/.well-known/oauth-authorization-server"

_SECRETS = ("client_secret_basic", "client_secret_post")
_AUTHENTICATION = [*_SECRETS, "none"]
_CLAIMS = "sub iss aud exp iat auth_time acr amr nonce at_hash sid preferred_username name locale"
_CLAIMS += " email email_verified groups"


def well_known_urls(site: Site) -> Mapping[str, WellKnown]:
    """Return what answers with the metadata, which are the same at two URLs."""
    if site.part(OAuthServer) is None:
        return {}
    document = WellKnown.document(json_response(_document(site), cache=PUBLIC_FOR_AN_HOUR))
    own = dict.fromkeys((OPENID_CONFIGURATION, AUTHORIZATION_SERVER), document)
    return {**own, **protected_resources(site)}


def _ways_to_ask(site: Site) -> list[str]:
    """Return how /auth/introspect is asked: by the secret of a client, or by an API key."""
    return [*dict.fromkeys((*_SECRETS, *introspection_methods(site.settings)))]


def _document(site: Site) -> dict[str, object]:
    base = base_url(site)
    registers = site.settings.OAUTH_REGISTRATION
    prompts = [each for each in PROMPTS if each != CREATE or is_open(site.settings)]
    return {
        **({"registration_endpoint": f"{base}/oauth/register"} if registers else {}),
        **({"client_id_metadata_document_supported": True} if registers else {}),
        "issuer": site.require(OAuthServer).issuer,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/oauth/token",
        "userinfo_endpoint": userinfo_url(site),
        "jwks_uri": f"{base}/jwks.json",
        "revocation_endpoint": f"{base}/oauth/revoke",
        "pushed_authorization_request_endpoint": f"{base}/oauth/par",
        "device_authorization_endpoint": f"{base}/oauth/device",
        "end_session_endpoint": f"{base}/oauth/logout",
        "introspection_endpoint": f"{base}/introspect",
        "scopes_supported": list(STANDARD),
        "response_types_supported": ["code"],
        "response_modes_supported": list(MODES),
        "grant_types_supported": list(GRANT_TYPES),
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": list(site.require(SignedTokens).algorithms),
        "token_endpoint_auth_methods_supported": _AUTHENTICATION,
        "revocation_endpoint_auth_methods_supported": _AUTHENTICATION,
        "introspection_endpoint_auth_methods_supported": _ways_to_ask(site),
        "code_challenge_methods_supported": ["S256"],
        "prompt_values_supported": prompts,
        "acr_values_supported": [SINGLE_FACTOR, MULTI_FACTOR],
        "backchannel_logout_supported": True,
        "backchannel_logout_session_supported": True,
        "claims_supported": _CLAIMS.split(),
        "claims_parameter_supported": False,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,
        "authorization_response_iss_parameter_supported": True,
    }
