"""Authorization codes: what an app exchanges for tokens, once and within a minute.

A code is not a row: a GET must change nothing, and the browser can send the same request without
limit. So a code carries what it grants, encrypted and signed. Only its use is recorded, by the row
of its grant, whose id it carries: the primary key lets only one of several uses succeed.
"""

import json
import secrets

from wsgiauth.features.oauth_server.authorization import AuthorizationRequest
from wsgiauth.features.oauth_server.grants import Code
from wsgiauth.features.oauth_server.scopes import recorded
from wsgiauth.settings import Settings
from wsgiauth.signed_values import ExpiringValues, Purpose

LIFETIME = 60  # seconds

# Scopes, a redirect URI and a nonce, each as long as it can be.
_PURPOSE = Purpose("authorization codes", is_secret=True, max_length=10_240)


class Codes:
    """Makes and reads codes."""

    def __init__(self, settings: Settings) -> None:
        self._values = ExpiringValues(settings, _PURPOSE, LIFETIME)

    def make(
        self,
        request: AuthorizationRequest,
        *,
        user_id: int,
        stamp: int,
        session_id: str,
        scopes: list[str],
        now: float,
    ) -> str:
        """Return a code for a request that the user has allowed."""
        code = Code(
            secrets.token_urlsafe(16),
            request.client.id,
            user_id,
            stamp,
            session_id,
            request.target.uri,
            request.challenge,
            request.nonce,
            recorded(scopes, request.scopes),
            request.resource,
        )
        return self._values.sign(json.dumps(code).encode(), now=now)

    def read(self, text: str, now: float) -> Code | None:
        """Return what a code grants; None if this site did not make it, or it has expired."""
        found = self._values.read(text, now=now)
        return None if found is None else Code(*json.loads(found.payload))
