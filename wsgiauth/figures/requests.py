"""How many requests a process has answered, by the class of the status, such as 2xx.

All requests that pass the middleware count, also those that reach the application, but not the
probes of load balancers. Only a site that shows the numbers counts.
"""

import os
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth.storage.connections import AccountDatabase
from wsgiauth.storage.request_scope import RequestScope

_FAILED = "500"  # a request whose answer raises an exception

_started_at = time.time()


class RequestCounts:
    """The numbers of answered requests; a part of sites that show them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = dict.fromkeys("12345", 0)  # by the first digit of the status

    def add(self, status: str) -> None:
        """Count a request by its status, such as `404 Not Found`."""
        digit = status[0]
        if digit in self._numbers:
            with self._lock:
                self._numbers[digit] += 1

    def numbers(self) -> dict[str, int]:
        """Return the numbers by class."""
        with self._lock:
            return {f"{digit}xx": number for digit, number in self._numbers.items()}


class CountingScope(RequestScope):
    """The scope of a site that counts requests.

    Args:
        uncounted: The paths of probes.
    """

    def __init__(
        self, database: AccountDatabase, counts: RequestCounts, uncounted: Container[str]
    ) -> None:
        super().__init__(database)
        self._add = counts.add
        self._uncounted = uncounted

    def serve(
        self, respond: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Return the response of `respond`, and count it."""
        if environ.get("PATH_INFO", "") in self._uncounted:
            return super().serve(respond, environ, start_response)
        start = _Start(start_response)
        try:
            app_iter = super().serve(respond, environ, start)
        except BaseException:
            self._add(_FAILED)
            raise
        if start.status:
            self._add(start.status)
            return app_iter
        return _Unstarted(app_iter, lambda: self._add(start.status or _FAILED))


class _Start:
    """A `start_response` that keeps the status."""

    __slots__ = ("_start_response", "status")

    def __init__(self, start_response: StartResponse) -> None:
        self._start_response = start_response
        self.status = ""

    def __call__(self, status: str, *others: Any) -> Callable[[bytes], object]:
        self.status = status
        return self._start_response(status, *others)


class _Unstarted:
    """A response that calls `start_response` when its first chunk is made, as generators do."""

    def __init__(self, app_iter: Iterable[bytes], count: Callable[[], object]) -> None:
        self._app_iter = app_iter
        self._count: Callable[[], object] | None = count
        self._chunks: Iterator[bytes]

    def __iter__(self) -> Iterator[bytes]:
        self._chunks = iter(self._app_iter)
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        finally:
            self._count_once()

    def close(self) -> None:
        """Close the response, and count one that the server did not begin to read."""
        try:
            if hasattr(self._app_iter, "close"):
                self._app_iter.close()
        finally:
            self._count_once()

    def _count_once(self) -> None:
        count, self._count = self._count, None
        if count is not None:
            count()


def started_at() -> float:
    """Return when this process began to count, in seconds since the epoch."""
    return _started_at


def _start_anew() -> None:  # pragma: no cover - tested in a process that ends at once
    global _started_at  # of a forked process
    _started_at = time.time()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    os.register_at_fork(after_in_child=_start_anew)
