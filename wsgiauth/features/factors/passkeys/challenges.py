"""Challenges, which authenticators sign: an answer permits one thing, once.

A page with a passkey button has a challenge. GET must change nothing, and a stranger can open the
login page without limit. So a challenge is not a row: it is a signed value that expires, for its
purpose and its binding. Only its use is recorded, under its digest.
"""

import secrets
from typing import NamedTuple

from wsgiauth.authentication import one_time
from wsgiauth.authentication.browser_keys import Purpose
from wsgiauth.authentication.lifetimes import CLOCK_SKEW, MINUTE
from wsgiauth.settings import Settings
from wsgiauth.signed_values import ExpiringValues
from wsgiauth.signed_values import Purpose as SigningPurpose

LIFETIME = 10 * MINUTE  # seconds
MOST_BYTES = 183  # bytes, of a challenge with the longest payload

_RANDOM = 32  # bytes
_SIGNED = SigningPurpose("challenges", max_length=MOST_BYTES)

REGISTER = Purpose("register", "preferred")


class Challenge(NamedTuple):
    """A challenge of this site that has not expired."""

    value: bytes  # the whole challenge
    expires_at: int  # seconds since the epoch
    payload: bytes  # see `Challenges.make`


class Challenges:
    """Makes and verifies challenges."""

    def __init__(self, settings: Settings) -> None:
        self._values = ExpiringValues(settings, _SIGNED, LIFETIME)

    def make(self, purpose: Purpose, *bound_to: str, now: float, payload: bytes = b"") -> bytes:
        """Return a new challenge; `payload` has up to 64 bytes that are not secret."""
        unique = secrets.token_bytes(_RANDOM) + payload
        return self._values.sign(unique, purpose.name, *bound_to, now=now).encode()

    def verify(
        self, value: bytes, purpose: Purpose, *bound_to: str, now: float
    ) -> Challenge | None:
        """Return a challenge with this purpose and binding that has not expired, used or not."""
        text = value.decode("latin-1")  # other bytes than ASCII are refused with the signature
        found = self._values.read(text, purpose.name, *bound_to, now=now)
        if found is None:
            return None
        return Challenge(value, found.expires_at, found.payload[_RANDOM:])


def use(challenge: Challenge) -> bool:
    """Record that a challenge is used; return False if it was used before.

    Call this in the transaction of the change that the challenge permits. Of several requests with
    one challenge, the primary key lets one succeed.
    """
    # A host with a slow clock must find the row as long as it accepts the challenge.
    ends_at = challenge.expires_at + CLOCK_SKEW
    return one_time.record(challenge.value.hex(), "used challenge", expires_at=ends_at)
