"""Seals a string for a browser, which can neither read nor change it.

The keys are derived from SECRET_KEY. A string is encrypted, then authenticated: the key stream is
SHAKE-256 of the key and a random nonce, and the tag is an HMAC.
"""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

from wsgiauth.settings import Settings

_NONCE, _TAG = 16, 32  # bytes


def seal(text: str, settings: Settings, purpose: str) -> str:
    """Return a sealed string, in characters for a cookie, which hides all but its length."""
    nonce = secrets.token_bytes(_NONCE)
    encrypt, sign = _keys(settings, purpose)[0]
    body = nonce + _encrypted(encrypt, nonce, text.encode())
    return urlsafe_b64encode(body + hmac.digest(sign, body, "sha256")).decode().rstrip("=")


def unseal(sealed: str, settings: Settings, purpose: str) -> str | None:
    """Return a string that `seal` sealed for the same purpose, also under a former SECRET_KEY."""
    try:
        whole = urlsafe_b64decode(f"{sealed}==".encode("ascii"))
    except ValueError:  # of which UnicodeEncodeError is one
        return None
    body, tag = whole[:-_TAG], whole[-_TAG:]
    for encrypt, sign in _keys(settings, purpose):
        if hmac.compare_digest(hmac.digest(sign, body, "sha256"), tag):
            return _encrypted(encrypt, body[:_NONCE], body[_NONCE:]).decode()
    return None


def _keys(settings: Settings, purpose: str) -> list[tuple[bytes, bytes]]:
    names = (f"encryption of {purpose}", f"signature of {purpose}")
    return list(zip(*map(settings.keys_for, names), strict=True))


def _encrypted(key: bytes, nonce: bytes, text: bytes) -> bytes:
    """Return bytes combined with the key stream, which encrypts and decrypts."""
    stream = hashlib.shake_256(key + nonce).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))
