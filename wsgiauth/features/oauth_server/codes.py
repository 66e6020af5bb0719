"""Authorization codes: what an app exchanges for tokens, once and within a minute.

A code is not a row: a GET must change nothing, and the browser can send the same request without
limit. So a code carries what it grants, encrypted and signed (Fernet). Only its use is recorded, by
the row of its grant, whose id it carries: the primary key lets only one of several uses succeed.
"""

import json
import secrets
from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from wsgiauth.features.oauth_server.authorization import AuthorizationRequest
from wsgiauth.features.oauth_server.grants import Code
from wsgiauth.features.oauth_server.scopes import recorded
from wsgiauth.settings import Settings

LIFETIME = 60  # seconds
MAX_LENGTH = 8192  # characters


class Codes:
    """Makes codes under SECRET_KEY, and reads codes under SECRET_KEY_FALLBACKS, too."""

    def __init__(self, settings: Settings) -> None:
        keys = settings.keys_for("authorization codes")
        self._fernet = MultiFernet([Fernet(urlsafe_b64encode(each)) for each in keys])

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
        made = self._fernet.encrypt_at_time(json.dumps(code).encode(), int(now))
        return made.decode().rstrip("=")  # so that a URL need not encode it, which takes time

    def read(self, text: str, now: float) -> Code | None:
        """Return what a code grants; None if this site did not make it, or it has expired."""
        try:
            made = f"{text[: MAX_LENGTH + 1]}==".encode()
            written = self._fernet.decrypt_at_time(made, LIFETIME, int(now))
        except (InvalidToken, UnicodeEncodeError):
            return None
        return Code(*json.loads(written))
