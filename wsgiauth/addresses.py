"""Who counts as one client where clients are counted."""

from ipaddress import IPv6Address, IPv6Network, ip_address
from wsgiref.types import WSGIEnvironment

# The least that a subscriber is given (RFC 6177): each of its addresses costs nothing.
SUBSCRIBER_PREFIX = 64  # bits


def client_network(environ: WSGIEnvironment) -> str:
    """Return the client's IPv4 address, or the /64 network of its IPv6 address.

    REMOTE_ADDR alone is asked. Forwarded headers are anybody's claim; only the server knows which
    proxy to believe, and writes what it believes into REMOTE_ADDR.
    """
    remote: str = environ.get("REMOTE_ADDR", "")
    try:
        address = ip_address(remote.partition("%")[0])  # less the zone of a link-local address
    except ValueError:
        return remote  # a Unix socket, or a server that gives names
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return str(IPv6Network((address, SUBSCRIBER_PREFIX), strict=False))
        address = address.ipv4_mapped
    return str(address)
