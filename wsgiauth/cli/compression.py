"""Compresses the texts that `serve` sends, between the application and the server.

A page of another site that can make the browser send requests with the user's cookie, put guesses
into a page and see its length could find a secret of that page (BREACH, breachattack.com). So the
answer to a request with credentials is compressed only if a page of this site, or the user, has
caused the request (W3C Fetch Metadata).
"""

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LEAST, MOST = 500, 4 * 1024 * 1024  # bytes of a body; memory holds it whole
_LEVEL = 5  # of 9; by 9, our pages are 1 % shorter and take twice the time
_TEXT = re.compile(
    r"(text/(?!event-stream)[\w.+-]+|image/svg\+xml"
    r"|application/([\w.-]+\+)?(json|xml|javascript))\s*(;.*)?"
)
_WITHOUT_WHOLE_BODY = ("1", "204", "206", "304")
_DIGESTS = ("Content-MD5", "Content-Digest", "Digest", "Repr-Digest")  # of bytes as they are

_Start = Callable[..., Callable[[bytes], object]]
_Headers = list[tuple[str, str]]


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
        self._held: tuple[str, _Headers] | None = None
        self._pieces: list[bytes] = []
        self._missing = 0  # bytes of the body

    def start(
        self, status: str, headers: _Headers, exc_info: object = None
    ) -> Callable[[bytes], object]:
        """Be the `start_response` of the application."""
        self._held, self._pieces = None, []  # not sent yet, and replaced by an error
        is_text = not self.has_started and _is_text(status, headers)
        if is_text:
            vary = ", ".join([*_values(headers, "Vary"), "Accept-Encoding"])
            headers = _replaced(headers, {"Vary": vary})
        if not (is_text and self._is_wanted):
            self.has_started = True
            return self._start_response(status, headers, exc_info)
        self._held, self._missing = (status, headers), int(_value(headers, "Content-Length"))
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

    def _unchanged(self, status: str, headers: _Headers) -> Iterator[bytes]:
        self.has_started = True
        self._start_response(status, headers)
        yield from self._pieces

    def _compressed(self, status: str, headers: _Headers) -> Iterator[bytes]:
        self.has_started = True
        body = gzip.compress(b"".join(self._pieces), _LEVEL)
        changes = {"Content-Encoding": "gzip", "Content-Length": str(len(body))}
        tag = _value(headers, "ETag")
        if tag.startswith('"'):
            changes["ETag"] = f"W/{tag}"
        self._start_response(status, _replaced(headers, changes))
        yield body


def _is_wanted(environ: WSGIEnvironment) -> bool:
    """Return whether the client accepts gzip, and no other site has caused the request.

    A program that does not say what it accepts often cannot decompress.
    """
    header = environ.get("HTTP_ACCEPT_ENCODING", "")
    has_credentials = "HTTP_COOKIE" in environ or "HTTP_AUTHORIZATION" in environ
    if has_credentials and environ.get("HTTP_SEC_FETCH_SITE") not in ("same-origin", "none"):
        return False
    if "gzip" not in header.lower() and "*" not in header:
        return False
    from webob.acceptparse import create_accept_encoding_header  # as in `web.request`

    accepted = create_accept_encoding_header(header)
    return bool(accepted.parsed and accepted.acceptable_offers(["gzip"]))


def _is_text(status: str, headers: _Headers) -> bool:
    length = _value(headers, "Content-Length")
    directives = ",".join(_values(headers, "Cache-Control")).lower()
    return (
        not status.startswith(_WITHOUT_WHOLE_BODY)
        and re.fullmatch("[0-9]{1,9}", length) is not None
        and LEAST <= int(length) <= MOST
        and _TEXT.fullmatch(_value(headers, "Content-Type").lower()) is not None
        and not any(_values(headers, each) for each in ("Content-Encoding", *_DIGESTS))
        and "no-transform" not in directives
    )


def _values(headers: _Headers, name: str) -> list[str]:
    return [value for each, value in headers if each.lower() == name.lower()]


def _value(headers: _Headers, name: str) -> str:
    return (_values(headers, name) or [""])[-1]


def _replaced(headers: _Headers, changes: Mapping[str, str]) -> _Headers:
    changed = {name.lower() for name in changes}
    return [each for each in headers if each[0].lower() not in changed] + [*changes.items()]
