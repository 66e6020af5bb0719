"""Access tokens: signed statements that a login exists. The only module that imports `jwt`.

A token alone identifies nobody; `sessions` asks the database whether its login still stands.
"""

import json
import re
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jwt
from jwt.algorithms import HMACAlgorithm

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings

TYPE = "at+jwt"  # RFC 9068 section 2.1
MAX_LENGTH = 4096  # characters
CACHE_SIZE = 4096  # tokens, of about 600 bytes each with their claims

# Checked before anything is decoded. PyJWT would accept padding, of which tokens have none
# (RFC 7515 section 2), and so more than one spelling of the same token.
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_SUBJECT = re.compile(r"[1-9][0-9]{0,18}")
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,43}")  # nothing else ever reaches a query

_HASHES = {
    "HS256": HMACAlgorithm.SHA256,
    "HS384": HMACAlgorithm.SHA384,
    "HS512": HMACAlgorithm.SHA512,
}


class Claims(NamedTuple):
    """What a verified token says.

    Attributes:
        subject: The user's id, in decimal (`sub`).
        session_id: The login's id (`jti`).
        expires_at: Seconds since the epoch (`exp`).
    """

    subject: str
    session_id: str
    expires_at: int


class _InvalidTokenError(Exception):
    """Raised rather than returned, so that the cache keeps no garbage."""


class _PreparedHMAC(HMACAlgorithm):
    """HMAC with its one key prepared; PyJWT would look into the key anew for each token."""

    def __init__(self, algorithm: str, key: str) -> None:
        super().__init__(_HASHES[algorithm])
        self._prepared_key = super().prepare_key(key)

    def prepare_key(self, key: Any) -> bytes:
        return self._prepared_key


class Tokens:
    """Issues and verifies access tokens (RFC 7519, RFC 9068) under one key and algorithm.

    Args:
        settings: `SECRET_KEY`, `JWT_ALGORITHM`, `JWT_EXPIRY_MINUTES`, `JWT_ISSUER`,
            `JWT_AUDIENCE`.
        clock: Returns the time in seconds since the epoch.

    Raises:
        ConfigurationError: SECRET_KEY is missing, or is an asymmetric key or a JWK.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self.lifetime = settings.JWT_EXPIRY_MINUTES * 60  # seconds
        self.now = clock
        self._algorithm = settings.JWT_ALGORITHM
        self._registered = {
            name: value
            for name, value in (("iss", settings.JWT_ISSUER), ("aud", settings.JWT_AUDIENCE))
            if value is not None
        }
        # Only the configured algorithm is known at all, so that no header can choose another.
        self._jws = jwt.PyJWS(algorithms=[])
        try:
            prepared = _PreparedHMAC(self._algorithm, settings.require_secret_key())
        except jwt.InvalidKeyError:
            message = "SECRET_KEY must be a secret text, not an asymmetric key or a JWK."
            raise ConfigurationError(message) from None
        self._jws.register_algorithm(self._algorithm, prepared)
        # A signature once verified stays verified, and so do claims that never change; what
        # changes, the time and the login's row, is asked on every request.
        self._claims_of = lru_cache(maxsize=CACHE_SIZE)(self._decode)

    def issue(self, user_id: int, session_id: str, expires_at: int) -> str:
        """Return the signed token of a login.

        Args:
            user_id: The subject.
            session_id: The login's id, random and never used before.
            expires_at: Seconds since the epoch.
        """
        payload = {
            "sub": str(user_id),
            "jti": session_id,
            "iat": expires_at - self.lifetime,
            "exp": expires_at,
            **self._registered,
        }
        return self._jws.encode(
            json.dumps(payload, separators=(",", ":")).encode(),
            "",
            self._algorithm,
            headers={"typ": TYPE},
        )

    def verify(self, token: str) -> Claims | None:
        """Return the claims of a token that we signed and that has not expired, or None.

        Not answered here: whether the login has been ended since.
        """
        try:
            claims = self._claims_of(token)
        except _InvalidTokenError:
            return None
        return claims if claims.expires_at > self.now() else None

    def _decode(self, token: str) -> Claims:
        if len(token) > MAX_LENGTH or not _TOKEN.fullmatch(token):
            raise _InvalidTokenError
        try:
            verified = self._jws.decode_complete(token, "", algorithms=[self._algorithm])
            payload = json.loads(verified["payload"].decode())
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise _InvalidTokenError from None
        header = verified["header"]
        if header.get("typ") != TYPE or "crit" in header or not isinstance(payload, dict):
            raise _InvalidTokenError
        return self._checked(payload)

    def _checked(self, payload: dict[str, Any]) -> Claims:
        subject, session_id = payload.get("sub"), payload.get("jti")
        issued_at, expires_at = payload.get("iat"), payload.get("exp")
        if (
            type(issued_at) is int  # neither a bool nor a float
            and type(expires_at) is int
            and isinstance(subject, str)
            and _SUBJECT.fullmatch(subject)
            and isinstance(session_id, str)
            and _SESSION_ID.fullmatch(session_id)
            and payload.get("iss") == self._registered.get("iss")
            and payload.get("aud") == self._registered.get("aud")
        ):
            return Claims(subject, session_id, expires_at)
        raise _InvalidTokenError
