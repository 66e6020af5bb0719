"""GET /auth/jwks.json: the public keys (RFC 7517); and the metadata (RFC 8414) that leads to them.

Services read both, to verify their tokens.
"""

from collections.abc import Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.feature import WellKnown
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.cors import ALL_ORIGINS
from wsgiauth.web.responses import PUBLIC_FOR_AN_HOUR, Response, json_response

METADATA = "/.well-known/oauth-authorization-server"  # RFC 8414 section 3


class PublishedKeys(Endpoint):
    """Publishes the keys of SERVICE_KEYS."""

    cross_origin = ALL_ORIGINS

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return no failures."""
        return ()

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are keys."""
        return settings.SERVICE_KEYS is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer anyone with the public keys."""
        return json_response(site.require(SignedTokens).key_set, cache=PUBLIC_FOR_AN_HOUR)


def introspection_methods(settings: Settings) -> list[str]:
    """Return how a service sends its API key: as a bearer token, or as a password."""
    return ["Bearer", *(["client_secret_basic"] if settings.BASIC_AUTH == "keys" else [])]


def well_known_urls(site: Site) -> Mapping[str, WellKnown]:
    """Return what answers with the metadata, if the site has services."""
    if site.part(SignedTokens) is None:
        return {}
    issuer = site.settings.PUBLIC_URL or ""
    base = issuer.rstrip("/") + site.pages.mount
    document = {  # RFC 8414 section 2
        "issuer": issuer,
        "jwks_uri": f"{base}/jwks.json",
        "token_endpoint": f"{base}/token",
        "introspection_endpoint": f"{base}/introspect",
        "introspection_endpoint_auth_methods_supported": introspection_methods(site.settings),
        # There is no authorization endpoint. Without this, two grant types would be implied.
        "response_types_supported": [],
        "grant_types_supported": [],
    }
    return {METADATA: WellKnown.document(json_response(document, cache=PUBLIC_FOR_AN_HOUR))}
