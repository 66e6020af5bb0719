"""Clients that ask /auth/introspect about tokens by their secret (RFC 7662 section 2.1).

A client learns of its own tokens, and a program that logs in as itself also of those for the
services that an operator named for it. Any other token is to it as if it did not exist.
"""

from collections.abc import Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.descriptions import AskingClients, Description, Reader
from wsgiauth.authentication.scopes import PROFILE
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.endpoints.program_endpoint import (
    authenticate,
    basic_credentials,
    invalid_client,
)
from wsgiauth.features.oauth_server.introspection import REFRESH_TOKEN
from wsgiauth.features.oauth_server.oauth_errors import OAuthError
from wsgiauth.features.oauth_server.redirect_uris import uris_of
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.settings import Settings
from wsgiauth.web.responses import Response
from wsgiauth.web.uris import find_equal


class ClientReader(Reader):
    """A client that has proven its secret."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def can_ask_about(self, claims: Mapping[str, object]) -> bool:
        """Return whether the client got the token, or may ask about those for its service."""
        issued_to = claims.get("client_id")
        if issued_to is None:  # of a session, or an API key
            return False
        if issued_to == self._client.client_id:
            return True
        services = uris_of(self._client.audiences or "")
        opens_service = claims.get("token_type") != REFRESH_TOKEN
        return opens_service and find_equal(str(claims["aud"]), services) != ""

    def shown(self, description: Description) -> Description:
        """Return a description without the username, unless a scope of the token opens it."""
        if PROFILE in str(description["scope"]).split():
            return description
        return {name: each for name, each in description.items() if name != "username"}


class ClientsWithSecrets(AskingClients):
    """Authenticates clients as the token endpoint does."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._are_keys_in_basic = settings.BASIC_AUTH == "keys"
        self._tokens = tokens

    def authenticate(
        self, environ: WSGIEnvironment, fields: Mapping[str, object]
    ) -> Reader | Response | None:
        """Return the client, or a failure as RFC 6749 section 5.2 demands."""
        now = self._tokens.now()
        sent = {name: each for name, each in fields.items() if isinstance(each, str) and each}
        if not self._is_presented(environ.get("HTTP_AUTHORIZATION"), sent, now):
            return None
        try:
            client = authenticate(environ, sent, now)
            if client.is_public:
                raise invalid_client("a public client cannot ask about tokens")
        except OAuthError as error:
            return error.response()
        return ClientReader(client)

    def _is_presented(self, header: str | None, sent: Mapping[str, str], now: float) -> bool:
        """Return whether a request has the credentials of a client.

        In Basic, a client takes precedence over a user with a name like its id.
        """
        if "client_secret" in sent:
            return True
        if header is None:
            return "client_id" in sent
        if header.partition(" ")[0].lower() != "basic":
            return False
        return not self._are_keys_in_basic or _names_client(header, now)


def _names_client(header: str, now: float) -> bool:
    try:
        client_id, _secret = basic_credentials(header)
    except OAuthError:
        return False
    return clients.find(client_id, now) is not None
