"""The address and the networks of a client, for the limits, and its browser in words.

Only REMOTE_ADDR is trusted, because any client can send a forwarded header. The server knows its
proxies, and sets REMOTE_ADDR accordingly.

A client can send any User-Agent (RFC 9110 section 10.1.5). The words only help owners to recognise
their own sessions, and never contain a part of the header.
"""

import logging
import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.messages import _

# RFC 6177: a subscriber gets between a /64 and a /48, and can use every address in it.
SUBSCRIBER_PREFIX, SITE_PREFIX = 64, 48  # bits

MAX_USER_AGENT = 255  # characters of the header that are kept
_MAX_ADDRESS_LENGTH = 64  # characters
_UNPRINTABLE = re.compile(r"[^ -~]")

# The order matters, because a header also names the browsers that it is compatible with.
_BROWSERS = {
    "Edge": r"\bEdg(?:e|A|iOS)?/",
    "Opera": r"\bOPR/|\bOpera\b",
    "Samsung Internet": r"\bSamsungBrowser/",
    "Firefox": r"\b(?:Firefox|FxiOS)/",
    "Chrome": r"\b(?:Chrome|CriOS|Chromium|HeadlessChrome)/",
    "Safari": r"\bVersion/[\d.]+ .*\bSafari/",
}
_PROGRAMS = {
    "curl": r"^curl/",
    "Python": r"^python-(?:requests|httpx|urllib3)/|^Python-urllib/|\baiohttp/",
}
_AGENTS = {**_BROWSERS, **_PROGRAMS}
_SYSTEMS = {
    "Android": r"\bAndroid\b",
    "iPhone": r"\biPhone\b",
    "iPad": r"\biPad\b",
    "Windows": r"\bWindows NT\b",
    "macOS": r"\bMacintosh\b|\bMac OS X\b",
    "ChromeOS": r"\bCrOS\b",
    "Linux": r"\bLinux\b|\bX11\b",
}

_PHONES = ("Android", "iPhone", "iPad")

logger = logging.getLogger("wsgiauth")


class Clients:
    """Returns the networks of clients; warns once if REMOTE_ADDR is not an address."""

    def __init__(self) -> None:
        self._has_warned = False

    def networks(self, environ: WSGIEnvironment) -> tuple[str, ...]:
        """Return the address of an IPv4 client, or the /64 and the /48 of an IPv6 client.

        All clients with one REMOTE_ADDR that is no address, as of a Unix socket, count as one.
        """
        host = _host(environ)
        if _parsed(host) is not None:
            return networks_of(host)
        remote: str = environ.get("REMOTE_ADDR", "")
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "REMOTE_ADDR is %s, which is not an IP address: all such clients share one limit."
                " Configure the server to take the client's address from the proxy.",
                ascii(remote[:100]),
            )
        return (remote,)


class Client(NamedTuple):
    """The origin of a session, for its owner: cut to printable ASCII; empty if unknown.

    Example:
        client = Client.of(environ)
    """

    address: str = ""
    agent: str = ""  # the User-Agent
    language: str = ""  # the language of the site that the client asks for
    chosen: str = ""  # the one that the reader has chosen for this login

    @classmethod
    def of(cls, environ: WSGIEnvironment, language: str = "", chosen: str = "") -> "Client":
        """Return the client of a request."""
        agent = environ.get("HTTP_USER_AGENT", "")[:MAX_USER_AGENT]
        address = (client_address(environ) or "")[:_MAX_ADDRESS_LENGTH]
        return cls(_UNPRINTABLE.sub("", address), _UNPRINTABLE.sub("", agent), language, chosen)


def client_address(environ: WSGIEnvironment) -> str | None:
    """Return the client's address without its port; REMOTE_ADDR if it is not an address."""
    host = _host(environ)
    return environ.get("REMOTE_ADDR") if _parsed(host) is None else host


def networks_of(address: str) -> tuple[str, ...]:
    """Return the networks of a `client_address`; see `Clients.networks`."""
    parsed = _parsed(address)
    if isinstance(parsed, IPv6Address):
        return tuple(
            str(IPv6Network((parsed.packed, prefix), strict=False))
            for prefix in (SUBSCRIBER_PREFIX, SITE_PREFIX)
        )
    return (str(parsed or address),)


def network_of(address: str) -> str:
    """Return the narrowest network of an address, or "" if it is not an address."""
    return networks_of(address)[0] if _parsed(address) else ""


def user_agent_in_words(header: str) -> str:
    """Return the browser and the system of a User-Agent, such as "Firefox on Windows".

    Example:
        text = user_agent_in_words(Client.of(environ).agent)
    """
    return _in_words(_first(_AGENTS, header), _first(_SYSTEMS, header))


def is_browser(header: str) -> bool:
    """Return whether a User-Agent is that of a known browser."""
    return bool(_first(_BROWSERS, header))


def browser_in_words(words: str) -> str:
    """Return the message of `user_agent_in_words` for its stored string, or an unknown string."""
    browser, _on, system = words.partition(" on ")
    message = _in_words(browser if browser in _AGENTS else "", system if system in _SYSTEMS else "")
    return message if message == words else words


def device_of(words: str) -> str:
    """Return "phone", "laptop" or "terminal" for the words of `user_agent_in_words`."""
    browser, _on, system = words.partition(" on ")
    if browser in _PROGRAMS:
        return "terminal"
    return "phone" if system in _PHONES else "laptop"


def _host(environ: WSGIEnvironment) -> str:
    """Return REMOTE_ADDR without its port and brackets."""
    remote: str = environ.get("REMOTE_ADDR", "")
    if remote.lower() == "::ffff":
        # waitress reads the last part of an IPv6 address in X-Forwarded-For as a port.
        return f"{remote}:{environ.get('REMOTE_PORT', '')}"
    if remote.startswith("["):
        return remote[1:].partition("]")[0]
    return remote.partition(":")[0] if remote.count(":") == 1 else remote


@lru_cache(maxsize=1024)
def _parsed(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host.partition("%")[0])  # without the zone of a link-local address
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _in_words(browser: str, system: str) -> str:
    if browser and system:
        return _("%(browser)s on %(system)s", browser=browser, system=system)
    if system:
        return _("Unknown browser on %(system)s", system=system)
    return browser or _("Unknown browser")


def _first(table: Mapping[str, str], header: str) -> str:
    """Return the first name whose pattern matches, or ""."""
    return next((name for name, pattern in table.items() if re.search(pattern, header)), "")
