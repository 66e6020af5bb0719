"""Requests to a provider, within bounds of time, size and number.

They go through the proxy of OIDC_PROXY, which only opens tunnels for TLS (RFC 9110 section 9.3.6),
so it can neither read nor change them. `wsgiauth.outgoing` sends them.
"""

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from wsgiauth import outgoing
from wsgiauth.features.providers.oidc.failures import Failures, ProviderError
from wsgiauth.outgoing import OutgoingError, Reply, Rules
from wsgiauth.settings.oidc import Proxy

TIMEOUT = 5.0  # seconds for a request, from the name look-up to the last byte of its response
MAX_SIZE = 64 * 1024  # bytes of a response
MAX_AT_ONCE = 2  # requests to a provider, of a process
_MOVED = {301, 302, 303, 307, 308}  # RFC 9110 section 15.4
REST = 10  # seconds for which a provider that cannot be reached is left alone
_UNREACHABLE = (outgoing.TIMEOUT, outgoing.CONNECTION, outgoing.PROXY)


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
        self._rules = Rules(timeout, MAX_SIZE, slots=threading.BoundedSemaphore(MAX_AT_ONCE))
        self._proxy = proxy
        self._failed_at: dict[bool, float] = {}  # by whether it was optional

    def send(self, request: Request) -> Response:
        """Return the response to a request, or raise ProviderError."""
        if self._is_left_alone(request):
            raise self._failures.unavailable(f"{request.what}: left alone", REST)
        try:
            response = _response(request, self._reply(request))
        except OutgoingError as error:
            raise self._failure(request, str(error)) from None
        self._failed_at.pop(request.is_optional, None)
        return response

    def _is_left_alone(self, request: Request) -> bool:
        failed_at = [self._failed_at.get(each) for each in {False, request.is_optional}]
        return any(each is not None and abs(self._now() - each) < REST for each in failed_at)

    def _reply(self, request: Request) -> Reply:
        headers = {"Accept": "application/json", **request.headers}
        # http is only for localhost, which is another host for the proxy.
        proxy = None if request.url.startswith("http:") else self._proxy
        sent = outgoing.Request(request.url, headers, request.body)
        return outgoing.send(sent, self._rules, proxy)

    def _failure(self, request: Request, reason: str) -> ProviderError:
        what = f"{request.what}: {reason}"
        if reason == outgoing.BUSY:
            return self._failures.unavailable(what, 1)
        if reason not in _UNREACHABLE:
            return self._failures.wrong(what)
        self._failed_at[request.is_optional] = self._now()
        return self._failures.unavailable(what, REST)


def _response(request: Request, reply: Reply) -> Response:
    if request.can_have_moved and reply.status in _MOVED:
        return Response(reply.status, b"", reply.headers.get("Location", ""))
    if 300 <= reply.status < 400:
        raise OutgoingError("redirect")
    return Response(reply.status, reply.body, is_limited=_is_limited(reply))


def _is_limited(reply: Reply) -> bool:
    """Return whether a reply says that there were too many requests (RFC 6585 section 4).

    GitHub also says so by a 403 with one of these headers.
    """
    headers = reply.headers
    has_header = "Retry-After" in headers or headers.get("X-RateLimit-Remaining") == "0"
    return reply.status == 429 or (reply.status == 403 and has_header)
