"""Requests to a provider: bounded in time, size and number, whatever the provider does.

A request runs in a thread of its own, for which the caller waits a few seconds, because neither a
name look-up nor TLS can be interrupted. This module follows no redirect, uses no proxy of the
environment, and decompresses no response. Requests go through the proxy of OIDC_PROXY, which only
opens tunnels for TLS (RFC 9110 section 9.3.6), so it can neither read nor change them.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import cached_property
from http.client import HTTPException
from typing import NamedTuple
from urllib.parse import urlsplit

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse

from wsgiauth import storage
from wsgiauth.features.providers.oidc.failures import Failures
from wsgiauth.settings.oidc import Proxy
from wsgiauth.web.certificates import problem_of

TIMEOUT = 5.0  # seconds for a request, from the name look-up to the last byte of its response
MAX_SIZE = 64 * 1024  # bytes of a response
MAX_AT_ONCE = 2  # requests to a provider, of a process
_MOVED = {301, 302, 303, 307, 308}  # RFC 9110 section 15.4
REST = 10  # seconds for which a provider that cannot be reached is left alone
_UNREACHABLE = ("timeout", "connection", "proxy")


class Request(NamedTuple):
    """A request; its `repr` hides the URL, the headers and the body."""

    what: str  # for the reason of a failure, such as `token`
    url: str
    headers: Mapping[str, str] = {}
    body: str | None = None  # of a POST
    can_have_moved: bool = False  # the caller examines a redirect
    is_optional: bool = False  # a login can do without; its failure stops no other requests

    def __repr__(self) -> str:
        return f"<Request {self.what}>"


class Response(NamedTuple):
    """A response, which is a redirect only with `can_have_moved`; its `repr` hides the content."""

    status: int
    body: bytes
    location: str | None = None  # of a redirect, unchanged
    is_limited: bool = False  # the provider wants fewer requests

    def __repr__(self) -> str:
        return f"<Response {self.status}>"


class _FailedError(Exception):
    """A request failed; the message is the reason."""


class Transport:
    """Sends requests to one provider."""

    def __init__(
        self,
        failures: Failures,
        clock: Callable[[], float],
        timeout: float,
        proxy: Proxy | None = None,
    ) -> None:
        self._failures = failures
        self._now = clock
        self._timeout = timeout
        self._proxy = proxy
        self._slots = threading.BoundedSemaphore(MAX_AT_ONCE)
        self._failed_at: dict[bool, float] = {}  # by whether it was optional

    def send(self, request: Request) -> Response:
        """Return the response to a request, or raise ProviderError."""
        release_connection()
        if self._is_left_alone(request):
            raise self._failures.unavailable(f"{request.what}: left alone", REST)
        connection, is_tunnel = self._connection(request)
        exchange = _Exchange(
            request, self._timeout, connection, self._slots.release, is_tunnel=is_tunnel
        )
        if not self._slots.acquire(blocking=False):
            raise self._failures.unavailable(f"{request.what}: busy", 1)
        result = exchange.run()
        if isinstance(result, Response):
            self._failed_at.pop(request.is_optional, None)
            return result
        if result in _UNREACHABLE:
            self._failed_at[request.is_optional] = self._now()
            raise self._failures.unavailable(f"{request.what}: {result}", REST)
        raise self._failures.wrong(f"{request.what}: {result}")

    def _is_left_alone(self, request: Request) -> bool:
        failed_at = [self._failed_at.get(each) for each in {False, request.is_optional}]
        return any(each is not None and abs(self._now() - each) < REST for each in failed_at)

    def _connection(self, request: Request) -> tuple[HTTPConnection, bool]:
        """Return a connection that is not open yet, and whether it is a tunnel of the proxy."""
        url = urlsplit(request.url)
        host, port, proxy = url.hostname or "", url.port, self._proxy
        if url.scheme == "http":  # at localhost, which is another host for the proxy
            return HTTPConnection(host, port, timeout=self._timeout), False
        at, at_port = (host, port) if proxy is None else (proxy.host, proxy.port)
        connection = HTTPSConnection(at, at_port, timeout=self._timeout, ssl_context=self._tls)
        if proxy is not None:
            connection.set_tunnel(host, port or 443, proxy.headers)
        return connection, proxy is not None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()


class _Exchange:
    """One request in its own thread, which releases the slot when it has ended."""

    def __init__(
        self,
        request: Request,
        timeout: float,
        connection: HTTPConnection,
        release: Callable[[], None],
        *,
        is_tunnel: bool,
    ) -> None:
        self._request = request
        self._timeout = timeout
        self._release = release
        self._url = urlsplit(request.url)
        self._connection = connection
        self._is_tunnel = is_tunnel
        self._socket: socket.socket | None = None
        self._is_over = threading.Event()
        self._result: Response | str = "timeout"
        self._is_abandoned = False

    def run(self) -> Response | str:
        """Return the response, or the reason of a failure."""
        thread = threading.Thread(target=self._work, name="wsgiauth provider", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there are too many threads
            self._release()
            return "connection"
        if self._is_over.wait(self._timeout):
            return self._result
        self._is_abandoned = True
        self._shut_down()
        return "timeout"

    def _work(self) -> None:
        try:
            self._result = self._exchanged()
        except _FailedError as error:
            self._result = str(error)
        except ssl.SSLCertVerificationError as error:
            self._result = problem_of(error)
        except TimeoutError:
            self._result = "timeout"
        except Exception:  # of urllib3, of sockets, of malformed headers
            self._result = "connection"
        finally:
            with suppress(Exception):
                self._connection.close()
            self._release()
            self._is_over.set()

    def _connect(self) -> None:
        try:
            self._connection.connect()
        except (ssl.SSLError, TimeoutError):
            raise
        except (OSError, HTTPError, HTTPException):
            if not self._is_tunnel:
                raise
            raise _FailedError("proxy") from None

    def _exchanged(self) -> Response:
        self._connect()
        # A connection forgets its socket when its last response begins.
        self._socket = self._connection.sock
        if self._is_abandoned:
            raise TimeoutError
        self._connection.request(
            "GET" if self._request.body is None else "POST",
            f"{self._url.path or '/'}{'?' if self._url.query else ''}{self._url.query}",
            self._request.body,
            {"Accept": "application/json", "User-Agent": "wsgiauth", **self._request.headers},
            preload_content=False,
            decode_content=False,
        )
        with closing(self._connection.getresponse()) as response:
            return _read(response, self._request)

    def _shut_down(self) -> None:
        """End the wait of a connected thread; any other thread ends by its own timeouts."""
        opened = self._socket or self._connection.sock  # a proxy can still open the tunnel
        if opened is not None:
            with suppress(OSError):  # the thread was faster
                # `SSLSocket.shutdown` also forgets the state of TLS, which the thread still uses.
                socket.socket.shutdown(opened, socket.SHUT_RDWR)


def release_connection() -> None:
    """Return a pooled connection to its pool, before this thread waits for a provider."""
    opened = storage.current_or_none()
    if opened is not None:  # pragma: no branch - the tests always have a database
        storage.release_connection(opened)


def _read(response: BaseHTTPResponse, request: Request) -> Response:
    if request.can_have_moved and response.status in _MOVED:
        return Response(response.status, b"", response.headers.get("Location", ""))
    if 300 <= response.status < 400:
        raise _FailedError("redirect")
    body = response.read(MAX_SIZE, decode_content=False)
    if response.read(1, decode_content=False):  # fails if the body is shorter than announced
        raise _FailedError("too large")
    return Response(response.status, body, is_limited=_is_limited(response))


def _is_limited(response: BaseHTTPResponse) -> bool:
    """Return whether a response says that there were too many requests (RFC 6585 section 4).

    GitHub also says so by a 403 with one of these headers.
    """
    headers = response.headers
    has_header = "Retry-After" in headers or headers.get("X-RateLimit-Remaining") == "0"
    return response.status == 429 or (response.status == 403 and has_header)
