"""The URIs of clients: which ones can be registered, and which one a request may use.

A URI is compared exactly, as a string (RFC 9700 section 2.1). Only the port of a loopback address
is free, for the apps of a computer, which cannot choose it before (RFC 8252 section 7.3).
"""

import re
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from wsgiauth.messages import _

MAX_LENGTH = 1000  # characters

# RFC 3986 without a fragment, and with each % before two hexadecimal digits.
_URI = re.compile(
    r"([a-z][a-z0-9+.-]*):(?:[!$&-;=?@\[\]_a-z~]|%[0-9a-f]{2})+", re.ASCII | re.IGNORECASE
)
# Strict, because a policy (CSP) has the host, and browsers write it in ASCII and in lower case.
_WEB = re.compile(
    r"(https?)://(?:[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?"
    r"(?=[/?]|\Z)"
)
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]+)?(?=[/?]|\Z)")
_OF_THIS_COMPUTER = ("127.0.0.1", "::1", "localhost")
# Schemes that browsers and systems open themselves, and all that a web site can claim for itself:
# https://html.spec.whatwg.org/multipage/system-state.html#safelisted-scheme
_FORBIDDEN = re.compile(
    "about|blob|cid|content|data|file|filesystem|help|intent|jar|javascript|jnlps?|livescript|mhtml"
    "|mk|mocha|res|resource|shell|vbscript|view-source|wss?"
    "|(android|brave|chrome|edge|firefox|googlechromes?|itms|microsoft-edge|moz|ms|opera|safari"
    "|search|touch|vivaldi|x-apple|x-safari)([-.].*)?|(ext|web)[+].*"
    "|applescript|ie[.].*|shortcuts"
    "|afp|callto|davs?|facetime(-audio)?|feed|ldaps?|nfs|rdp|smb|steam|telnet|vnc|webcals"
    "|bitcoin|ftps?|geo|im|ircs?|magnet|mailto|matrix|mms|news|nntp|openpgp4fpr|sftp|sip|sms|smsto"
    "|ssh|tel|urn|webcal|wtai|xmpp"
)
# A browser or a launcher would open what is inside, as `microsoft-edge:https://…` does.
_INNER_ADDRESS = re.compile("(:|%3a)(/|%2f){2}", re.IGNORECASE)


def problem_of(uri: str, *, is_public: bool) -> str | None:
    """Return why a client cannot register a URI, or None."""
    found = _URI.fullmatch(uri)
    if found is None or len(uri) > MAX_LENGTH or not _is_readable(uri):
        return _("A redirect URI must be a valid, absolute URI in ASCII, without a fragment.")
    if "*" in uri:
        return _("A redirect URI must have no *, because it is compared exactly.")
    scheme = found[1]
    if scheme in ("http", "https"):
        if not _WEB.match(uri):
            return _("A redirect URI must have a host in lower case, and no username.")
        if scheme == "http" and not _LOOPBACK.match(uri):
            return _(
                "A redirect URI must begin with https://;"
                " http:// is only for localhost, 127.0.0.1 and [::1]."
            )
        return None
    if scheme.lower() != scheme or _FORBIDDEN.fullmatch(scheme):
        return _("A redirect URI must not have the scheme %(scheme)s.", scheme=scheme)
    if _INNER_ADDRESS.search(uri, found.end(1) + 1):
        return _("A redirect URI of an app must not have another address in it.")
    if not is_public:
        return _("Only a public client can have a redirect URI with the scheme of an app.")
    return None


def has_own_scheme(uri: str, schemes: Collection[str]) -> bool:
    """Return whether an app that registers itself can have the scheme of a URI.

    A private scheme has a dot (RFC 8252 section 7.1). Others can be of a browser, which opens any
    address.

    Args:
        schemes: Further ones, which the site admits.
    """
    scheme = urlsplit(uri).scheme
    return "." in scheme or scheme in ("http", "https", *schemes)


def can_receive_logouts(uri: str) -> bool:
    """Return whether a client can register a URI for logout tokens: of a web server."""
    return uri.startswith("http") and problem_of(uri, is_public=False) is None


def can_be_opened(uri: str) -> bool:
    """Return whether a URI that an operator names is a valid one of a web server."""
    is_valid = _URI.fullmatch(uri) is not None and len(uri) <= MAX_LENGTH and _is_readable(uri)
    return is_valid and _WEB.match(uri) is not None


def uris_of(stored: str) -> tuple[str, ...]:
    """Return the URIs in a column of a client, which line feeds separate."""
    return tuple(stored.split("\n")) if stored else ()


def is_registered(sent: str, registered: str, *, is_public: bool) -> bool:
    """Return whether a URI of a request is one of those that a client has registered.

    Args:
        registered: As a column has them.
    """
    uris = uris_of(registered)
    if sent in uris:
        return True
    # The rules of `problem_of`, because the port of what was sent was not checked there.
    if not is_public or problem_of(sent, is_public=is_public) is not None:
        return False
    sent_anywhere = _without_port(sent)
    return sent_anywhere != "" and sent_anywhere in map(_without_port, uris)


def origin_of(uri: str) -> str:
    """Return the source for `form-action` (CSP) that matches a registered URI."""
    parts = urlsplit(uri)
    # A policy cannot name an IPv6 address: CSP 3 section 2.3.1.
    if parts.scheme in ("http", "https") and "[" not in parts.netloc:
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:"


def host_of(uri: str) -> str:
    """Return what a person can know an app by: its host, or the scheme of an app."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def known_host(uris: Sequence[str]) -> str:
    """Return what a person can know an app with these URIs by: if it has a web server, its host."""
    web = (each for each in uris if not is_of_this_computer(each))
    return host_of(next(web, uris[0]))


def is_of_this_computer(uri: str) -> bool:
    """Return whether a URI leads to the computer or the phone of the user."""
    parts = urlsplit(uri)
    return parts.scheme != "https" or parts.hostname in _OF_THIS_COMPUTER


def is_loopback(uri: str) -> bool:
    """Return whether a URI is one of this computer that any program can listen at."""
    return _LOOPBACK.match(uri) is not None


def _is_readable(uri: str) -> bool:
    """Return whether Python reads a URI: its port and its IPv6 address are valid."""
    try:
        return urlsplit(uri).port != 0
    except ValueError:
        return False


def _without_port(uri: str) -> str:
    """Return a loopback URI without its port, or "" for another one."""
    found = _LOOPBACK.match(uri)
    return f"http://{found[1]}{uri[found.end() :]}" if found else ""
