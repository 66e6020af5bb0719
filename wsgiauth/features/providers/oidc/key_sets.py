"""The public keys of a provider (RFC 7517), which verify signatures by PyJWT.

The header of a token names one of the provider's keys, and brings none: `jku`, `jwk`, `x5u` and
`x5c` are never read. The type of a key determines its algorithms.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jwt
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm, RSAPSSAlgorithm

from wsgiauth.features.providers.oidc.documents import Document, optional, strings

# NIST SP 800-131A: at least 2,048 bits. With more than 8,192, a signature takes long.
RSA_BITS = range(2048, 8193)

_MEMBERS = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}


class _Use(NamedTuple):
    """How an algorithm (RFC 7518 section 3.1, RFC 8037, RFC 9864) uses keys."""

    algorithm: Any
    key_type: str
    curve: str | None = None


_USES: Mapping[str, _Use] = {
    "RS256": _Use(RSAAlgorithm(RSAAlgorithm.SHA256), "RSA"),
    "RS384": _Use(RSAAlgorithm(RSAAlgorithm.SHA384), "RSA"),
    "RS512": _Use(RSAAlgorithm(RSAAlgorithm.SHA512), "RSA"),
    "PS256": _Use(RSAPSSAlgorithm(RSAPSSAlgorithm.SHA256), "RSA"),
    "PS384": _Use(RSAPSSAlgorithm(RSAPSSAlgorithm.SHA384), "RSA"),
    "PS512": _Use(RSAPSSAlgorithm(RSAPSSAlgorithm.SHA512), "RSA"),
    "ES256": _Use(ECAlgorithm(ECAlgorithm.SHA256), "EC", "P-256"),
    "ES384": _Use(ECAlgorithm(ECAlgorithm.SHA384), "EC", "P-384"),
    "ES512": _Use(ECAlgorithm(ECAlgorithm.SHA512), "EC", "P-521"),
    "EdDSA": _Use(OKPAlgorithm(), "OKP", "Ed25519"),
    "Ed25519": _Use(OKPAlgorithm(), "OKP", "Ed25519"),
}


class KeySet:
    """The keys that a provider publishes."""

    def __init__(self, keys: Sequence[Document]) -> None:
        self._keys = keys

    def find(self, algorithm: str, key_id: str | None) -> list[Any]:
        """Return the keys that can have signed a token with this header.

        A key without an id can have any (RFC 7517 section 4.5), if none has the id of the token.
        """
        use = _USES[algorithm]
        fitting = [each for each in self._keys if _fits(each, use, algorithm)]
        if key_id is not None:
            named = [each for each in fitting if optional(each, "kid") == key_id]
            fitting = named or [each for each in fitting if optional(each, "kid") is None]
        loaded = [_load(each, use) for each in fitting]
        return [key for key in loaded if key is not None]


def read_key_set(document: Document) -> KeySet | None:
    """Return the keys of a document, or None if it has no list of keys."""
    keys = document.get("keys")
    if not isinstance(keys, list):
        return None
    return KeySet([each for each in keys if isinstance(each, dict)])


def is_signed(algorithm: str, key: Any, signed: bytes, signature: bytes) -> bool:
    """Return whether this key, which `find` returned for the algorithm, made the signature."""
    return bool(_USES[algorithm].algorithm.verify(signed, key, signature))


def _fits(jwk: Document, use: _Use, algorithm: str) -> bool:
    return (
        jwk.get("kty") == use.key_type
        and (use.curve is None or jwk.get("crv") == use.curve)
        and optional(jwk, "use") in (None, "sig")
        and optional(jwk, "alg") in (None, algorithm)
        and (optional(jwk, "key_ops") is None or "verify" in strings(jwk["key_ops"]))
    )


def _load(jwk: Document, use: _Use) -> Any | None:
    """Return the key of the public members, or None for an invalid or weak key."""
    members = {name: jwk.get(name) for name in _MEMBERS[use.key_type]}
    if not all(isinstance(each, str) for each in members.values()):
        return None
    try:
        key = use.algorithm.from_jwk({"kty": use.key_type, **members})
    except (jwt.PyJWTError, ValueError):
        return None
    return None if use.key_type == "RSA" and key.key_size not in RSA_BITS else key
