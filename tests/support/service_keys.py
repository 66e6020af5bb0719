"""Private keys of services, and settings with them."""

from dataclasses import replace
from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.features.services.signed_tokens import SignedTokens

ISSUER = "https://example.org"
REPORTS, MAPS = "reports", "https://maps.example.org/api"
MAPS_TOO = "HTTPS://Maps.Example.ORG:443/api"  # the same URI


def new_key(algorithm="ES256", bits=2048):
    """Return a new private key."""
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate() if algorithm == "EdDSA" else _rsa_key(bits)


@cache
def _rsa_key(bits):
    """Return the same key each time, because making one takes long."""
    return rsa.generate_private_key(65537, bits)


def pem_of(key, encryption=None, form=PrivateFormat.PKCS8):
    """Return a private key as a file has it."""
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption())


def public_pem_of(key):
    """Return the public key of a private one."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def write_key(path, contents=None, mode=0o600):
    """Write a file of SERVICE_KEYS, with a new key, and return its path."""
    path.write_bytes(pem_of(new_key()) if contents is None else contents)
    path.chmod(mode)
    return path


def with_services(settings, path, **others):
    """Return settings with the keys at a path."""
    return replace(
        settings,
        SERVICE_KEYS=str(path),
        **{"PUBLIC_URL": ISSUER, "SERVICES": (REPORTS, MAPS), **others},
    )


def service_tokens(settings, clock):
    """Return the service tokens of a site with these settings."""
    return ServiceTokens(settings, SignedTokens(settings), clock)
