"""The forms of settings: cookie names, origins, sources of pages, words and folders."""

import re
from pathlib import Path
from urllib.parse import urlsplit

MAX_WORD_LENGTH = 254  # characters

# As browsers write them (the URL standard, "serialization of an origin"); compared exactly.
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?")
_DEFAULT_PORT = re.compile(r"http:.*:80|https:.*:443")
# Origins that anyone on the network can impersonate; localhost is not on the network.
_FORGEABLE = re.compile(r"http://(?!((.+\.)?localhost|127(\.[0-9]+){3}|\[::1\])(:[0-9]+)?$)")
# RFC 6265 section 4.1.1: a token. Browsers give these prefixes a special meaning.
_COOKIE_NAME = re.compile(r"(?!__(?i:host|secure|http)-)[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")


def is_word(word: str) -> bool:
    """Return whether `word` is neither empty nor too long to compare with passwords."""
    return 0 < len(word) <= MAX_WORD_LENGTH


def is_cookie_name(name: str) -> bool:
    """Return whether browsers accept a cookie of this name, with and without `__Host-`."""
    return _COOKIE_NAME.fullmatch(name) is not None


def is_origin(origin: str) -> bool:
    """Return whether `origin` is one as a browser writes it."""
    return _ORIGIN.fullmatch(origin) is not None and not _DEFAULT_PORT.fullmatch(origin)


def is_forgeable(origin: str) -> bool:
    """Return whether anyone on a visitor's network can impersonate this origin."""
    return _FORGEABLE.match(origin) is not None


def is_page_source(source: str) -> bool:
    """Return whether a page's Content-Security-Policy can safely name this origin."""
    return is_origin(source) and not is_forgeable(source) and "[" not in source  # no IPv6 address


def has_host_name(url: str) -> bool:
    """Return whether the host of an origin, or of a URL, is a name and not an IP address.

    Browsers make passkeys for names alone (Web Authentication, level 3, section 5.1.3, step 7).
    """
    host = urlsplit(url).hostname or ""
    last = host.rstrip(".").rpartition(".")[2]
    return last != "" and not last.isdigit() and ":" not in host


def folder_problem(folder: str) -> str | None:
    """Return what is wrong with a folder, as the end of a sentence about it, or None."""
    try:
        is_folder = Path(folder).is_dir()
    except (OSError, ValueError):  # too long, with NUL, or not accessible
        is_folder = False
    return None if is_folder else "is no such folder"
