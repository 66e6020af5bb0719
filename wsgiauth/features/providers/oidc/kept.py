"""Keeps documents of a provider for a while: its discovery document and its keys."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from wsgiauth.authentication.lifetimes import HOUR, MINUTE
from wsgiauth.features.providers.oidc.failures import Failures, ProviderError
from wsgiauth.features.providers.oidc.transport import MAX_AT_ONCE, REST
from wsgiauth.outgoing import release_connection

_Value = TypeVar("_Value")


class Kept(Generic[_Value]):
    """Keeps the value of `fetch` for an hour, and its failure for some seconds.

    One thread fetches it at a time. A few wait for that thread, and others are refused, because a
    slow provider must not occupy all threads of a server.
    """

    def __init__(
        self, what: str, fetch: Callable[[], _Value], failures: Failures, clock: Callable[[], float]
    ) -> None:
        self._what = what
        self._fetch = fetch
        self._failures = failures
        self._now = clock
        self._entrances = threading.BoundedSemaphore(MAX_AT_ONCE)
        self._lock = threading.Lock()
        self._kept: tuple[_Value, float] | None = None  # with the time when it was fetched
        self._failure: tuple[ProviderError, float] | None = None
        self._tried_at: float | None = None

    def get(self) -> _Value:
        """Return the value; fetch it if it is missing or old."""
        return self._found() or self._fetched(self._found)

    def get_newer(self) -> _Value:
        """Return the value; fetch it again unless that was tried within a minute."""
        return self._fetched(self._tried_lately)

    def _found(self) -> _Value | None:
        kept = self._kept
        return kept[0] if kept is not None and self._is_within(HOUR, kept[1]) else None

    def _tried_lately(self) -> _Value | None:
        is_new = self._tried_at is not None and self._is_within(MINUTE, self._tried_at)
        return self._found() if is_new else None

    def _fetched(self, found: Callable[[], _Value | None]) -> _Value:
        """Fetch the value, unless another thread has done so meanwhile."""
        release_connection()
        if not self._entrances.acquire(blocking=False):
            raise self._failures.unavailable(f"{self._what}: busy", 1)
        try:
            with self._lock:
                return found() or self._tried()
        finally:
            self._entrances.release()

    def _tried(self) -> _Value:
        failure = self._failure
        if failure is not None and self._is_within(REST, failure[1]):
            raise _copy(failure[0])
        self._tried_at = self._now()
        try:
            value = self._fetch()
        except ProviderError as error:
            self._failure = error, self._now()
            raise _copy(error) from None
        self._kept, self._failure = (value, self._now()), None
        return value

    def _is_within(self, seconds: float, time: float) -> bool:
        return abs(self._now() - time) < seconds  # a clock can be set back


def _copy(error: ProviderError) -> ProviderError:
    """Return an equal error: several threads that raise one object mix its tracebacks."""
    return ProviderError(error.status, error.reason, error.detail, seconds=error.seconds)
