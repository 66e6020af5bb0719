"""The responses of /auth and of the guards. HTML comes from `pages`."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from wsgiref.types import StartResponse, WSGIEnvironment

from wsgiauth.languages.language import Language, has_message, translated

REALM = "wsgiauth"

Header = tuple[str, str]

PUBLIC_FOR_AN_HOUR = "public, max-age=3600"  # Cache-Control

# As Referrer-Policy: no site, not even this one, sees the path of the page. With `no-referrer`,
# browsers would send `Origin: null` with the forms of the page (Fetch standard, "append a request
# `Origin` header"). Without Sec-Fetch-Site, wsgiauth refuses such forms.
WITHOUT_PATHS = "strict-origin"
NO_REFERRER = "no-referrer"  # of redirects alone

# Names of statuses in RFC 9110, which Python has since 3.13.
_PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}

# OWASP ASVS 5.0, 3.4.3 and 3.4.6: a browser that shows JSON or a redirect loads and frames nothing.
_STRICT_POLICY = "default-src 'none'; frame-ancestors 'none'"


@dataclass(frozen=True)
class Response:
    """An HTTP response, which is a WSGI app.

    Example:
        response = Response(HTTPStatus.OK, b"early,kind", "text/csv; charset=utf-8")
    """

    status: HTTPStatus
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[Header, ...] = ()  # further headers
    policy: str = _STRICT_POLICY  # Content-Security-Policy
    referrer: str = "same-origin"  # Referrer-Policy
    app_iter: Iterable[bytes] | None = None  # a body that is made while it is sent
    cache: str = "no-store"  # Cache-Control
    document: Mapping[str, object] | None = None  # JSON with messages, in the reader's language

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Send the response (PEP 3333)."""
        if self.document is not None:
            return self.for_reader(environ)(environ, start_response)
        content: tuple[Header, ...] = ()
        if self.status is not HTTPStatus.NO_CONTENT:
            length = () if self.app_iter else (("Content-Length", str(len(self.body))),)
            content = (("Content-Type", self.content_type), *length)
        start_response(
            f"{self.status.value} {phrase(self.status)}",
            [
                *content,
                ("Cache-Control", self.cache),
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", self.referrer),
                ("Content-Security-Policy", self.policy),
                *self.headers,
            ],
        )
        if environ["REQUEST_METHOD"] == "HEAD":
            return []
        return self.app_iter or [self.body]

    def for_reader(self, environ: WSGIEnvironment) -> "Response":
        """Return the response with its messages in the language of the client."""
        if self.document is None:
            return self
        language: Language = environ["wsgiauth.site"].pages.readers.language(environ)
        body = _encoded(translated(self.document, language))
        headers = (*self.headers, *language_headers(language))
        return replace(self, document=None, body=body, headers=headers)


def phrase(status: HTTPStatus) -> str:
    """Return the name of a status, which does not depend on the version of Python."""
    return _PHRASES.get(status, status.phrase)


def language_headers(language: Language) -> tuple[Header, ...]:
    """Return the headers of a response in a language (RFC 9110 sections 8.5 and 12.5.5)."""
    return ("Content-Language", language.name), ("Vary", "Accept-Language, Cookie")


def json_response(
    document: Mapping[str, object],
    *,
    status: HTTPStatus = HTTPStatus.OK,
    headers: tuple[Header, ...] = (),
    cache: str = "no-store",
    content_type: str = "application/json",
) -> Response:
    """Return `document` as JSON (RFC 8259), with messages in the language of the reader.

    Example:
        response = json_response({"detail": _("Badge given.")}, status=HTTPStatus.CREATED)
    """
    is_translated = has_message(document)
    return Response(
        status,
        b"" if is_translated else _encoded(document),
        content_type,
        headers,
        cache=cache,
        document=document if is_translated else None,
    )


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
        code: A stable name of the cause for programs.
        detail: A sentence, for people.
        errors: Messages by field.
        further: Extension members.
    """
    document: dict[str, object] = {
        "type": "about:blank",
        "title": phrase(status),
        "status": status.value,
        "detail": detail,
        "code": code,
        **(further or {}),
    }
    if errors:
        document["errors"] = errors
    return json_response(
        document, status=status, headers=headers, content_type="application/problem+json"
    )


def redirect(status: HTTPStatus, location: str, *, headers: tuple[Header, ...] = ()) -> Response:
    """Return a redirect to a path on this site, or to a host of NEXT_HOSTS.

    A path stays one (RFC 9110 section 10.2.2), so that a forged Host has no effect.

    Example:
        response = redirect(HTTPStatus.SEE_OTHER, f"{mount_url(environ)}/badges")
    """
    return Response(status, headers=(("Location", location), *headers))


# A constant, because making an encoder takes as long as encoding.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _encoded(document: object) -> bytes:
    return _ENCODER.encode(document).encode()
