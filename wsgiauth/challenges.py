"""`AuthMiddleware(challenge=…)`, between `middleware` and the application.

It replaces the application's own refusal by a guard's response.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Literal
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth.access import ask_to_identify
from wsgiauth.web.responses import Header

ANONYMOUS: Literal["anonymous"] = "anonymous"
Challenge = bool | Literal["anonymous"]

_Write = Callable[[bytes], object]
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None

_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_KEPT = re.compile(r"set-cookie|vary|access-control-.*")  # CORS lets other origins read the 401
_PARAMETER = re.compile(r"\s*[\w-]+\s*=.*")


class ChallengingApp:
    """Replaces the 401, and if asked the 403, that an application gives an anonymous client.

    A browser is redirected to the login page, and back after the login. Every other client gets the
    401 of `login_required`. The application's Set-Cookie, Vary and CORS headers are kept; its body
    is closed unread.

    Unchanged are a refusal of a logged-in user, because logging in again would not help; a refusal
    with another scheme (`WWW-Authenticate: Basic`), because the application has its own
    authentication; and a refusal after the body has begun.

    Args:
        login_url: The path of the login page, without the SCRIPT_NAME of `AuthMiddleware`.
        challenge: With `ANONYMOUS`, also a 403 is replaced.
    """

    def __init__(self, app: WSGIApplication, login_url: str, challenge: Challenge) -> None:
        self._app = app
        self._login_url = login_url
        self._statuses = ("401", "403") if challenge == ANONYMOUS else ("401",)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Pass one request on (PEP 3333)."""
        if environ["wsgiauth.user"] is not None:
            return self._app(environ, start_response)
        asked = environ.copy()  # the application can change its environ
        start = _Start(start_response, self._statuses)
        app_iter = self._app(environ, start)
        if start.is_held:
            _close(app_iter)
            return self._challenge(asked, start)
        if start.has_begun:
            start.is_final = True
            return app_iter
        return _LateAnswer(app_iter, start, lambda: self._challenge(asked, start))

    def _challenge(self, asked: WSGIEnvironment, start: "_Start") -> Iterable[bytes]:
        return ask_to_identify(asked, self._login_url)(asked, start.instead)


class _Start:
    """The application's `start_response`, which holds a refusal back."""

    def __init__(self, start_response: StartResponse, statuses: tuple[str, ...]) -> None:
        self._start_response = start_response
        self._statuses = statuses
        self._kept: list[Header] = []
        self._exc_info: _ExcInfo = None
        self.has_begun = False
        self.is_held = False
        self.is_final = False

    def __call__(self, status: str, headers: list[Header], exc_info: _ExcInfo = None) -> _Write:
        self.has_begun = True
        is_refusal = status.startswith(self._statuses)
        self.is_held = is_refusal and not self.is_final and _is_ours(headers)
        if not self.is_held:
            return self._forward(status, headers, exc_info)
        self._kept = [each for each in headers if _KEPT.fullmatch(each[0].lower())]
        self._exc_info = exc_info
        return _discard

    def instead(self, status: str, headers: list[Header], exc_info: _ExcInfo = None) -> _Write:
        """Start the challenge in place of the refusal that was held back."""
        return self._forward(status, [*headers, *self._kept], self._exc_info)

    def _forward(self, status: str, headers: list[Header], exc_info: _ExcInfo) -> _Write:
        rest = () if exc_info is None else (exc_info,)
        write = self._start_response(status, headers, *rest)

        def noted_write(data: bytes) -> object:
            self.is_final = True
            return write(data)

        return noted_write


class _LateAnswer:
    """A response that calls `start_response` during iteration, as a generator does."""

    def __init__(
        self, app_iter: Iterable[bytes], start: _Start, challenge: Callable[[], Iterable[bytes]]
    ) -> None:
        self._app_iter = app_iter
        self._chunks = self._choose(start, challenge)

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        """Close the application's response body (PEP 3333)."""
        _close(self._app_iter)

    def _choose(self, start: _Start, challenge: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
        for chunk in self._app_iter:
            if start.is_held:
                break
            start.is_final = start.has_begun
            yield chunk
        if start.is_held:
            yield from challenge()


def _discard(data: bytes) -> None:
    """Discard the body of a refusal that is replaced, as its `write` (PEP 3333)."""


def _close(app_iter: Iterable[bytes]) -> None:
    close = getattr(app_iter, "close", None)
    if close is not None:
        close()


def _is_ours(headers: list[Header]) -> bool:
    challenges = [value for name, value in headers if name.lower() == "www-authenticate"]
    return all(map(_asks_for_bearer_alone, challenges))


def _asks_for_bearer_alone(challenge: str) -> bool:
    # RFC 9110 section 11.6.1: a comma separates parameters and challenges.
    first, *others = _QUOTED.sub('""', challenge).split(",")
    return first.lower().split()[:1] == ["bearer"] and all(map(_PARAMETER.fullmatch, others))
