"""Compresses the texts that `serve` sends, between the application and the server.

A client that can put guesses into a page and see its length could find a secret of the same page
(BREACH, breachattack.com). So each compressed text has a padding of random length.
"""

import gzip
import io
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request
from webob.headers import ResponseHeaders

LEAST, MOST = 500, 4 * 1024 * 1024  # bytes of a text; memory holds it whole
_PADDING = 100  # bytes at most: the name of the file in the header of gzip, which clients ignore
_LEVEL = 5  # of 9; by 9, our pages are 1 % shorter and take twice the time
_TEXT = re.compile(
    r"(text/(?!event-stream)[\w.+-]+|image/svg\+xml"
    r"|application/([\w.-]+\+)?(json|xml|javascript))\s*(;.*)?"
)
_WITHOUT_WHOLE_BODY = ("1", "204", "206", "304")

_Start = Callable[..., Callable[[bytes], object]]


def compressed(application: WSGIApplication) -> WSGIApplication:
    """Return an application that compresses texts by gzip (RFC 1952) for clients that accept it.

    Only whole texts with a Content-Length are compressed, so a stream stays one. Their
    Content-Length, Content-Encoding and Vary change, and a strong ETag becomes a weak one, because
    it names other bytes (RFC 9110 section 8.8.1).
    """

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = _Answer(start_response, is_accepted=_accepts_gzip(environ))
        app_iter = application(environ, answer.start)
        return app_iter if answer.has_started else answer.send(app_iter)

    return served


class _Answer:
    """An answer that starts at once, or, if it is compressed, when its body is complete."""

    def __init__(self, start_response: StartResponse, *, is_accepted: bool) -> None:
        self.has_started = False
        self._start_response: _Start = start_response
        self._is_accepted = is_accepted
        self._status = ""
        self._headers = ResponseHeaders()
        self._pieces: list[bytes] = []

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: object = None
    ) -> Callable[[bytes], object]:
        """Be the `start_response` of the application."""
        self._status, self._headers = status, ResponseHeaders(headers)
        self._pieces = []  # not sent yet, and replaced by an error
        if self.has_started or not _is_text(status, self._headers):
            self.has_started = True
            return self._start_response(status, headers, exc_info)
        _vary(self._headers)
        if not self._is_accepted:
            self.has_started = True
            return self._start_response(status, list(self._headers.items()), exc_info)
        return self._pieces.append

    def send(self, app_iter: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a body as it comes, or compressed when it is complete."""
        try:
            for each in app_iter:
                if self.has_started:  # by a generator, with its first piece
                    yield each
                else:
                    self._pieces.append(each)
        finally:
            if hasattr(app_iter, "close"):
                app_iter.close()
        if not self.has_started:
            body = _gzip(b"".join(self._pieces))
            self._headers["Content-Encoding"] = "gzip"
            self._headers["Content-Length"] = str(len(body))
            self._start_response(self._status, list(self._headers.items()))
            yield body


def _accepts_gzip(environ: WSGIEnvironment) -> bool:
    """Return whether the client says so; programs that say nothing often cannot decompress."""
    accepted = Request(environ).accept_encoding
    return bool(accepted.parsed and accepted.acceptable_offers(["gzip"]))


def _is_text(status: str, headers: ResponseHeaders) -> bool:
    length = headers.get("Content-Length", "")
    return (
        not status.startswith(_WITHOUT_WHOLE_BODY)
        and length.isdecimal()
        and LEAST <= int(length) <= MOST
        and _TEXT.fullmatch(headers.get("Content-Type", "").lower()) is not None
        and "Content-Encoding" not in headers
        and "no-transform" not in headers.get("Cache-Control", "")
    )


def _vary(headers: ResponseHeaders) -> None:
    """Let caches keep the compressed text apart (RFC 9110 section 12.5.5)."""
    named = headers.getall("Vary")
    headers["Vary"] = ", ".join([*named, "Accept-Encoding"])
    if headers.get("ETag", "").startswith('"'):
        headers["ETag"] = f"W/{headers['ETag']}"


def _gzip(text: bytes) -> bytes:
    padding, packed = "-" * secrets.randbelow(_PADDING + 1), io.BytesIO()
    with gzip.GzipFile(padding, "wb", _LEVEL, packed, mtime=0) as file:
        file.write(text)
    return packed.getvalue()
