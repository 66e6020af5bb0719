"""Which client sent a request, as far as limits count clients.

On the way of a login: the endpoint asks here once, and the throttle and the hash slots count by the
answer. REMOTE_ADDR alone counts. Any client can claim a forwarded header; only the server knows
which proxy to trust, and writes the address that it trusts into REMOTE_ADDR.
"""

import logging
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from wsgiref.types import WSGIEnvironment

# RFC 6177: a subscriber gets a /64 at the least and a /48 at the most, and each address in it is
# free of charge.
SUBSCRIBER_PREFIX, SITE_PREFIX = 64, 48  # bits

logger = logging.getLogger("wsgiauth")


class Clients:
    """Names the client of a request, and warns once when the server does not name it."""

    def __init__(self) -> None:
        self._has_warned = False

    def networks(self, environ: WSGIEnvironment) -> tuple[str, ...]:
        """Return the networks of the client, the narrowest first.

        For IPv4 that is the address, for IPv6 the /64 and the /48. Where REMOTE_ADDR holds no
        address, as behind a Unix socket, all clients with the same REMOTE_ADDR are one client.

        Args:
            environ: The request; not changed.
        """
        address = _parsed(_host(environ))
        if isinstance(address, IPv6Address):
            return _network(address, SUBSCRIBER_PREFIX), _network(address, SITE_PREFIX)
        if isinstance(address, IPv4Address):
            return (str(address),)
        remote: str = environ.get("REMOTE_ADDR", "")
        self._warn(remote)
        return (remote,)

    def _warn(self, remote: str) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        logger.warning(
            "REMOTE_ADDR is %s, which is not an IP address: all such clients share one limit."
            " Make the server take the client's address from the proxy.",
            ascii(remote[:100]),
        )


def client_address(environ: WSGIEnvironment) -> str | None:
    """Return the client's address without brackets and port; if it is none, REMOTE_ADDR as it is.

    Args:
        environ: The request; not changed.
    """
    host = _host(environ)
    return environ.get("REMOTE_ADDR") if _parsed(host) is None else host


def _host(environ: WSGIEnvironment) -> str:
    """Return what stands before the port in REMOTE_ADDR, without brackets."""
    remote: str = environ.get("REMOTE_ADDR", "")
    if remote.lower() == "::ffff":
        # waitress takes what follows the last colon of X-Forwarded-For for a port.
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


def _network(address: IPv6Address, prefix: int) -> str:
    return str(IPv6Network((address.packed, prefix), strict=False))
