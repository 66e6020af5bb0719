"""The redirect URIs of clients: which ones can be registered, and which one a request may use.

A URI is compared exactly, as a string (RFC 9700 section 2.1). Only the port of a loopback address
is free, for the apps of a computer, which cannot choose it before (RFC 8252 section 7.3).
"""

import re
from urllib.parse import SplitResult, urlsplit

from wsgiauth.messages import _

MAX_LENGTH = 1000  # characters
LOOPBACK = ("127.0.0.1", "[::1]", "localhost")

# RFC 3986 without the characters of a fragment and those that software reads in different ways.
_URI = re.compile(r"([a-z][a-z0-9+.-]*):[!$-\[\]_a-z~]+", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]{1,5})?(?=[/?]|\Z)")
# Schemes that a browser or a system opens as something else than an app of the user.
_FORBIDDEN = re.compile(
    "about|blob|chrome.*|data|file|filesystem|ftp|intent|jar|javascript|mailto|ms-.*|sms|tel"
    "|vbscript|view-source|wss?"
)


def problem_of(uri: str, *, is_public: bool) -> str | None:
    """Return why a client cannot register a URI, or None."""
    found = _URI.fullmatch(uri)
    if found is None or len(uri) > MAX_LENGTH:
        return _("A redirect URI must be an absolute URI without a fragment.")
    parts = _split(uri)
    if parts is None or "@" in parts.netloc or "*" in parts.netloc:
        return _("A redirect URI must have no username, no password and no wildcard.")
    scheme = found[1]
    if scheme == "https":
        is_fit = _HOST.fullmatch(parts.netloc.partition(":")[0]) or "[" in parts.netloc
        return None if parts.hostname and is_fit else _("This redirect URI has no valid host.")
    if scheme == "http":
        if _LOOPBACK.match(uri):
            return None
        return _("A redirect URI must begin with https://; http:// is only for localhost.")
    if scheme.lower() != scheme or _FORBIDDEN.fullmatch(scheme):
        return _("A redirect URI must not have the scheme %(scheme)s.", scheme=scheme)
    if not is_public:
        return _("Only a public client can have a redirect URI with the scheme of an app.")
    return None


def is_registered(sent: str, registered: str, *, is_public: bool) -> bool:
    """Return whether a URI of a request is one of those that a client has registered.

    Args:
        registered: Separated by line feeds.
    """
    uris = registered.split("\n")
    if sent in uris:
        return bool(sent)
    # The rules of `problem_of`, because the port of what was sent was not checked there.
    if not is_public or problem_of(sent, is_public=is_public) is not None:
        return False
    sent_anywhere = _without_port(sent)
    return sent_anywhere != "" and sent_anywhere in map(_without_port, uris)


def origin_of(uri: str) -> str:
    """Return the source for `form-action` (CSP) that matches a registered URI."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:"


def host_of(uri: str) -> str:
    """Return what a person can know an app by: its host, or the scheme of an app."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def is_of_this_computer(uri: str) -> bool:
    """Return whether a URI leads to the computer or the phone of the user."""
    return not uri.startswith("https://")


def _without_port(uri: str) -> str:
    """Return a loopback URI without its port, or "" for another one."""
    found = _LOOPBACK.match(uri)
    return f"http://{found[1]}{uri[found.end() :]}" if found else ""


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        return parts if parts.port != 0 else None
    except ValueError:  # an invalid port or IPv6 address
        return None
