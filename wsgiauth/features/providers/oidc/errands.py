"""Errands: the reasons why browsers go to a provider, each in a signed cookie for ten minutes.

`state`, `nonce` and the verifier of PKCE (RFC 7636) are derived from a random secret in the cookie,
with a key. So they are bound to this browser and to each other, and the cookie alone reveals none
of them. `state` begins with the tag of its cookie, so that each tab of a browser comes back to its
own errand.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator
from typing import NamedTuple

from wsgiauth.authentication.lifetimes import HOUR, MINUTE
from wsgiauth.features.providers.oidc.documents import encoded
from wsgiauth.settings import Settings
from wsgiauth.signed_values import KeyedDigests, Purpose, SignedValues
from wsgiauth.web.cookies import OwnCookie, TaggedCookie, new_tag
from wsgiauth.web.urls import next_in_cookie, next_of_cookie

LIFETIME = 10 * MINUTE  # seconds
KEPT = HOUR  # seconds for which a browser keeps the cookie, so that it can begin again
ERRAND = OwnCookie("-oidc-", KEPT)

# Purposes
LOG_IN = "log in"
CONNECT = "connect"
CONFIRM = "confirm"

# A destination of 2,048 bytes takes 2,731 characters.
_COOKIES = Purpose("errands", max_length=3000)
_DERIVED = Purpose("state, nonce and verifier of errands")


class Errand(NamedTuple):
    """The reason why a browser goes to a provider."""

    purpose: str
    destination: str = ""  # a safe `next`, or empty
    remember: bool = False
    user_id: int = 0  # of CONNECT and CONFIRM


class BegunErrand(NamedTuple):
    """An errand of a browser that went to a provider, with the values for the provider."""

    errand: Errand
    provider: str  # the name of its entry
    tag: str  # of its cookie
    state: str
    nonce: str
    verifier: str
    begun_at: int  # seconds since the epoch
    expires_at: int

    def __repr__(self) -> str:
        return f"<BegunErrand {self.errand.purpose} at {self.provider}>"  # the rest is secret

    @property
    def challenge(self) -> str:
        """The code challenge (RFC 7636 section 4.2)."""
        return encoded(hashlib.sha256(self.verifier.encode()).digest())


class Begun(NamedTuple):
    """The URL at a provider, and the cookie of the errand; the `repr` has neither."""

    url: str
    cookie: TaggedCookie

    def __repr__(self) -> str:
        return "<Begun>"


class Errands:
    """Makes and reads the cookies of errands."""

    def __init__(self, settings: Settings) -> None:
        self._cookies = SignedValues(settings, _COOKIES)
        self._derived = KeyedDigests(settings, _DERIVED)

    def begin(self, errand: Errand, provider: str, now: float) -> tuple[BegunErrand, str]:
        """Return a new errand, and the value of its cookie."""
        secret = secrets.token_urlsafe(32)
        purpose, destination, *further = errand
        head = [provider, secret, new_tag(now), int(now), purpose, *further]
        # JSON would double the length of a destination of quotation marks.
        written = json.dumps(head, separators=(",", ":")).encode()
        payload = written + b"\n" + next_in_cookie(destination)
        return next(self._begun(payload)), self._cookies.sign(payload)

    def find(self, cookie: str, provider: str, state: str) -> BegunErrand | None:
        """Return the errand of a cookie, if this provider and this `state` belong to it.

        The caller checks whether it has expired; a browser can begin it again.
        """
        payload, presented = self._cookies.read(cookie), state.encode(errors="replace")
        if payload is None:
            return None
        for begun in self._begun(payload):
            if secrets.compare_digest(begun.state.encode(), presented):
                return begun if begun.provider == provider else None
        return None

    def _begun(self, payload: bytes) -> Iterator[BegunErrand]:
        """Yield the errand of a payload that this site has signed, for each key."""
        head, _, stored = payload.partition(b"\n")
        provider, _, tag, begun_at, purpose, *further = json.loads(head)
        names = (b"state", b"nonce", b"verifier")
        derived = (self._derived.all(name + b":" + payload) for name in names)
        for state, nonce, verifier in zip(*derived, strict=True):
            yield BegunErrand(
                Errand(purpose, next_of_cookie(stored), *further),
                provider,
                tag,
                f"{tag}{encoded(state)}",
                encoded(nonce),
                encoded(verifier),
                begun_at,
                begun_at + LIFETIME,
            )
