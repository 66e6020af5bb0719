"""Reads the body of a request, whose size is limited.

The length that the client declares is not trusted. What is malformed raises a `RequestError` with
the status 400; a body without a length 411, and one that is too long 413.
"""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import RequestError
from wsgiauth.messages import _, ngettext

MAX_BODY = 16 * 1024  # bytes


def read_body(environ: WSGIEnvironment) -> bytes:
    """Return the whole body."""
    declared = environ.get("CONTENT_LENGTH", "")
    if declared == "" and environ.get("wsgi.input_terminated"):
        expected, limit = None, MAX_BODY + 1  # chunked; the server marks its end
    elif declared == "":
        raise RequestError(
            HTTPStatus.LENGTH_REQUIRED, "length_required", _("Send a Content-Length.")
        )
    elif not (declared.isascii() and declared.isdigit()):
        raise malformed(_("Content-Length must be a number."))
    elif len(declared) > 9 or int(declared) > MAX_BODY:
        raise _too_large()
    else:
        expected = limit = int(declared)
    body = _read_at_most(environ, limit)
    if len(body) > MAX_BODY:
        raise _too_large()
    if expected is not None and len(body) < expected:
        raise malformed(_("The body is shorter than its Content-Length."))
    return body


def malformed(detail: str) -> RequestError:
    """Return the error for a request that cannot be read."""
    return RequestError(HTTPStatus.BAD_REQUEST, "malformed", detail)


def _read_at_most(environ: WSGIEnvironment, limit: int) -> bytes:
    parts = []
    try:
        while limit > 0:
            part = environ["wsgi.input"].read(limit)
            if not part:
                break
            parts.append(part)
            limit -= len(part)
    except (OSError, ValueError):  # the client disconnected, or sent a malformed chunk
        raise malformed(_("The body could not be read.")) from None
    return b"".join(parts)


def _too_large() -> RequestError:
    return RequestError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too_large",
        ngettext(
            "The body must not be longer than %(num)s byte.",
            "The body must not be longer than %(num)s bytes.",
            MAX_BODY,
        ),
    )
