"""Challenges, which authenticators sign: an answer permits one thing, once.

A page with a passkey button has a challenge. GET must change nothing, and a stranger can open the
login page without limit. So a challenge is not a row: it has its expiry, and a code (HMAC) over the
expiry, its purpose and its binding. Only its use is recorded, under its digest.
"""

import hmac
import json
import secrets
from typing import NamedTuple

from wsgiauth.authentication import one_time
from wsgiauth.authentication.browser_keys import Purpose
from wsgiauth.authentication.lifetimes import CLOCK_SKEW, MINUTE
from wsgiauth.settings import Settings

LIFETIME = 10 * MINUTE  # seconds

_CODE, _EXPIRY, _RANDOM = 32, 8, 32  # bytes
_LENGTH = _CODE + _EXPIRY + _RANDOM
_MAX_LENGTH = _LENGTH + 64


REGISTER = Purpose("register", "preferred")


class Challenge(NamedTuple):
    """A challenge of this site that has not expired."""

    value: bytes  # the whole challenge
    expires_at: int  # seconds since the epoch
    payload: bytes  # see `Challenges.make`


class Challenges:
    """Makes challenges under SECRET_KEY; verifies those under SECRET_KEY_FALLBACKS, too."""

    def __init__(self, settings: Settings) -> None:
        self._keys = settings.keys_for("challenges")

    def make(self, purpose: Purpose, *bound_to: str, now: float, payload: bytes = b"") -> bytes:
        """Return a new challenge; `payload` has up to 64 bytes that are not secret."""
        expires_at = int(now) + LIFETIME
        signed = expires_at.to_bytes(_EXPIRY) + secrets.token_bytes(_RANDOM) + payload
        return _code(self._keys[0], purpose, bound_to, signed) + signed

    def verify(
        self, value: bytes, purpose: Purpose, *bound_to: str, now: float
    ) -> Challenge | None:
        """Return a challenge with this purpose and binding that has not expired, used or not."""
        if not _LENGTH <= len(value) <= _MAX_LENGTH:
            return None
        code, signed = value[:_CODE], value[_CODE:]
        expires_at = int.from_bytes(signed[:_EXPIRY])
        codes = (_code(key, purpose, bound_to, signed) for key in self._keys)
        if expires_at <= now or not any(hmac.compare_digest(code, each) for each in codes):
            return None
        return Challenge(value, expires_at, signed[_EXPIRY + _RANDOM :])


def use(challenge: Challenge) -> bool:
    """Record that a challenge is used; return False if it was used before.

    Call this in the transaction of the change that the challenge permits. Of several requests with
    one challenge, the primary key lets one succeed.
    """
    # A host with a slow clock must find the row as long as it accepts the challenge.
    ends_at = challenge.expires_at + CLOCK_SKEW
    return one_time.record(challenge.value.hex(), "used challenge", expires_at=ends_at)


def _code(key: bytes, purpose: Purpose, bound_to: tuple[str, ...], signed: bytes) -> bytes:
    # JSON quotes each part, so no two lists of parts look alike.
    about = json.dumps([purpose.name, *bound_to, signed.hex()])
    return hmac.digest(key, about.encode(), "sha256")
