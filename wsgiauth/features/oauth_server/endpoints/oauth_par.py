"""POST /auth/oauth/par: a client sends its authorization request in advance (RFC 9126)."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import RequestError
from wsgiauth.features.oauth_server import clients, stored_requests
from wsgiauth.features.oauth_server.authorization import (
    MEANT,
    AuthorizationError,
    AuthorizationRequest,
    is_too_long,
    read_request,
)
from wsgiauth.features.oauth_server.endpoints.authorize import scopes_asked_for
from wsgiauth.features.oauth_server.endpoints.program_endpoint import (
    ProgramEndpoint,
    invalid_client,
)
from wsgiauth.features.oauth_server.hints import MAX_FORM
from wsgiauth.features.oauth_server.oauth_errors import (
    INVALID_REQUEST,
    UNAUTHORIZED_CLIENT,
    OAuthError,
)
from wsgiauth.features.oauth_server.request_reading import with_meant
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, json_response

_CREDENTIALS = ("client_id", "client_secret")


class OAuthPar(ProgramEndpoint):
    """Stores the request of a client that has a secret. It is checked as by /auth/authorize."""

    max_body = MAX_FORM

    def respond(
        self, client: Client, fields: Mapping[str, str], environ: WSGIEnvironment, site: Site
    ) -> Response:
        """Answer 201 with the `request_uri` (section 2.2)."""
        if client.is_public:
            raise invalid_client("a client without a secret cannot push requests")
        if client.is_service:
            raise OAuthError(UNAUTHORIZED_CLIENT, "no user logs in to this client")
        if "request_uri" in fields:  # section 2.1
            raise OAuthError(INVALID_REQUEST, "request_uri must not be pushed")
        sent = {name: each for name, each in fields.items() if name not in _CREDENTIALS}
        request = _read(urlencode({"client_id": client.client_id, **sent}), site)
        # The browser brings none of our parameters, so the row has the user of `id_token_hint`.
        own = site.require(OAuthServer).own_parameters
        query = own.added_to(request.query, {MEANT: request.meant})
        request_uri = stored_requests.new_uri()
        stored_requests.keep_pushed(request_uri, query, client.id, site.tokens.now())
        document = {"request_uri": request_uri, "expires_in": stored_requests.LIFETIME}
        return json_response(document, status=HTTPStatus.CREATED)


def _read(query: str, site: Site) -> AuthorizationRequest:
    """Return a request that /auth/authorize would accept, or raise OAuthError (section 2.3)."""
    if is_too_long(query):
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        raise OAuthError(INVALID_REQUEST, "the request is too long", status=status)
    server, now = site.require(OAuthServer), site.tokens.now()
    try:
        request = read_request(
            query,
            server.own_parameters,
            now=now,
            services=server.services,
            find=partial(clients.find, now=now),
        )
        scopes_asked_for(request)
        return with_meant(request, site)
    except RequestError:  # the client is known
        description = "redirect_uri must be one that the client has registered"
        raise OAuthError(INVALID_REQUEST, description) from None
    except AuthorizationError as error:
        raise OAuthError(error.error, error.description) from None
