"""The private keys of SERVICE_KEYS. Only a site with service tokens imports this module."""

import hashlib
import json
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from wsgiauth.features.services.key_files import read_files, refused

# NIST SP 800-131A: at least 2,048 bits. With more than 4,096, tokens are slow and too long.
RSA_BITS = range(2048, 4097)

_EXPECTED = "is neither a P-256, an Ed25519 nor an RSA key of 2048 to 4096 bits"


class SigningKey:
    """A private key of `cryptography`; a ValueError says why it cannot be used.

    Attributes:
        algorithm: The only one that it is used with (RFC 7518, RFC 8037).
        key_id: Its thumbprint (RFC 7638).
        jwk: The public key (RFC 7517).
    """

    def __init__(self, key: Any) -> None:
        self.algorithm: str
        self._algorithm: Any
        if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1):
            self.algorithm, self._algorithm = "ES256", ECAlgorithm(ECAlgorithm.SHA256)
        elif isinstance(key, Ed25519PrivateKey):
            self.algorithm, self._algorithm = "EdDSA", OKPAlgorithm()
        elif isinstance(key, RSAPrivateKey) and key.key_size in RSA_BITS:
            self.algorithm, self._algorithm = "RS256", RSAAlgorithm(RSAAlgorithm.SHA256)
        else:
            raise ValueError(_EXPECTED)
        self._private, self._public = key, key.public_key()
        described = self._algorithm.to_jwk(self._public, as_dict=True)
        # The members in the order of RFC 7638 section 3.2.
        members = {name: described[name] for name in sorted(described) if name != "key_ops"}
        canonical = json.dumps(members, separators=(",", ":")).encode()
        thumbprint = hashlib.sha256(canonical).digest()
        self.key_id: str = urlsafe_b64encode(thumbprint).rstrip(b"=").decode()
        published = {"use": "sig", "alg": self.algorithm, "kid": self.key_id}
        self.jwk: dict[str, str] = members | published

    def sign(self, signed: bytes) -> bytes:
        """Return the signature."""
        signature: bytes = self._algorithm.sign(signed, self._private)
        return signature

    def verify(self, signed: bytes, signature: bytes) -> bool:
        """Return whether this key has made a signature."""
        return bool(self._algorithm.verify(signed, self._public, signature))


def load_keys(path: Path) -> list[SigningKey]:
    """Return the keys in a file, or in the files of a folder in alphabetical order."""
    keys: dict[str, SigningKey] = {}
    files: dict[str, Path] = {}
    for file, contents in read_files(path):
        key = _key_in(contents)
        del contents  # error reports show the variables of each function in the traceback
        if isinstance(key, str):
            raise refused(file, key)
        if key.key_id in keys:
            raise refused(file, f"has the same key as {files[key.key_id].name!r}")
        keys[key.key_id], files[key.key_id] = key, file
    return list(keys.values())


def _key_in(contents: bytes) -> SigningKey | str:
    """Return the key in a PEM file, or why it cannot be used."""
    try:
        return SigningKey(_private_key(contents))
    except ValueError as error:
        return str(error)


def _private_key(contents: bytes) -> Any:
    """Return the key in a PEM file, or raise a ValueError with the problem, but without a cause."""
    if b" PRIVATE KEY-----" not in contents:
        problem = "is a public key" if b"PUBLIC KEY-----" in contents else "is a certificate"
        has_either = b"PUBLIC KEY-----" in contents or b"CERTIFICATE-----" in contents
        raise ValueError(f"{problem}, not a private key" if has_either else "has no private key")
    if contents.count(b"PRIVATE KEY-----") > 2:  # the ends of one
        raise ValueError("has more than one private key")
    if b"ENCRYPTED" in contents:
        raise ValueError("is encrypted, and wsgiauth asks for no password")
    try:
        return load_pem_private_key(contents, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError(_EXPECTED) from None
