"""Signed tokens (RFC 7515) of the private keys of SERVICE_KEYS: made, verified, and published."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wsgiauth.settings import Settings
from wsgiauth.settings.kinds import missing_package

if TYPE_CHECKING:
    from wsgiauth.features.services.signing import SigningKey

ACCESS_TOKEN = "at+jwt"  # noqa: S105 - a header's `typ`, RFC 9068 section 2.1
ID_TOKEN = "JWT"  # noqa: S105 - likewise, of OpenID Connect
MAX_LENGTH = 4096  # characters of an access token
MAX_ID_TOKEN = 32 * 1024  # characters; the groups of a user can make one long
CACHE_SIZE = 4096  # tokens; each takes about 2 KB with its claims

_TOKEN = re.compile(r"(([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]+)")


class _InvalidTokenError(Exception):
    """Raised rather than returned, so that the cache does not store it."""


class SignedTokens:
    """Signs tokens with the last key, and verifies access tokens of all keys.

    Attributes:
        algorithms: Those of the keys.
        default: The one that signs unless another one is asked for.
        key_set: The public keys (RFC 7517 section 5).
    """

    def __init__(self, settings: Settings) -> None:
        try:
            from wsgiauth.features.services.signing import load_keys
        except ImportError:
            raise missing_package("SERVICE_KEYS", "cryptography", "services") from None
        self._issuer = settings.PUBLIC_URL
        keys = load_keys(Path(settings.SERVICE_KEYS or ""))
        self._signing = {key.algorithm: key for key in keys}  # the last of each algorithm
        self.default: str = keys[-1].algorithm
        self.algorithms: tuple[str, ...] = tuple(self._signing)
        self.key_set: Mapping[str, object] = {"keys": [key.jwk for key in keys]}
        # By the header of the key's tokens. Any other header is refused unread, so no header
        # selects another algorithm or key (RFC 8725 sections 3.1 and 3.10).
        self._keys = {_header(ACCESS_TOKEN, key.algorithm, key.key_id): key for key in keys}
        self._id_keys = {_header(ID_TOKEN, key.algorithm, key.key_id): key for key in keys}
        # A service asks about the same token again, and a signature never changes.
        read = partial(self._decode, self._keys, MAX_LENGTH)
        self._claims_of = lru_cache(maxsize=CACHE_SIZE)(read)

    def sign(
        self, claims: Mapping[str, object], *, kind: str = ACCESS_TOKEN, algorithm: str = ""
    ) -> str:
        """Return a token with these claims and `iss`.

        Args:
            kind: The `typ` of its header. Only access tokens are accepted by `verify`.
            algorithm: One of `algorithms`; the default for another one, or for "".
        """
        key = self._signing.get(algorithm) or self._signing[self.default]
        header = _header(kind, key.algorithm, key.key_id)
        signed = f"{header}.{_encoded(_json({'iss': self._issuer, **claims}))}"
        return f"{signed}.{_encoded(key.sign(signed.encode()))}"

    def verify(self, token: str, now: float) -> Mapping[str, Any] | None:
        """Return the claims of an access token of this site that has not expired, or None.

        Another program can use the same keys, so the caller checks further claims.
        """
        try:
            claims = self._claims_of(token)
        except _InvalidTokenError:
            return None
        return claims if now < claims["exp"] else None

    def id_token_claims(self, token: str) -> Mapping[str, Any] | None:
        """Return the claims of an ID token of this site, which can have expired, or None.

        An ID token is no credential: it says only whom a client means.
        """
        try:
            return self._decode(self._id_keys, MAX_ID_TOKEN, token)
        except _InvalidTokenError:
            return None

    def _decode(self, keys: Mapping[str, "SigningKey"], most: int, token: str) -> Mapping[str, Any]:
        match = _TOKEN.fullmatch(token) if len(token) <= most else None
        key = None if match is None else keys.get(match[2])
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
        """Return whether claims are of this issuer, and expire."""
        return (
            isinstance(claims, dict)
            and claims.get("iss") == self._issuer
            and isinstance(claims.get("exp"), int)
        )


def _header(kind: str, algorithm: str, key_id: str) -> str:
    return _encoded(_json({"typ": kind, "alg": algorithm, "kid": key_id}))


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _encoded(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()


def _decoded(segment: str) -> bytes:
    return urlsafe_b64decode(segment + "==")  # excess padding is ignored
