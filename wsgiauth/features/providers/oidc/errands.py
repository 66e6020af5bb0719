"""Errands: the reasons why browsers go to a provider, each in a signed cookie for ten minutes.

`state`, `nonce` and the verifier of PKCE (RFC 7636) are derived from a random secret in the cookie,
with a key. So they are bound to this browser and to each other, and the cookie alone reveals none
of them. `state` begins with the tag of its cookie, so that each tab of a browser comes back to its
own errand.
"""

import hashlib
import hmac
import json
import re
import secrets
from typing import NamedTuple

from wsgiauth.authentication.lifetimes import HOUR, MINUTE
from wsgiauth.features.providers.oidc.documents import decoded, encoded
from wsgiauth.settings import Settings
from wsgiauth.web.cookies import OwnCookie, TaggedCookie, new_tag
from wsgiauth.web.urls import next_in_cookie, next_of_cookie

LIFETIME = 10 * MINUTE  # seconds
KEPT = HOUR  # seconds for which a browser keeps the cookie, so that it can begin again
ERRAND = OwnCookie("-oidc-", KEPT)

# Purposes
LOG_IN = "log in"
CONNECT = "connect"
CONFIRM = "confirm"

_COOKIE = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})")
_MAX_LENGTH = 3000  # characters, of which a destination of 2,048 bytes takes 2,731


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
    """Signs cookies with SECRET_KEY; also reads cookies that SECRET_KEY_FALLBACKS have signed."""

    def __init__(self, settings: Settings) -> None:
        self._keys = settings.keys_for("errands")

    def begin(self, errand: Errand, provider: str, now: float) -> tuple[BegunErrand, str]:
        """Return a new errand, and the value of its cookie."""
        secret = secrets.token_urlsafe(32)
        purpose, destination, *further = errand
        head = [provider, secret, new_tag(now), int(now), purpose, *further]
        # JSON would double the length of a destination of quotation marks.
        written = json.dumps(head, separators=(",", ":")).encode()
        payload = written + b"\n" + next_in_cookie(destination)
        key = self._keys[0]
        cookie = f"{encoded(payload)}.{encoded(_code(key, b'cookie', payload))}"
        return _begun(key, payload), cookie

    def find(self, cookie: str, provider: str, state: str) -> BegunErrand | None:
        """Return the errand of a cookie, if this provider and this `state` belong to it.

        The caller checks whether it has expired; a browser can begin it again.
        """
        match = _COOKIE.fullmatch(cookie) if len(cookie) <= _MAX_LENGTH else None
        if match is None:
            return None
        payload, code = decoded(match[1]), decoded(match[2])
        for key in self._keys:
            if hmac.compare_digest(code, _code(key, b"cookie", payload)):
                begun = _begun(key, payload)
                is_own = hmac.compare_digest(begun.state.encode(), state.encode(errors="replace"))
                return begun if is_own and begun.provider == provider else None
        return None


def _begun(key: bytes, payload: bytes) -> BegunErrand:
    """Return the errand of a payload that this site has signed."""
    head, _, stored = payload.partition(b"\n")
    provider, _, tag, begun_at, purpose, *further = json.loads(head)
    state, nonce, verifier = (
        encoded(_code(key, name, payload)) for name in (b"state", b"nonce", b"verifier")
    )
    return BegunErrand(
        Errand(purpose, next_of_cookie(stored), *further),
        provider,
        tag,
        f"{tag}{state}",
        nonce,
        verifier,
        begun_at,
        begun_at + LIFETIME,
    )


def _code(key: bytes, name: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, name + b":" + payload, "sha256")
