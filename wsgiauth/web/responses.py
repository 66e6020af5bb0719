"""The responses of /auth and of the guards: JSON, problem details and redirects.

A response is a value, and is sent by calling it as a WSGI app. See `pages` for HTML.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from wsgiref.types import StartResponse, WSGIEnvironment

REALM = "wsgiauth"

Header = tuple[str, str]

PUBLIC_FOR_AN_HOUR = "public, max-age=3600"  # Cache-Control

_COMMON_HEADERS: tuple[Header, ...] = (("X-Content-Type-Options", "nosniff"),)
# OWASP ASVS 5.0, 3.4.3 and 3.4.6: a browser that shows JSON or a redirect loads and frames nothing.
_STRICT_POLICY = "default-src 'none'; frame-ancestors 'none'"


@dataclass(frozen=True)
class Response:
    """An HTTP response; calling it sends it, without the body if the method is HEAD."""

    status: HTTPStatus
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[Header, ...] = ()  # further ones
    policy: str = _STRICT_POLICY  # Content-Security-Policy
    referrer: str = "same-origin"  # Referrer-Policy
    app_iter: Iterable[bytes] | None = None  # a body that is made while it is sent
    cache: str = "no-store"  # Cache-Control

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Send the response (PEP 3333)."""
        content: tuple[Header, ...] = ()
        if self.status is not HTTPStatus.NO_CONTENT:
            length = () if self.app_iter else (("Content-Length", str(len(self.body))),)
            content = (("Content-Type", self.content_type), *length)
        start_response(
            f"{self.status.value} {self.status.phrase}",
            [
                *content,
                ("Cache-Control", self.cache),
                *_COMMON_HEADERS,
                ("Referrer-Policy", self.referrer),
                ("Content-Security-Policy", self.policy),
                *self.headers,
            ],
        )
        if environ["REQUEST_METHOD"] == "HEAD":
            return []
        return self.app_iter or [self.body]


def json_response(
    document: Mapping[str, object],
    *,
    status: HTTPStatus = HTTPStatus.OK,
    headers: tuple[Header, ...] = (),
    cache: str = "no-store",
) -> Response:
    """Return `document` as JSON (RFC 8259)."""
    return Response(status, _encoded(document), "application/json", headers, cache=cache)


def problem(
    status: HTTPStatus,
    code: str,
    detail: str,
    *,
    errors: Mapping[str, list[str]] | None = None,
    further: Mapping[str, object] | None = None,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return a failure as problem details (RFC 9457).

    Args:
        code: A stable name of the cause, for programs; see `failures.HEADLINES`.
        detail: A sentence, for people.
        errors: Messages by field.
        further: Extension members.
    """
    document: dict[str, object] = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "code": code,
        **(further or {}),
    }
    if errors:
        document["errors"] = errors
    return Response(status, _encoded(document), "application/problem+json", headers)


def redirect(status: HTTPStatus, location: str, *, headers: tuple[Header, ...] = ()) -> Response:
    """Return a redirect to a path on this site.

    Location stays a path (RFC 9110 section 10.2.2), so that a forged Host leads nowhere else.
    """
    return Response(status, headers=(("Location", location), *headers))


# Kept, because making one takes as long as it takes to encode.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _encoded(document: Mapping[str, object]) -> bytes:
    return _ENCODER.encode(document).encode()
