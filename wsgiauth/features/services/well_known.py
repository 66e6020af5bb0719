"""The metadata of the authorization server (RFC 8414), which services read."""

from collections.abc import Mapping

from wsgiauth.feature import WellKnown
from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.site import Site
from wsgiauth.web.responses import PUBLIC_FOR_AN_HOUR, json_response

METADATA = "/.well-known/oauth-authorization-server"  # RFC 8414 section 3


def well_known_urls(site: Site) -> Mapping[str, WellKnown]:
    """Return what answers with the metadata, if the site has services."""
    if site.part(ServiceTokens) is None:
        return {}
    metadata = json_response(_metadata(site), cache=PUBLIC_FOR_AN_HOUR)
    return {METADATA: lambda _: metadata}


def _metadata(site: Site) -> dict[str, object]:
    """Return what a service has to know of this site (RFC 8414 section 2)."""
    issuer = site.settings.PUBLIC_URL or ""
    base = issuer.rstrip("/") + site.pages.mount
    return {
        "issuer": issuer,
        "jwks_uri": f"{base}/jwks.json",
        "token_endpoint": f"{base}/token",
        "introspection_endpoint": f"{base}/introspect",
        # There is no authorization endpoint. Without this, two grant types would be implied.
        "response_types_supported": [],
        "grant_types_supported": [],
    }
