"""Keys of an OpenID provider, and tokens that are signed as a test wants.

Nothing here refuses anything: an algorithm can be `none`, or HMAC with a public key.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

DROP = type("Drop", (), {"__repr__": lambda _: "left out"})()  # instead of a value of a member

_HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


@dataclass(frozen=True)
class SigningKey:
    """A private key with the algorithm that it signs with, and its public half as a JWK."""

    kid: str
    algorithm: str
    private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

    @property
    def jwk(self):
        """A new JWK, which a test can change."""
        members = _public_members(self.private.public_key())
        return {"use": "sig", "kid": self.kid, "alg": self.algorithm, **members}

    def sign(self, message):
        kind, digest = self.algorithm[:2], _HASHES.get(self.algorithm[2:])
        if kind == "RS":
            return self.private.sign(message, padding.PKCS1v15(), digest)
        if kind == "PS":
            salt = padding.PSS(padding.MGF1(digest), digest.digest_size)
            return self.private.sign(message, salt, digest)
        if kind == "ES":
            numbers = utils.decode_dss_signature(self.private.sign(message, ec.ECDSA(digest)))
            size = (self.private.key_size + 7) // 8
            return b"".join(each.to_bytes(size, "big") for each in numbers)
        return self.private.sign(message)


@dataclass(frozen=True)
class HmacKey:
    """A secret, for example the bytes of a public key or a client's secret."""

    secret: bytes
    kid: str = "1"
    algorithm: str = "HS256"

    def sign(self, message):
        return hmac.digest(self.secret, message, f"sha{self.algorithm[2:]}")


@dataclass(frozen=True)
class NoKey:
    """Signs nothing."""

    kid: str = "1"
    algorithm: str = "none"

    def sign(self, message):
        return b""


@cache
def signing_key(algorithm="RS256", kid="1", bits=2048):
    """Return a key; the same for the same arguments, because making one takes long."""
    if algorithm in _CURVES:
        return SigningKey(kid, algorithm, ec.generate_private_key(_CURVES[algorithm]))
    if algorithm in ("EdDSA", "Ed25519"):
        return SigningKey(kid, algorithm, ed25519.Ed25519PrivateKey.generate())
    return SigningKey(kid, algorithm, _rsa_key(kid, bits))


@cache
def _rsa_key(kid, bits):
    """Return the key of all RSA algorithms."""
    return rsa.generate_private_key(65537, bits)


def signed(claims, key, header=MappingProxyType({})):
    """Return a token with these claims, and a header that is changed by `header`."""
    usual = {"typ": "JWT", "alg": key.algorithm, "kid": key.kid}
    parts = [changed(usual, header), claims]
    message = ".".join(base64url(json.dumps(each).encode()) for each in parts)
    return f"{message}.{base64url(key.sign(message.encode()))}"


def changed(members, changes):
    """Return members with these changes, of which DROP takes a member out."""
    return {name: each for name, each in {**members, **changes}.items() if each is not DROP}


def half_hash(text, algorithm):
    """Return the value of `at_hash` for a token (OpenID Connect Core, section 3.1.3.6)."""
    size = algorithm[2:] if algorithm[2:] in _HASHES else "512"
    digest = hashlib.new(f"sha{size}", text.encode()).digest()
    return base64url(digest[: len(digest) // 2])


def challenge(verifier):
    """Return the challenge of a PKCE verifier (RFC 7636, section 4.2)."""
    return base64url(hashlib.sha256(verifier.encode()).digest())


def base64url(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def _public_members(public):
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        return {"kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
    if isinstance(public, ed25519.Ed25519PublicKey):
        return {"kty": "OKP", "crv": "Ed25519", "x": base64url(public.public_bytes_raw())}
    numbers, size = public.public_numbers(), (public.key_size + 7) // 8
    curve = f"P-{public.key_size}"
    return {
        "kty": "EC",
        "crv": curve,
        "x": _number(numbers.x, size),
        "y": _number(numbers.y, size),
    }


def _number(number, size=None):
    return base64url(number.to_bytes(size or (number.bit_length() + 7) // 8, "big"))
