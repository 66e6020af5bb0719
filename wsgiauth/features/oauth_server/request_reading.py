"""Reading an authorization request: from the query or its row, and from the document of its app."""

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.exceptions import RequestError
from wsgiauth.features.oauth_server import clients, stored_requests
from wsgiauth.features.oauth_server.authorization import (
    NONE,
    AuthorizationError,
    AuthorizationRequest,
    FindClient,
    client_id_in,
    is_too_long,
    pairs_in,
    read_request,
    unknown_client,
)
from wsgiauth.features.oauth_server.document_urls import id_of, is_document_url
from wsgiauth.features.oauth_server.documents import Asker, Documents, require_possible
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.urls import is_number


class TooLongError(RequestError):
    """A request is longer than this site accepts."""

    def __init__(self) -> None:
        detail = _("The request of the app that sent you here is too long.")
        super().__init__(HTTPStatus.BAD_REQUEST, "invalid_request", detail)


class UnreadDocumentError(Exception):
    """The document of an app must be read first, at /auth/authorize."""


def request_of(
    environ: WSGIEnvironment, site: Site, *, may_fetch: bool = False
) -> AuthorizationRequest:
    """Return the request in the query, or in its row, with the user of its `id_token_hint`.

    Without a user who meets the demands of the site, nothing of an app with a document is verified:
    then the request must lead to the login, and nowhere else.

    Args:
        may_fetch: Whether to fetch the document of an app.

    Raises:
        RequestError: See `read_request`.
        AuthorizationError: See `read_request`.
        RetryLaterError: Too many documents were fetched.
        UnreadDocumentError: The document of the app was not fetched lately.
    """
    query, request_uri = _query_of(environ, site)
    if not is_document_url(client_id_in(query)):
        find: FindClient = partial(clients.find, now=site.tokens.now())
        return _read(query, request_uri, site, find)
    session = site.identifier.identify(environ).session
    if session is not None:
        find = partial(_app_of_document, environ, site, session.user, may_fetch=may_fetch)
        return _read(query, request_uri, site, find)
    request = _read_unverified(query, request_uri, site)
    if NONE in request.prompts:  # nothing is known to which the answer could go
        raise unknown_client()
    return request


def request_to_begin(environ: WSGIEnvironment, site: Site) -> AuthorizationRequest:
    """Return the request for a redirect to /auth/authorize, with nothing verified by a document."""
    query, request_uri = _query_of(environ, site)
    if is_document_url(client_id_in(query)):
        return _read_unverified(query, request_uri, site)
    return _read(query, request_uri, site, partial(clients.find, now=site.tokens.now()))


def with_meant(request: AuthorizationRequest, site: Site) -> AuthorizationRequest:
    """Return a request with the user of its `id_token_hint`."""
    if not request.id_token_hint:
        return request
    hint = site.require(SignedTokens).id_token_claims(request.id_token_hint) or {}
    subject = str(hint.get("sub"))
    if hint.get("aud") != request.client.client_id or not is_number(subject):
        raise request.refused("login_required", "id_token_hint is not an ID token of this client")
    return replace(request, meant=int(subject))


def require_accepted(query: str) -> None:
    """Raise TooLongError if a request is too long."""
    if is_too_long(query):
        raise TooLongError


def _query_of(environ: WSGIEnvironment, site: Site) -> tuple[str, str]:
    """Return the parameters of the request, and its `request_uri`; see `stored_requests`."""
    sent = environ.get("QUERY_STRING", "")
    require_accepted(sent)
    try:
        return stored_requests.expanded(sent, site.tokens.now())
    except stored_requests.UnknownRequestError:
        detail = _("Go back to the app, and log in there again.")
        raise RequestError(HTTPStatus.BAD_REQUEST, "invalid_request_uri", detail) from None


def _read(query: str, request_uri: str, site: Site, find: FindClient) -> AuthorizationRequest:
    server, now = site.require(OAuthServer), site.tokens.now()
    request = read_request(
        query, server.own_parameters, now=now, services=server.services, find=find
    )
    return with_meant(replace(request, request_uri=request_uri), site)


def _read_unverified(query: str, request_uri: str, site: Site) -> AuthorizationRequest:
    """Return the request of an app with a document, as if the document had its redirect URI."""
    uris = [value for name, value in pairs_in(query) if name == "redirect_uri"]

    def find(client_id: str) -> Client | None:
        if site.part(Documents) is None:
            return None
        require_possible(client_id, site.settings)
        return Client(
            id=id_of(client_id),
            name="",
            redirect_uris="".join(uris),
            scopes="",
            is_public=True,
            expires_at=0,
            document_url=client_id,
        )

    try:
        return _read(query, request_uri, site, find)
    except AuthorizationError as error:  # whose answer must not go to an unverified URI
        detail = _(
            "The request of the app that sent you here is wrong: %(reason)s.",
            reason=error.description,
        )
        raise RequestError(HTTPStatus.BAD_REQUEST, "invalid_request", detail) from None


def _app_of_document(
    environ: WSGIEnvironment, site: Site, user: User, client_id: str, *, may_fetch: bool
) -> Client | None:
    documents = site.part(Documents)
    if documents is None:
        return None
    if may_fetch:
        return documents.ask(client_id, Asker(site, user, site.clients.networks(environ)))
    found = documents.find(client_id)
    if found is None and environ["REQUEST_METHOD"] != "HEAD":  # which must write nothing
        raise UnreadDocumentError
    return found
