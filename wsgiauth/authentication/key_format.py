"""The format of API keys: `wsgiauth_<id>_<secret><checksum>`, in digits and ASCII letters.

Secret scanners find keys by the prefix and the length, and know by the checksum what only looks
like one. There is no dot, so a key is never taken for a JWT, nor a JWT for a key.

A handle is the id that names an API key, an app or a passkey in lists and forms; no credential.
"""

import re
import secrets
import zlib
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

PREFIX = "wsgiauth_"
ID_LENGTH = 12

_ALPHABET = digits + ascii_uppercase + ascii_lowercase
_SECRET_LENGTH = 43  # 62**43 > 2**256
_CHECKSUM_LENGTH = 6  # 62**6 > 2**32
_KEY = re.compile(
    f"{PREFIX}([0-9A-Za-z]{{{ID_LENGTH}}})_[0-9A-Za-z]{{{_SECRET_LENGTH}}}([0-9A-Za-z]{{6}})"
)
_HANDLE = re.compile("[0-9A-Za-z]{1,64}")


class NewKey(NamedTuple):
    """A key that was just made."""

    id: str  # its handle
    text: str  # the whole key, a secret

    def __repr__(self) -> str:
        return f"<API key {self.id}>"


def make_key() -> NewKey:
    """Return a new random key, whose secret has 256 bits."""
    key_id, secret = _random(ID_LENGTH), _random(_SECRET_LENGTH)
    unchecked = f"{PREFIX}{key_id}_{secret}"
    return NewKey(key_id, unchecked + _checksum(unchecked))


def id_of(text: str) -> str | None:
    """Return the id in a key, or None if `text` is no key, or a mistyped one."""
    match = _KEY.fullmatch(text)
    if match is None or match[2] != _checksum(text[:-_CHECKSUM_LENGTH]):
        return None
    return match[1]


def is_handle(text: object) -> bool:
    """Return whether `text` has the form of a handle, and so can be part of a query."""
    return isinstance(text, str) and _HANDLE.fullmatch(text) is not None


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _checksum(unchecked: str) -> str:
    """Return the CRC-32 of an ASCII string as six digits of base 62."""
    rest, checksum = zlib.crc32(unchecked.encode()), ""
    for _ in range(_CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(_ALPHABET))
        checksum = _ALPHABET[digit] + checksum
    return checksum
