"""The documents with which a service below PUBLIC_URL says where its tokens come from (RFC 9728).

An MCP client reads it to find this site.
"""

from collections.abc import Iterator, Mapping

from wsgiauth.feature import WellKnown
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.settings.service_entries import scopes_of
from wsgiauth.site import Site
from wsgiauth.web.responses import PUBLIC_FOR_AN_HOUR, json_response
from wsgiauth.web.uris import canonical

PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource"


def protected_resources(site: Site) -> Mapping[str, WellKnown]:
    """Return what answers for the services of SERVICES, by the path below the site."""
    return dict(_documents(site.require(OAuthServer)))


def _documents(server: OAuthServer) -> Iterator[tuple[str, WellKnown]]:
    root = server.issuer.rstrip("/")
    for service in sorted(server.services):
        url = canonical(service)
        if f"{url}/".startswith(f"{root}/"):
            path = url.removeprefix(root).rstrip("/")
            scopes = scopes_of(service)
            document = {
                "resource": service,
                "authorization_servers": [server.issuer],
                "bearer_methods_supported": ["header"],
                **({"scopes_supported": scopes} if scopes else {}),
            }
            response = json_response(document, cache=PUBLIC_FOR_AN_HOUR)
            yield f"{PROTECTED_RESOURCE}{path}", WellKnown.document(response)
