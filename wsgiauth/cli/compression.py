"""Compresses the texts that `serve` sends, between the application and the server.

A page of another site that can make the browser send requests with the user's cookie, put guesses
into a page and see its length could find a secret of that page (BREACH, breachattack.com). So the
answer to a request with credentials is compressed only if a page of this site, or the user, has
caused the request (W3C Fetch Metadata).
"""

import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request
from webob.headers import ResponseHeaders

LEAST, MOST = 500, 4 * 1024 * 1024  # bytes of a body; memory holds it whole
_LEVEL = 5  # of 9; by 9, our pages are 1 % shorter and take twice the time
_TEXT = re.compile(
    r"(text/(?!event-stream)[\w.+-]+|image/svg\+xml"
    r"|application/([\w.-]+\+)?(json|xml|javascript))\s*(;.*)?"
)
_WITHOUT_WHOLE_BODY = ("1", "204", "206", "304")
_DIGESTS = ("Content-MD5", "Content-Digest", "Digest", "Repr-Digest")  # of bytes as they are

_Start = Callable[..., Callable[[bytes], object]]


def compressed(application: WSGIApplication) -> WSGIApplication:
    """Return an application that compresses texts by gzip (RFC 1952) for clients that accept it.

    Only whole texts with a Content-Length are compressed, so a stream stays one. Their
    Content-Length, Content-Encoding and Vary change, and a strong ETag becomes a weak one, because
    it names other bytes (RFC 9110 section 8.8.1). A body of another length passes unchanged.
    """

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = _Answer(start_response, is_wanted=_is_wanted(environ))
        app_iter = application(environ, answer.start)
        return app_iter if answer.has_started else answer.send(app_iter)

    return served


class _Answer:
    """An answer that starts at once, or, if it is compressed, when its body is complete."""

    def __init__(self, start_response: StartResponse, *, is_wanted: bool) -> None:
        self.has_started = False
        self._start_response: _Start = start_response
        self._is_wanted = is_wanted
        self._held: tuple[str, list[tuple[str, str]]] | None = None
        self._pieces: list[bytes] = []
        self._missing = 0  # bytes of the body

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: object = None
    ) -> Callable[[bytes], object]:
        """Be the `start_response` of the application."""
        self._held, self._pieces = None, []  # not sent yet, and replaced by an error
        found = ResponseHeaders(headers)
        is_text = not self.has_started and _is_text(status, found)
        if is_text:
            found["Vary"] = ", ".join([*found.getall("Vary"), "Accept-Encoding"])
            headers = list(found.items())
        if not (is_text and self._is_wanted):
            self.has_started = True
            return self._start_response(status, headers, exc_info)
        self._held, self._missing = (status, headers), int(found["Content-Length"])
        return self._keep

    def send(self, app_iter: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a body as it comes, or compressed when it is complete."""
        try:
            for each in app_iter:
                if self.has_started or self._held is None:  # None: the server raises
                    yield each
                    continue
                self._keep(each)
                if self._missing < 0:
                    yield from self._unchanged(*self._held)
        finally:
            if hasattr(app_iter, "close"):
                app_iter.close()
        if not self.has_started and self._held is not None:
            is_whole = self._missing == 0
            yield from (self._compressed if is_whole else self._unchanged)(*self._held)

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._missing -= len(piece)

    def _unchanged(self, status: str, headers: list[tuple[str, str]]) -> Iterator[bytes]:
        self.has_started = True
        self._start_response(status, headers)
        yield from self._pieces

    def _compressed(self, status: str, headers: list[tuple[str, str]]) -> Iterator[bytes]:
        self.has_started = True
        body, changed = gzip.compress(b"".join(self._pieces), _LEVEL), ResponseHeaders(headers)
        changed["Content-Encoding"] = "gzip"
        changed["Content-Length"] = str(len(body))
        if changed.get("ETag", "").startswith('"'):
            changed["ETag"] = f"W/{changed['ETag']}"
        self._start_response(status, list(changed.items()))
        yield body


def _is_wanted(environ: WSGIEnvironment) -> bool:
    """Return whether the client accepts gzip, and no other site has caused the request.

    A program that does not say what it accepts often cannot decompress.
    """
    accepted = Request(environ).accept_encoding
    has_credentials = "HTTP_COOKIE" in environ or "HTTP_AUTHORIZATION" in environ
    if has_credentials and environ.get("HTTP_SEC_FETCH_SITE") not in ("same-origin", "none"):
        return False
    return bool(accepted.parsed and accepted.acceptable_offers(["gzip"]))


def _is_text(status: str, headers: ResponseHeaders) -> bool:
    length = headers.get("Content-Length", "")
    directives = ",".join(headers.getall("Cache-Control")).lower()
    return (
        not status.startswith(_WITHOUT_WHOLE_BODY)
        and re.fullmatch("[0-9]{1,9}", length) is not None
        and LEAST <= int(length) <= MOST
        and _TEXT.fullmatch(headers.get("Content-Type", "").lower()) is not None
        and "Content-Encoding" not in headers
        and not any(each in headers for each in _DIGESTS)
        and "no-transform" not in directives
    )
