"""POST /auth/oauth/device: a device asks for the codes with which a person allows it (RFC 8628)."""

from collections.abc import Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.features.oauth_server import devices, limits
from wsgiauth.features.oauth_server.endpoints.program_endpoint import ProgramEndpoint
from wsgiauth.features.oauth_server.oauth_errors import (
    CLIENT_THROTTLED,
    UNAUTHORIZED_CLIENT,
    OAuthError,
    resource_problem,
)
from wsgiauth.features.oauth_server.scopes import MAX_SCOPE
from wsgiauth.features.oauth_server.server import OAuthServer, base_url
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.site import Site
from wsgiauth.web.clients import Client as Sender
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.uris import find_equal


class OAuthDevice(ProgramEndpoint):
    """Hands out the codes. The page at /auth/device says which client asked, and from where."""

    failures = (CLIENT_THROTTLED,)

    def respond(
        self, client: Client, fields: Mapping[str, str], environ: WSGIEnvironment, site: Site
    ) -> Response:
        """Answer with both codes (section 3.2)."""
        if client.expires_at is not None:  # anyone can register the name of a device to deceive
            raise OAuthError(UNAUTHORIZED_CLIENT, "an app that registered itself is no device")
        if client.is_service:
            raise OAuthError(UNAUTHORIZED_CLIENT, "no user logs in to this client")
        scopes = fields.get("scope", "")
        if not set(scopes.split()) <= set(client.scopes.split()) or len(scopes) > MAX_SCOPE:
            raise OAuthError("invalid_scope", "the client has not all of these scopes")
        services = site.require(OAuthServer).services
        resource = find_equal(fields.get("resource", ""), services)
        if "resource" in fields and not resource:
            raise OAuthError("invalid_target", resource_problem(services))
        limits.device(site, site.clients.networks(environ)).begin()
        made = devices.begin(client, scopes, resource, Sender.of(environ), site.tokens.now())
        page = f"{base_url(site)}/device"
        return json_response(
            {
                "device_code": made.device_code,
                "user_code": made.user_code,
                "verification_uri": page,
                "verification_uri_complete": f"{page}?user_code={made.user_code}",
                "expires_in": devices.LIFETIME,
                "interval": devices.INTERVAL,
            }
        )
