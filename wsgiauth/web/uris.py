"""The comparison of URIs that differ in spelling alone (RFC 3986 section 6.2).

Not for redirect URIs and issuers, whose standards compare characters.
"""

import re
from collections.abc import Collection
from ipaddress import AddressValueError, IPv6Address

_WITH_HOST = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<user>(?:[^/?#@]*@)*)"
    r"(?P<host>[^/?#@]*?)(?::(?P<port>[0-9]*))?(?P<rest>[/?#].*)?",
    re.DOTALL,
)
_WEB = re.compile(r"(https?://)(?:([a-z0-9._-]+)|\[([0-9a-f:.]+)\])(:[0-9]+)?/", re.ASCII)
_DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443"}


def canonical(uri: str) -> str:
    """Return the spelling that all equal URIs have; any other string as it is.

    The case of scheme and host, the default port and an empty path make no difference.
    Percent-encoding, dot segments and a slash at the end of a path do.
    """
    found = _WITH_HOST.fullmatch(uri) if uri.isascii() else None
    if found is None:
        return uri
    scheme, host, port = found["scheme"].lower(), found["host"].lower(), found["port"] or ""
    if port and port != _DEFAULT_PORTS.get(scheme):
        host = f"{host}:{port}"
    rest = found["rest"] or ""
    path = "" if rest.startswith("/") else "/"
    return f"{scheme}://{found['user']}{host}{path}{rest}"


def find_equal(uri: str, known: Collection[str]) -> str:
    """Return the URI of `known` that is equal to `uri`, as `known` spells it, or ""."""
    wanted = canonical(uri)
    return next((each for each in known if canonical(each) == wanted), "")


def web_origin(url: str) -> str:
    """Return the origin of a web URL (RFC 6454) as browsers write it, or "" for another string."""
    found = _WEB.match(canonical(url))
    if found is None:
        return ""
    scheme, name, address, port = found.groups(default="")
    try:
        host = name or f"[{IPv6Address(address).compressed}]"
    except AddressValueError:
        return ""
    return f"{scheme}{host}{port}"
