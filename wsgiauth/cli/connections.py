"""Limits for the connections of `serve`, so that no client keeps others out.

waitress accepts a number of connections, whoever opens them, and then no more until some are
closed. Without these limits, a client that sends a hundred halves of requests stops the server. So
does one that sends thousands of whole requests and reads no answer: each thread waits to send one.
"""

import logging
import time
from collections import Counter
from typing import Any

from waitress import channel as channels
from waitress import parser

from wsgiauth.web.clients import networks_of

PATIENCE = 1.0  # seconds for the request of a connection, before it makes room for another client's
STALLED = 60.0  # seconds in which a client reads nothing of its answer; nginx takes the same
MOST_PIPELINED = 16  # requests of a connection that have no answer yet

logger = logging.getLogger("wsgiauth")


class Channel(channels.HTTPChannel):  # type: ignore[misc]
    """A connection.

    Attributes:
        network: Of its client.
        unread_since: When the client last read something of its answer; 0.0: there is none.
    """

    network = ""
    unread_since = 0.0

    @staticmethod
    def parser_class(adjustments: Any) -> Any:
        """Return a parser that knows when its request began."""
        request = parser.HTTPRequestParser(adjustments)
        request.begun = time.time()  # `last_activity` of the channel is the time of its last byte
        return request

    def received(self, data: bytes) -> bool:
        """Receive bytes; close the connection if it has too many requests."""
        is_read: bool = super().received(data)
        if len(self.requests) > MOST_PIPELINED:
            self.handle_close()
        return is_read


class Acceptor:
    """Makes waitress's channels, a connection each, up to a limit for each client network.

    At the limit, the connection that has waited longest for a request of this client is closed.

    Args:
        most: Connections for each client; 0 is no limit.
        proxy: The address that has no limit, because it connects for all clients; "*" is any.
    """

    def __init__(self, most: int, proxy: str | None) -> None:
        self._most = 0 if proxy == "*" else most
        self._proxy = proxy
        self._has_warned = False

    def __call__(self, server: Any, *arguments: Any, **options: Any) -> Any:
        """Return the channel of a new connection; waitress calls this as its `channel_class`."""
        channel = Channel(server, *arguments, **options)
        address: str = channel.addr[0]
        channel.network = networks_of(address)[0]
        if self._most and address != self._proxy:
            self._limit(server, channel.network)
        return channel

    def _limit(self, server: Any, network: str) -> None:
        of_client = [each for each in server.active_channels.values() if each.network == network]
        if len(of_client) <= self._most:
            return
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "%s has more than %d connections: those that wait for a request are closed. If this"
                " is a proxy, name it by --trusted-proxy; otherwise, --max-connections-per-client"
                " changes the limit.",
                network,
                self._most,
            )
        # The new connection is among them, so there is one, even if all others are answered.
        min(filter(_is_waiting, of_client), key=_order).handle_close()


def make_room(server: Any, connections: dict[int, Any]) -> None:
    """Close a connection that waits for a request, if there is room for no other.

    Of the client with the most connections, the one that has waited longest.
    """
    if len(connections) < server.adj.connection_limit - 1:  # at it, waitress logs two lines
        return
    patience_ends = time.time() - PATIENCE
    channels_open = server.active_channels.values()
    waiting = [
        each for each in channels_open if _is_waiting(each) and _waits_since(each) < patience_ends
    ]
    if waiting:
        numbers = Counter(each.network for each in channels_open)
        min(waiting, key=lambda each: (-numbers[each.network], *_order(each))).handle_close()


def close_stalled(server: Any) -> None:
    """Close the connections of clients that have read nothing of an answer for `STALLED`."""
    now = time.time()
    for each in list(server.active_channels.values()):
        if not each.total_outbufs_len:
            each.unread_since = 0.0
            continue
        # An answer that begins after a minute is not read yet when its first bytes are there.
        each.unread_since = max(each.unread_since or now, each.last_activity)
        if now - each.unread_since > STALLED:
            each.handle_close()


def _is_waiting(channel: Any) -> bool:
    """Return whether the client has to send something; no thread uses such a channel."""
    return not channel.requests and not channel.total_outbufs_len


def _waits_since(channel: Any) -> float:
    since: float = channel.last_activity if channel.request is None else channel.request.begun
    return since


def _order(channel: Any) -> tuple[bool, float]:
    """Order uploads after other channels, and each by the time since when it waits."""
    return channel.request is not None and channel.request.headers_finished, _waits_since(channel)
