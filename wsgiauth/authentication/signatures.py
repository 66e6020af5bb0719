"""Signatures of access tokens, in a module of their own, because PyJWT imports an HTTP client."""

import hmac

import jwt
from jwt.algorithms import HMACAlgorithm
from jwt.utils import base64url_encode

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings
from wsgiauth.signed_values import keyed_digest

_HASHES = {
    "HS256": HMACAlgorithm.SHA256,
    "HS384": HMACAlgorithm.SHA384,
    "HS512": HMACAlgorithm.SHA512,
}


class Signatures:
    """Signs with SECRET_KEY; verifies with it and with SECRET_KEY_FALLBACKS (RFC 7515).

    Raises:
        ConfigurationError: A key is an asymmetric one, or a JWK.
    """

    def __init__(self, settings: Settings, token_type: str) -> None:
        self._algorithm = settings.JWT_ALGORITHM
        self._hmac = HMACAlgorithm(_HASHES[self._algorithm])
        self._keys = [self._prepared(name, key) for name, key in settings.secret_keys()]
        # Copies take less time than new ones. Threads share these, so only copies are updated.
        self._keyed = [hmac.new(key, digestmod=self._hmac.hash_alg) for key in self._keys]
        self._header = {"typ": token_type, "kid": key_id(self._keys[0])}

    def sign(self, payload: bytes) -> str:
        """Return a token: the header, the payload and the signature."""
        return jwt.api_jws.encode(payload, self._keys[0], self._algorithm, headers=self._header)

    def is_valid(self, signed: bytes, signature: bytes) -> bool:
        """Return whether one of the keys made this signature."""
        for keyed in self._keyed:
            computed = keyed.copy()
            computed.update(signed)
            if hmac.compare_digest(computed.digest(), signature):
                return True
        return False

    def _prepared(self, name: str, key: str) -> bytes:
        try:
            return self._hmac.prepare_key(key)
        except jwt.InvalidKeyError:
            message = f"{name} must be a secret string, not an asymmetric key or a JWK."
            raise ConfigurationError(message) from None


def key_id(key: bytes) -> str:
    """Return the `kid` of a key (RFC 7515 section 4.1.4), which does not reveal the key."""
    return base64url_encode(keyed_digest(key, b"wsgiauth key id")[:6]).decode()
