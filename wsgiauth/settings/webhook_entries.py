"""The entries of WEBHOOKS, each a URL with the events that it gets, and the keys of WEBHOOK_KEY."""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from wsgiauth.settings.checks import is_forgeable

EXPECTED = (
    "a list of http or https URLs without a username, separated by spaces, each at most once; after"
    " # the events that it gets, as in https://billing.example/hook#registration,user_deleted"
)
EXPECTED_KEYS = (
    "whsec_ and the base64 of 24 to 64 random bytes, or two of these, separated by a space"
)
PREFIX = "whsec_"
MOST_KEYS = 2
MAX_LENGTH = 2000  # characters of a URL

_EVENTS = re.compile("[a-z_]+(,[a-z_]+)*")
_URL = re.compile(r"https?://[!-~]+")  # printable ASCII


class Entry(NamedTuple):
    """A URL, and the names of the events that it gets; None: every change."""

    url: str
    events: frozenset[str] | None

    def __repr__(self) -> str:  # the URL can have a secret
        return f"<Entry {host_of(self.url)}>"


def entries_of(texts: Iterable[str]) -> list[Entry]:
    """Return the entries of WEBHOOKS."""
    found = []
    for text in texts:
        url, _, events = text.partition("#")
        found.append(Entry(url, frozenset(events.split(",")) if events else None))
    return found


def is_entry(text: str) -> bool:
    """Return whether this is an http or https URL, perhaps with events."""
    url, hash_sign, events = text.partition("#")
    if not _URL.fullmatch(url) or len(url) > MAX_LENGTH:
        return False
    if hash_sign and not _EVENTS.fullmatch(events):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:  # an invalid port or IPv6 address
        return False


def insecure(texts: tuple[str, ...]) -> str | None:
    """Return the risk of URLs that others on the network can read; see `Setting.risk`."""
    hosts = [host_of(text) for text in texts if is_forgeable(_origin(text))]
    if not hosts:
        return None
    return f"has http URLs, whose content others on the network can read: {', '.join(hosts)}."


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def host_of(url: str) -> str:
    """Return the host and port of a URL, without the rest, which can have a secret."""
    return urlsplit(url).netloc


def is_key(text: str) -> bool:
    """Return whether this is a key of the Standard Webhooks specification."""
    try:
        key = b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return False
    return text.startswith(PREFIX) and 24 <= len(key) <= 64


def key_bytes(text: str) -> bytes:
    """Return the bytes of a key."""
    return b64decode(text.removeprefix(PREFIX))
