"""The base class of the URLs that programs of other apps send forms to, as themselves."""

from abc import abstractmethod
from base64 import b64decode
from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import unquote_plus
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import ApplicationError, RequestError
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.oauth_errors import (
    INVALID_CLIENT,
    INVALID_REQUEST,
    OAuthError,
    server_error,
)
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.request import FORM, MAX_BODY, content_type, read_form
from wsgiauth.web.responses import REALM, Header, Response

_CHALLENGE: Header = ("WWW-Authenticate", f'Basic realm="{REALM}", charset="UTF-8"')


class ProgramEndpoint(Endpoint):
    """Takes a form of a client, which is authenticated first (RFC 6749 section 2.3).

    No cookie counts, so a page of another site can send nothing in a user's name.

    Attributes:
        max_body: Bytes of the form.
    """

    max_body: ClassVar[int] = MAX_BODY

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    @abstractmethod
    def respond(
        self, client: Client, fields: Mapping[str, str], environ: WSGIEnvironment, site: Site
    ) -> Response:
        """Answer an authenticated client, or raise OAuthError."""

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the form; answer failures as RFC 6749 section 5.2 demands."""
        try:
            fields = _read_fields(environ, self.max_body)
            client = authenticate(environ, fields, site.tokens.now())
            return self.respond(client, fields, environ, site)
        except OAuthError as error:
            return error.response()
        except ApplicationError as error:
            return server_error(error).response()


def _read_fields(environ: WSGIEnvironment, most: int) -> dict[str, str]:
    try:
        if content_type(environ) != FORM:
            raise OAuthError(INVALID_REQUEST, f"the Content-Type must be {FORM}")
        sent = read_form(environ, most=most)
    except RequestError as error:
        status = HTTPStatus(error.status)
        raise OAuthError(INVALID_REQUEST, "the form cannot be read", status=status) from None
    return {name: value for name, value in sent.items() if isinstance(value, str) and value}


def authenticate(environ: WSGIEnvironment, fields: Mapping[str, str], now: float) -> Client:
    """Return the client that sent a request, or raise OAuthError."""
    header = environ.get("HTTP_AUTHORIZATION")
    client_id, secret = fields.get("client_id", ""), fields.get("client_secret", "")
    if header is not None:
        if secret:
            raise OAuthError(INVALID_REQUEST, "the client authenticates in two ways")
        named, secret = basic_credentials(header)
        if client_id not in ("", named):
            raise OAuthError(INVALID_REQUEST, "client_id is of another client")
        client_id = named
    client = clients.find(client_id, now)
    if client is not None and client.is_public and not secret:
        return client
    if client is not None and not client.is_public and clients.has_secret(client, secret):
        return client
    if client is not None and client.is_public:
        raise invalid_client("the client is public: it must send no secret")
    raise invalid_client("the client is unknown, or its secret is missing, wrong or ended")


def basic_credentials(header: str) -> tuple[str, str]:
    """Return the id and the secret in a header, each percent-encoded (RFC 6749 section 2.3.1)."""
    scheme, _space, credentials = header.partition(" ")
    try:
        if scheme.lower() != "basic":
            raise ValueError
        client_id, _colon, secret = b64decode(credentials, validate=True).decode().partition(":")
    except ValueError:
        description = "the Authorization header must be Basic with the id and the secret"
        raise invalid_client(description) from None
    return unquote_plus(client_id), unquote_plus(secret)


def invalid_client(description: str) -> OAuthError:
    """Return the refusal of a client that does not prove who it is."""
    status = HTTPStatus.UNAUTHORIZED
    return OAuthError(INVALID_CLIENT, description, status=status, headers=(_CHALLENGE,))
