"""Tokens for other services, which verify them by the public keys of this site.

A service token (RFC 9068) is for one service; wsgiauth itself does not accept it. The service does
not learn of a revocation unless it asks, so the token lives for a few minutes.
"""

import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wsgiauth.authentication.freshness import Proof
from wsgiauth.settings import Settings
from wsgiauth.settings.kinds import missing_package

TYPE = "at+jwt"  # RFC 9068 section 2.1
CLIENT_ID = "wsgiauth"
MAX_LENGTH = 4096  # characters of a token
CACHE_SIZE = 4096  # tokens; each takes about 2 KB with its claims
# A token with the longest scope, and with the longest RSA signature, stays below MAX_LENGTH.
MAX_SCOPE = 1500  # characters

_TOKEN = re.compile(r"(([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]+)")


class _InvalidTokenError(Exception):
    """Raised rather than returned, so that the cache does not store it."""


class ServiceTokens:
    """Issues and verifies service tokens, and publishes the keys.

    Attributes:
        lifetime: Of a token, in seconds.
        audiences: The services.
        key_set: The public keys (RFC 7517 section 5).
    """

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        try:
            from wsgiauth.features.services.signing import load_keys
        except ImportError:
            raise missing_package("SERVICE_KEYS", "cryptography", "services") from None
        self.lifetime: int = settings.SERVICE_TOKEN_MINUTES * 60
        self.audiences: frozenset[str] = frozenset(settings.SERVICES)
        self._issuer = settings.PUBLIC_URL
        self._now = clock
        keys = load_keys(Path(settings.SERVICE_KEYS or ""))
        self._signing_key = keys[-1]
        self.key_set: Mapping[str, object] = {"keys": [key.jwk for key in keys]}
        # By the header of the key's tokens. Any other header is refused unread, so no header
        # selects another algorithm or key (RFC 8725 sections 3.1 and 3.10).
        self._keys = {_header(key.algorithm, key.key_id): key for key in keys}
        self._header = list(self._keys)[-1]
        # A service asks about the same token again, and a signature never changes.
        self._claims_of = lru_cache(maxsize=CACHE_SIZE)(self._decode)

    def issue(
        self, user_id: int, audience: str, *, scope: Sequence[str], origin: str, proof: Proof | None
    ) -> str:
        """Return a token for one service (RFC 9068 section 2.2).

        Args:
            origin: The handle of the session, or the id of the API key.
            proof: The last proof of the session; None for an API key.
        """
        now = int(self._now())
        payload: dict[str, object] = {
            "iss": self._issuer,
            "sub": str(user_id),
            "aud": audience,
            "exp": now + self.lifetime,
            "iat": now,
            "jti": secrets.token_urlsafe(16),
            "client_id": CLIENT_ID,
            "scope": " ".join(scope),
            "sid": origin,
        }
        if proof is not None:
            payload |= {"auth_time": proof.authenticated_at, "amr": proof.methods.split()}
        signed = f"{self._header}.{_encoded(_json(payload))}"
        return f"{signed}.{_encoded(self._signing_key.sign(signed.encode()))}"

    def verify(self, token: str, now: float) -> Mapping[str, Any] | None:
        """Return the claims of a token of `issue` that has not expired, or None.

        The session or the key that `sid` names may have been revoked since.
        """
        try:
            claims = self._claims_of(token)
        except _InvalidTokenError:
            return None
        return claims if now < claims["exp"] else None

    def _decode(self, token: str) -> Mapping[str, Any]:
        match = _TOKEN.fullmatch(token) if len(token) <= MAX_LENGTH else None
        key = None if match is None else self._keys.get(match[2])
        if match is None or key is None:
            raise _InvalidTokenError
        try:
            if key.verify(match[1].encode(), _decoded(match[4])):
                claims = json.loads(_decoded(match[3]))
                if self._is_ours(claims):
                    return MappingProxyType(claims)
        except (ValueError, RecursionError):  # not base64 or, by another program, not JSON
            raise _InvalidTokenError from None
        raise _InvalidTokenError

    def _is_ours(self, claims: Any) -> bool:
        """Return whether `issue` made the claims; another program can use the same keys."""
        return (
            isinstance(claims, dict)
            and claims.get("iss") == self._issuer
            and claims.get("client_id") == CLIENT_ID
            and claims.get("aud") in self.audiences
        )


def _header(algorithm: str, key_id: str) -> str:
    return _encoded(_json({"typ": TYPE, "alg": algorithm, "kid": key_id}))


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _encoded(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()


def _decoded(segment: str) -> bytes:
    return urlsafe_b64decode(segment + "==")  # excess padding is ignored
