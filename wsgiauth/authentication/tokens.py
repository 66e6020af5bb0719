"""Access tokens: signed statements that a login exists. The only module that imports `jwt`.

A token alone identifies nobody; `sessions` asks the database whether its login still stands.
"""

import hmac
import json
import re
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jwt
from jwt.algorithms import HMACAlgorithm
from jwt.utils import base64url_decode, base64url_encode

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings

TYPE = "at+jwt"  # RFC 9068 section 2.1
MAX_LENGTH = 4096  # characters
CACHE_SIZE = 16_384  # tokens, of about 600 bytes each with their claims

# Checked before anything is decoded. PyJWT would accept padding, of which tokens have none
# (RFC 7515 section 2).
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
        not_before: Seconds since the epoch (`nbf`).
    """

    subject: str
    session_id: str
    expires_at: int
    not_before: int = 0


class _InvalidTokenError(Exception):
    """Raised rather than returned, so that the cache keeps no garbage."""


class Tokens:
    """Issues and verifies access tokens (RFC 7519, RFC 9068) under one algorithm.

    SECRET_KEY signs; it and SECRET_KEY_FALLBACKS verify. The header's `kid` tells other services
    which key it was; here it is not looked at, for no header ever chooses a key (RFC 8725
    section 3.1).

    Args:
        settings: `SECRET_KEY`, `SECRET_KEY_FALLBACKS`, `JWT_ALGORITHM`, `JWT_EXPIRY_MINUTES`,
            `JWT_ISSUER`, `JWT_AUDIENCE`.
        clock: Returns the time in seconds since the epoch.

    Raises:
        ConfigurationError: SECRET_KEY is missing, or a key is an asymmetric key or a JWK.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self.lifetime = settings.JWT_EXPIRY_MINUTES * 60  # seconds
        self.now = clock
        self._algorithm = settings.JWT_ALGORITHM
        self._hmac = HMACAlgorithm(_HASHES[settings.JWT_ALGORITHM])
        self._keys = [self._prepared(name, key) for name, key in settings.secret_keys()]
        self._header = {"typ": TYPE, "kid": key_id(self._keys[0])}
        self._registered = {
            name: value
            for name, value in (("iss", settings.JWT_ISSUER), ("aud", settings.JWT_AUDIENCE))
            if value is not None
        }
        # A signature once verified stays verified, and so do claims that never change; what
        # changes, the time and the login's row, is asked on every request.
        self._claims_of = lru_cache(maxsize=CACHE_SIZE)(self._decode)
        # Asked of signed tokens only, so that there are as many as there are keys.
        self._is_ours = lru_cache(maxsize=16)(self._check_header)

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
        return jwt.api_jws.encode(
            json.dumps(payload, separators=(",", ":")).encode(),
            self._keys[0],
            self._algorithm,
            headers=self._header,
        )

    def verify(self, token: str) -> Claims | None:
        """Return the claims of a token that we signed and that is valid now, or None.

        Valid is a token from its `nbf`, if it has one, until its `exp` (RFC 7519 section 4.1).
        Not checked here: whether its login has been ended.
        """
        try:
            claims = self._claims_of(token)
        except _InvalidTokenError:
            return None
        return claims if claims.not_before <= self.now() < claims.expires_at else None

    def _decode(self, token: str) -> Claims:
        """Return the claims of a signed token. Nothing is decoded before its signature is right.

        Therefore the segments are taken apart here, while PyJWT computes and compares.
        """
        if len(token) > MAX_LENGTH or not _TOKEN.fullmatch(token):
            raise _InvalidTokenError
        signed, _, signature = token.rpartition(".")
        header, _, payload = signed.partition(".")
        try:
            if self._is_signed(signed.encode(), base64url_decode(signature)) and self._is_ours(
                header
            ):
                return self._checked(json.loads(base64url_decode(payload).decode()))
        except (ValueError, RecursionError):  # neither base64, UTF-8 nor JSON
            raise _InvalidTokenError from None
        raise _InvalidTokenError

    def _is_signed(self, signed: bytes, signature: bytes) -> bool:
        return any(self._hmac.verify(signed, key, signature) for key in self._keys)

    def _check_header(self, segment: str) -> bool:
        header = json.loads(base64url_decode(segment).decode())
        return (
            isinstance(header, dict)
            and header.get("alg") == self._algorithm
            and header.get("typ") == TYPE
            and "crit" not in header
        )

    def _prepared(self, name: str, key: str) -> bytes:
        try:
            return self._hmac.prepare_key(key)
        except jwt.InvalidKeyError:
            message = f"{name} must be a secret text, not an asymmetric key or a JWK."
            raise ConfigurationError(message) from None

    def _checked(self, payload: Any) -> Claims:
        if not isinstance(payload, dict):
            raise _InvalidTokenError
        subject, session_id = payload.get("sub"), payload.get("jti")
        issued_at, expires_at = payload.get("iat"), payload.get("exp")
        not_before = payload.get("nbf", 0)
        if (
            type(issued_at) is int  # neither a bool nor a float
            and type(expires_at) is int
            and type(not_before) is int
            and isinstance(subject, str)
            and _SUBJECT.fullmatch(subject)
            and isinstance(session_id, str)
            and _SESSION_ID.fullmatch(session_id)
            and payload.get("iss") == self._registered.get("iss")
            and payload.get("aud") == self._registered.get("aud")
        ):
            return Claims(subject, session_id, expires_at, not_before)
        raise _InvalidTokenError


def key_id(key: bytes) -> str:
    """Return the `kid` of a key (RFC 7515 section 4.1.4), which tells nothing about it."""
    return base64url_encode(hmac.digest(key, b"wsgiauth key id", "sha256")[:6]).decode()
