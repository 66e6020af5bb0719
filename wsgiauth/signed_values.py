"""Values that the site signs for clients, who send them back; and keyed digests.

The values are in cookies, links, forms and challenges. Each is `PAYLOAD.SIGNATURE`, two parts in
base64url without padding (RFC 4648 section 5):

- PAYLOAD: the bytes of the feature. `ExpiringValues` puts the end before them, in seconds since the
  epoch, as 8 bytes. If the purpose is secret, all this is encrypted, after a nonce of 16 bytes: the
  key stream is SHAKE-256 of a key and the nonce.
- SIGNATURE: the HMAC-SHA256 of a JSON array of PAYLOAD and the strings that the value is bound to.
  JSON quotes each string, so no two arrays look alike.

The keys are derived from SECRET_KEY for each purpose. SECRET_KEY_FALLBACKS verify and decrypt, too.
The signature is verified before anything else is read, so a forged value reaches no other code.
"""

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from wsgiauth.settings import Settings

_CLOCK_SKEW = 60  # seconds by which the clocks of two hosts can differ

_EXPIRY, _NONCE = 8, 16  # bytes


class Purpose(NamedTuple):
    """What values or digests are for. The module that makes them declares it.

    Attributes:
        name: Selects the keys. Two modules never have the same name, so a value of one purpose is
            never valid for another. That of a feature begins with the feature's name.
        is_secret: Whether values are encrypted, too. A value then hides all but its length.
        max_length: Longer values are refused, in characters. A Cookie header has no more.

    Example:
        purpose = Purpose("badges of visitors")
    """

    name: str
    is_secret: bool = False
    max_length: int = 8192


class Unexpired(NamedTuple):
    """The content of a value that has not expired.

    Example:
        def name_of(found: Unexpired | None) -> str:
            return "" if found is None else found.payload.decode()
    """

    payload: bytes
    expires_at: int  # seconds since the epoch


class KeyedDigests:
    """Makes digests (HMAC-SHA256) with keys for one purpose.

    Tables and refresh tokens have such digests, so the computation must stay as it is.
    """

    def __init__(self, settings: Settings, purpose: Purpose) -> None:
        self._keys = _derived_keys(settings, purpose.name)

    def current(self, message: bytes) -> bytes:
        """Return the digest under SECRET_KEY."""
        return keyed_digest(self._keys[0], message)

    def all(self, message: bytes) -> list[bytes]:
        """Return the digests under SECRET_KEY and under each of SECRET_KEY_FALLBACKS."""
        return [keyed_digest(key, message) for key in self._keys]


class SignedValues:
    """Signs and reads the values of one purpose, which do not expire.

    Example:
        values = SignedValues(settings, Purpose("badges of visitors"))
        value = values.sign(b"early", str(user.id))
        values.read(value, str(user.id)) == b"early"
    """

    def __init__(self, settings: Settings, purpose: Purpose) -> None:
        self._purpose = purpose
        self._signatures = KeyedDigests(settings, Purpose(f"signature of {purpose.name}"))
        self._ciphers = _derived_keys(settings, f"encryption of {purpose.name}")

    def sign(self, payload: bytes, *bound_to: str) -> str:
        """Return a value, which is valid only together with the strings that it is bound to."""
        if self._purpose.is_secret:
            nonce = secrets.token_bytes(_NONCE)
            payload = nonce + _encrypted(self._ciphers[0], nonce, payload)
        written = encoded(payload)
        return f"{written}.{encoded(self._signatures.current(_message(written, bound_to)))}"

    def read(self, value: str, *bound_to: str) -> bytes | None:
        """Return the payload of a value; None if this site did not sign it for these strings."""
        if len(value) > self._purpose.max_length or not value.isascii():
            return None
        written, _, signature = value.rpartition(".")
        signatures = self._signatures.all(_message(written, bound_to))
        for cipher, expected in zip(self._ciphers, signatures, strict=True):
            if secrets.compare_digest(encoded(expected), signature):
                return self._payload(written, cipher)
        return None

    def _payload(self, written: str, cipher: bytes) -> bytes:
        payload = urlsafe_b64decode(written + "=" * (-len(written) % 4))
        if not self._purpose.is_secret:
            return payload
        return _encrypted(cipher, payload[:_NONCE], payload[_NONCE:])


class ExpiringValues:
    """Signs and reads the values of one purpose, which last for `lifetime` seconds.

    Example:
        values = ExpiringValues(settings, Purpose("badges of today"), lifetime=86_400)
        value = values.sign(b"early", now=site.now())
    """

    def __init__(self, settings: Settings, purpose: Purpose, lifetime: int) -> None:
        self._values = SignedValues(settings, purpose)
        self._lifetime = lifetime

    def sign(self, payload: bytes, *bound_to: str, now: float) -> str:
        """Return a value that is valid from now on; see `SignedValues.sign`."""
        expires_at = int(now) + self._lifetime
        return self._values.sign(expires_at.to_bytes(_EXPIRY) + payload, *bound_to)

    def read(self, value: str, *bound_to: str, now: float) -> Unexpired | None:
        """Return the content of a value; None if it has expired, or see `SignedValues.read`.

        A value of a host whose clock is far ahead is refused, because it would last for longer.
        """
        payload = self._values.read(value, *bound_to)
        if payload is None:
            return None
        expires_at = int.from_bytes(payload[:_EXPIRY])
        if not now < expires_at <= now + self._lifetime + _CLOCK_SKEW:
            return None
        return Unexpired(payload[_EXPIRY:], expires_at)


def keyed_digest(key: bytes, message: bytes) -> bytes:
    """Return the digest of a message under a key that is not derived for a purpose."""
    return hmac.digest(key, message, "sha256")


def encoded(content: bytes) -> str:
    """Return bytes in base64url without padding."""
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _derived_keys(settings: Settings, name: str) -> list[bytes]:
    about = f"wsgiauth {name}".encode()
    return [keyed_digest(key.encode(), about) for _, key in settings.secret_keys()]


def _message(written: str, bound_to: tuple[str, ...]) -> bytes:
    return json.dumps([written, *bound_to]).encode()


def _encrypted(key: bytes, nonce: bytes, content: bytes) -> bytes:
    """Return bytes combined with the key stream, which encrypts and decrypts."""
    stream = hashlib.shake_256(key + nonce).digest(len(content))
    return (int.from_bytes(content) ^ int.from_bytes(stream)).to_bytes(len(content))
