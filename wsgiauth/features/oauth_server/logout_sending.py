"""The request that brings a logout token to an app: bounded in time and size, whatever it does.

A request runs in a thread of its own, for which the caller waits, because neither a name look-up
nor TLS can be interrupted. It follows no redirect, uses no proxy, and reads no body. An operator
chose the URL: see `redirect_uris.can_receive_logouts`.
"""

import socket
import ssl
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlencode, urlsplit

from wsgiauth.web.certificates import problem_of

DEADLINE = 8.0  # seconds for a request, from the name look-up to the headers of its response
ADDRESSES = 3  # of a host that are tried

_CONTENT_TYPE = "application/x-www-form-urlencoded"


class UnansweredError(Exception):
    """A request got no answer; the message is the reason."""


def send(url: str, token: str, deadline: float = DEADLINE) -> int:
    """Send a logout token, and return the status of the answer.

    Implements OpenID Connect Back-Channel Logout 1.0, section 2.5.

    Args:
        deadline: Seconds.

    Raises:
        UnansweredError: The app did not answer in time, or not with HTTP.
    """
    request = _Request(url, token, deadline)
    try:
        request.start()
    except RuntimeError:  # there are too many threads
        raise UnansweredError("connection") from None
    request.join(deadline)
    if request.is_alive():
        request.abandon()
        raise UnansweredError("timeout")
    if request.status is None:
        raise UnansweredError(request.failure)
    return request.status


class _Request(threading.Thread):
    """One request, which ends soon after it is abandoned."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        super().__init__(name="wsgiauth logout token", daemon=True)
        self._url = urlsplit(url)
        self._body = urlencode({"logout_token": token})
        self._timeout = timeout  # of each step
        self._socket: socket.socket | None = None
        self._is_abandoned = False
        self.status: int | None = None
        self.failure = "connection"

    def run(self) -> None:
        try:
            self.status = self._exchange()
        except TimeoutError:
            self.failure = "timeout"
        except ssl.SSLCertVerificationError as error:
            self.failure = problem_of(error)
        except (OSError, HTTPException, ValueError):  # also of a host that is no name
            self.failure = "connection"

    def abandon(self) -> None:
        """End the wait of a connected thread; any other thread ends by its own timeouts."""
        self._is_abandoned = True
        if self._socket is not None:
            with suppress(OSError):  # the thread was faster
                # `SSLSocket.shutdown` also forgets the state of TLS, which the thread still uses.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _exchange(self) -> int:
        host = self._url.hostname or ""
        tls = None  # on this computer
        connection = HTTPConnection(host, self._url.port)
        if self._url.scheme == "https":
            tls = ssl.create_default_context()
            connection = HTTPSConnection(host, self._url.port, context=tls)
        try:
            # A connection forgets its socket when its last response begins.
            self._socket = connection.sock = self._connected(host, connection.port)
            if tls is not None:
                wrapped = tls.wrap_socket(
                    self._socket, server_hostname=host, do_handshake_on_connect=False
                )
                self._socket = connection.sock = wrapped
                self._end_if_abandoned()
                wrapped.do_handshake()
            self._end_if_abandoned()
            target = f"{self._url.path or '/'}{'?' if self._url.query else ''}{self._url.query}"
            headers = {"Content-Type": _CONTENT_TYPE, "User-Agent": "wsgiauth"}
            connection.request("POST", target, self._body, {**headers, "Connection": "close"})
            return connection.getresponse().status
        finally:
            connection.close()

    def _connected(self, host: str, port: int) -> socket.socket:
        """Connect to the first address that answers, of a few; together they have the timeout."""
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[:ADDRESSES]
        failure: OSError = TimeoutError()
        for family, kind, protocol, _, address in addresses:
            self._end_if_abandoned()
            connecting = socket.socket(family, kind, protocol)
            try:
                connecting.settimeout(self._timeout / len(addresses))
                connecting.connect(address)
            except OSError as error:
                connecting.close()
                failure = error
            else:
                connecting.settimeout(self._timeout)
                return connecting
        raise failure

    def _end_if_abandoned(self) -> None:
        if self._is_abandoned:
            raise TimeoutError
