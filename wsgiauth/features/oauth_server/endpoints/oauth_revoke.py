"""POST /auth/oauth/revoke: an app ends what one of its tokens belongs to (RFC 7009)."""

from collections.abc import Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.endpoints.program_endpoint import ProgramEndpoint
from wsgiauth.features.oauth_server.oauth_errors import INVALID_REQUEST, OAuthError
from wsgiauth.features.oauth_server.origins import OF_APPS
from wsgiauth.features.oauth_server.presented import grant_id_of, is_of_client_alone
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, json_response


class OAuthRevoke(ProgramEndpoint):
    """Ends the grant of a token, with its refresh token. An access token lasts some minutes."""

    cross_origin = OF_APPS

    def respond(
        self, client: Client, fields: Mapping[str, str], environ: WSGIEnvironment, site: Site
    ) -> Response:
        """Answer 200, also for a token that is not valid or of another app (section 2.2).

        A token of client credentials is stored nowhere, so it cannot end before it expires.
        """
        if "token" not in fields:
            raise OAuthError(INVALID_REQUEST, "send the token")
        if is_of_client_alone(fields["token"], client, site):
            description = "the token lasts until it expires, or until its client is removed"
            raise OAuthError("unsupported_token_type", description)
        grant_id = grant_id_of(fields["token"], site)
        if grant_id is not None:
            grants.end(grant_id, client)
        return json_response({})  # some libraries refuse another type, also of an empty body
