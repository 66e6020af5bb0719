"""Errands: what a browser that is at a provider comes back for within ten minutes, in a cookie.

The cookie has a random secret, and is signed. `state`, `nonce` and the verifier of PKCE (RFC 7636)
are derived from the secret with a key, so they are bound to this browser and to each other, and
the cookie alone reveals none of them. `state` begins with the tag of its cookie, so that each tab
of a browser comes back to its own errand.
"""

import hashlib
import hmac
import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from wsgiauth.authentication.lifetimes import HOUR, MINUTE
from wsgiauth.settings import Settings
from wsgiauth.web.cookies import TAG_LENGTH, OwnCookie, TaggedCookie, new_tag

LIFETIME = 10 * MINUTE  # seconds
KEPT = HOUR  # seconds for which a browser keeps the cookie, so that it can begin again
ERRAND = OwnCookie("-oidc-", KEPT)

# Purposes
LOG_IN = "log in"
CONNECT = "connect"
CONFIRM = "confirm"

_COOKIE = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})")
_MAX_LENGTH = 3000  # characters, of which a destination of 2,048 takes 2,731


class Errand(NamedTuple):
    """What a browser goes to a provider for."""

    purpose: str
    destination: str = ""  # a safe path
    remember: bool = False
    user_id: int = 0  # of CONNECT and CONFIRM


class BegunErrand(NamedTuple):
    """An errand of a browser that went to a provider, with what the provider has to repeat."""

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
        """What the provider has instead of the verifier (RFC 7636 section 4.2)."""
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())


class Begun(NamedTuple):
    """How a browser goes to a provider; its `repr` has neither."""

    url: str
    cookie: TaggedCookie

    def __repr__(self) -> str:
        return "<Begun>"


class Errands:
    """Makes cookies under SECRET_KEY; reads those under SECRET_KEY_FALLBACKS, too."""

    def __init__(self, settings: Settings) -> None:
        self._keys = [
            hmac.digest(key.encode(), b"wsgiauth errands", "sha256")
            for _, key in settings.secret_keys()
        ]

    def begin(self, errand: Errand, provider: str, now: float) -> tuple[BegunErrand, str]:
        """Return a new errand, and the value of its cookie."""
        secret = secrets.token_urlsafe(32)
        purpose, destination, *further = errand
        head = [provider, secret, new_tag(now), int(now), purpose, *further]
        # Not in JSON, which would double the length of a destination of quotation marks.
        payload = f"{json.dumps(head, separators=(',', ':'))}\n{destination}".encode()
        key = self._keys[0]
        cookie = f"{_encoded(payload)}.{_encoded(_code(key, b'cookie', payload))}"
        return _begun(key, payload), cookie

    def read(self, cookie: str, provider: str, state: str, now: float) -> BegunErrand | None:
        """Return the errand of a browser that came back in time; see `find`.

        Whether it has been used is for the caller to record.
        """
        begun = self.find(cookie, provider, state)
        return begun if begun is not None and now < begun.expires_at else None

    def find(self, cookie: str, provider: str, state: str) -> BegunErrand | None:
        """Return the errand of a browser that came back, or None if this `state` is not its own.

        It may be over, and then is only good to begin again.

        Args:
            provider: The name of the entry whose callback was called.
        """
        match = _COOKIE.fullmatch(cookie) if len(cookie) <= _MAX_LENGTH else None
        if match is None:
            return None
        payload, code = _decoded(match[1]), _decoded(match[2])
        for key in self._keys:
            if hmac.compare_digest(code, _code(key, b"cookie", payload)):
                begun = _begun(key, payload)
                is_own = hmac.compare_digest(begun.state.encode(), state.encode(errors="replace"))
                return begun if is_own and begun.provider == provider else None
        return None


def tag_of(state: str) -> str:
    """Return the tag of the cookie to which a `state` belongs, if we made it."""
    return state[:TAG_LENGTH]


def _begun(key: bytes, payload: bytes) -> BegunErrand:
    """Return the errand of a payload that we signed."""
    head, _, destination = payload.decode().partition("\n")
    provider, _, tag, begun_at, purpose, *further = json.loads(head)
    state, nonce, verifier = (
        _encoded(_code(key, name, payload)) for name in (b"state", b"nonce", b"verifier")
    )
    return BegunErrand(
        Errand(purpose, destination, *further),
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


def _encoded(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """Return what base64 stands for; what it cannot stand for is nothing."""
    padding = -len(text) % 4
    return b"" if padding == 3 else urlsafe_b64decode(text + "=" * padding)
