"""Requests to other servers: bounded in time and in size, whatever the server does.

A request runs in a thread of its own, for which the caller waits, because neither a name look-up
nor TLS can be interrupted. It follows no redirect, uses no proxy of the environment, and
decompresses nothing. The name of a host is looked up once, and the connection goes to one of the
addresses that were found, so a name that changes meanwhile leads nowhere else.

The caller says in `Rules` what it admits: an operator has chosen where a logout token goes, and a
stranger may have chosen the URL of a document.
"""

import os
import socket
import ssl
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from email.message import Message
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from wsgiauth import storage
from wsgiauth.settings.oidc import Proxy
from wsgiauth.web.certificates import problem_of

ADDRESSES = 3  # of a host that are tried
MAX_HEADERS = 32 * 1024  # bytes of a reply besides its body: also of chunks and trailers

_Address = tuple[Any, ...]  # as `socket.getaddrinfo` returns it

# The reasons of `OutgoingError`, besides those of `web.certificates`.
ADDRESS, BUSY, CONNECTION, PROXY, TIMEOUT, TOO_LARGE = (
    "address",
    "busy",
    "connection",
    "proxy",
    "timeout",
    "too large",
)

# The IANA registries of special-purpose addresses (RFC 6890). `ipaddress` knows other ones in each
# version of Python, and calls multicast addresses global.
_SPECIAL_V4 = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
    "168.63.129.16/32",  # of a cloud: it answers its virtual machines as their metadata do
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
)
_SPECIAL_V6 = ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
_GLOBAL_V6 = ip_network("2000::/3")
_TEREDO = ip_network("2001::/32")  # RFC 4380: the address of the client is inverted
_SIX_TO_FOUR = ip_network("2002::/16")  # RFC 3056
# An IPv4 address at the end: mapped, compatible (RFC 4291), and of NAT64 (RFC 6052).
_ENDING_IN_V4 = ("::ffff:0:0/96", "::/96", "64:ff9b::/96")


class OutgoingError(Exception):
    """A request got no reply that its rules admit; the message is the reason."""


class Rules(NamedTuple):
    """What a request may cost, and where it may go."""

    deadline: float  # seconds, from the name look-up to the last byte that is read
    max_size: int = 0  # bytes of the body of a reply; 0: it is not read
    is_public: bool = False  # each address of the host must be one of the Internet
    slots: threading.BoundedSemaphore | None = None  # for the requests that run at a time


class Request(NamedTuple):
    """A GET, or a POST if it has a body; its `repr` hides the content."""

    url: str
    headers: Mapping[str, str] = {}
    body: str | None = None

    def __repr__(self) -> str:
        return "<Request>"


class Reply(NamedTuple):
    """What a server has answered; its `repr` hides the content."""

    status: int
    headers: Message
    body: bytes  # empty for a redirect

    def __repr__(self) -> str:
        return f"<Reply {self.status}>"


def send(request: Request, rules: Rules, proxy: Proxy | None = None) -> Reply:
    """Return the reply to a request, within the deadline.

    Args:
        proxy: Opens a tunnel (RFC 9110 section 9.3.6). It gets the name of the host, or an address
            if that must be public.

    Raises:
        OutgoingError: There is no reply in time, or the rules do not admit it.
    """
    release_connection()
    if rules.slots is not None and not rules.slots.acquire(blocking=False):
        raise OutgoingError(BUSY)
    exchange = _Exchange(request, rules, proxy)
    try:
        exchange.start()
    except RuntimeError:  # there are too many threads
        exchange.release_slot()
        raise OutgoingError(CONNECTION) from None
    exchange.join(rules.deadline)
    if exchange.is_alive():
        exchange.abandon()
        raise OutgoingError(TIMEOUT)
    if exchange.reply is None:
        raise OutgoingError(exchange.failure)
    return exchange.reply


def release_connection() -> None:
    """Return a pooled connection to its pool, before this thread waits for another server."""
    opened = storage.current_or_none()
    if opened is not None:  # pragma: no branch - the tests always have a database
        storage.release_connection(opened)


def _tls() -> ssl.SSLContext:
    """Return what verifies servers, as the environment says now."""
    return _tls_of(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def _tls_of(_file: str | None, _directory: str | None) -> ssl.SSLContext:
    """Return a context for these variables, which OpenSSL reads; that takes 20 to 40 ms."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the Internet, not of a network of its own.

    An IPv4 address inside an IPv6 one counts: a gateway could send a connection there.
    """
    found = ip_address(address)
    inner = found if isinstance(found, IPv4Address) else _inner(found)
    if inner is not None:
        return not _is_in(inner, _SPECIAL_V4)
    return found in _GLOBAL_V6 and not _is_in(found, _SPECIAL_V6)


def _inner(address: IPv6Address) -> IPv4Address | None:
    number = int(address)
    if address in _SIX_TO_FOUR:
        return IPv4Address(number >> 80 & 0xFFFFFFFF)
    if address in _TEREDO:
        return IPv4Address(~number & 0xFFFFFFFF)
    return IPv4Address(number & 0xFFFFFFFF) if _is_in(address, _ENDING_IN_V4) else None


def _is_in(address: IPv4Address | IPv6Address, networks: Iterable[str]) -> bool:
    return any(address in ip_network(each) for each in networks)


class _BoundedFile(RawIOBase):
    """What a socket receives, up to a number of bytes: headers and chunks have no other bound."""

    def __init__(self, received: socket.socket, most: int) -> None:
        self._file = received.makefile("rb", buffering=0)
        self._left = most

    def makefile(self, _mode: str) -> BufferedReader:
        """Return the file, as a response asks a socket for it."""
        return BufferedReader(self)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read into a buffer, or raise OutgoingError."""
        number = self._file.readinto(buffer)
        self._left -= number or 0
        if self._left < 0:
            raise OutgoingError(TOO_LARGE)
        return number

    def close(self) -> None:
        """Close the file; the socket stays open."""
        self._file.close()
        super().close()


class _Exchange(threading.Thread):
    """One request, which ends soon after it is abandoned."""

    def __init__(self, request: Request, rules: Rules, proxy: Proxy | None) -> None:
        super().__init__(name="wsgiauth request", daemon=True)
        self._request, self._rules, self._proxy = request, rules, proxy
        self._url = urlsplit(request.url)
        self._proxied: HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._is_abandoned = False
        self.reply: Reply | None = None
        self.failure = CONNECTION

    def run(self) -> None:
        try:
            self.reply = self._exchanged()
        except OutgoingError as error:
            self.failure = str(error)
        except TimeoutError:
            self.failure = TIMEOUT
        except ssl.SSLCertVerificationError as error:
            self.failure = problem_of(error)
        except (OSError, HTTPException, ValueError):  # also of a host that is no name
            self.failure = CONNECTION
        finally:
            self.release_slot()

    def release_slot(self) -> None:
        """Let another request run."""
        if self._rules.slots is not None:
            self._rules.slots.release()

    def abandon(self) -> None:
        """End the wait of a connected thread; any other thread ends by its own timeouts."""
        self._is_abandoned = True
        opened = self._socket
        if opened is None and self._proxied is not None:
            opened = self._proxied.sock  # the proxy can take long to open the tunnel
        if opened is not None:
            with suppress(OSError):  # the thread was faster
                # `SSLSocket.shutdown` also forgets the state of TLS, which the thread still uses.
                socket.socket.shutdown(opened, socket.SHUT_RDWR)

    def _exchanged(self) -> Reply:
        host, is_tls = self._url.hostname or "", self._url.scheme == "https"
        connection = self._opened(host, self._url.port or (443 if is_tls else 80))
        connection.response_class = self._bounded_response  # type: ignore[assignment]
        try:
            # A connection forgets its socket when its last response begins.
            self._socket = connection.sock
            self._end_if_abandoned()
            if is_tls:
                wrapped = _tls().wrap_socket(
                    self._socket,
                    server_hostname=host.rstrip("."),  # certificates name no root
                    do_handshake_on_connect=False,
                )
                self._socket = connection.sock = wrapped
                self._end_if_abandoned()
                wrapped.do_handshake()
            url, body = self._url, self._request.body
            headers = {"Host": url.netloc, "User-Agent": "wsgiauth", "Connection": "close"}
            connection.request(
                "GET" if body is None else "POST",
                f"{url.path or '/'}{'?' if url.query else ''}{url.query}",
                body,
                {**headers, **self._request.headers},
            )
            with connection.getresponse() as response:
                return Reply(response.status, response.headers, self._body(response))
        finally:
            connection.close()

    def _bounded_response(self, received: socket.socket, **options: Any) -> HTTPResponse:
        file = _BoundedFile(received, MAX_HEADERS + self._rules.max_size)
        return HTTPResponse(file, **options)  # type: ignore[arg-type]  # calls only `makefile`

    def _opened(self, host: str, port: int) -> HTTPConnection:
        """Return a connection to a host, without TLS yet."""
        if self._proxy is None:
            connection = HTTPConnection(host, port)
            connection.sock = self._connected(self._addresses(host, port))
            return connection
        connection = HTTPConnection(self._proxy.host, self._proxy.port, self._rules.deadline)
        if self._rules.is_public:  # the proxy could find another address
            host = str(self._addresses(host, port)[0][4][0])
        connection.set_tunnel(f"[{host}]" if ":" in host else host, port, self._proxy.headers)
        self._proxied = connection
        try:
            connection.connect()
        except (OSError, HTTPException) as error:
            connection.close()
            raise OutgoingError(TIMEOUT if isinstance(error, TimeoutError) else PROXY) from None
        return connection

    def _addresses(self, host: str, port: int) -> list[_Address]:
        """Look up a host, all of whose addresses must be public if the rules demand it."""
        try:
            found: list[_Address] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            # The same reason, so that no caller learns which names the own network has.
            raise OutgoingError(ADDRESS if self._rules.is_public else CONNECTION) from None
        if self._rules.is_public and not all(is_public(str(each[4][0])) for each in found):
            raise OutgoingError(ADDRESS)
        return found[:ADDRESSES]

    def _connected(self, addresses: Sequence[_Address]) -> socket.socket:
        """Connect to the first address that answers; together they have the deadline."""
        failure = OSError()
        for family, kind, protocol, _, address in addresses:
            self._end_if_abandoned()
            connecting = socket.socket(family, kind, protocol)
            try:
                connecting.settimeout(self._rules.deadline / len(addresses))
                connecting.connect(address)
            except OSError as error:
                connecting.close()
                failure = error
            else:
                connecting.settimeout(self._rules.deadline)
                return connecting
        raise failure

    def _body(self, response: HTTPResponse) -> bytes:
        most = self._rules.max_size
        if not most or 300 <= response.status < 400:
            return b""
        body = bytearray()
        # `read` reads until the end of the connection if a chunk says that its length is -1.
        while part := response.read1(most + 1 - len(body)):
            body += part
            if len(body) > most:
                raise OutgoingError(TOO_LARGE)
        if response.length:  # the body is shorter than announced
            raise OutgoingError(CONNECTION)
        return bytes(body)

    def _end_if_abandoned(self) -> None:
        if self._is_abandoned:
            raise TimeoutError
