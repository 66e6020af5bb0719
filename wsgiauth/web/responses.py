"""What /auth and the guards answer: JSON, problem details, pages and redirects.

Every answer is a value, made here and sent by calling it as a WSGI app.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from pathlib import Path
from string import Template
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIEnvironment

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.web.cross_origin import SAFE_METHODS
from wsgiauth.web.headlines import HEADLINES
from wsgiauth.web.request import prefers_html
from wsgiauth.web.urls import path_asked_for, root_url, safe_next, with_next

REALM = "wsgiauth"
SWITCH = "switch"  # in the query of the login page: the form, even for a user who is logged in
RETRY_AFTER = 5  # seconds until a database is worth another try

Header = tuple[str, str]

_COMMON_HEADERS: tuple[Header, ...] = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
)
# OWASP ASVS 5.0, 3.4.3 and 3.4.6: a browser that shows JSON or a redirect loads and frames nothing.
_STRICT_POLICY = "default-src 'none'; frame-ancestors 'none'"
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)  # for who writes a template, not for clients
_TEMPLATES = Path(__file__).parents[1] / "templates"


@dataclass(frozen=True)
class Response:
    """An HTTP answer; calling it sends it. HEAD is answered without the body.

    Attributes:
        status: The HTTP status.
        body: The whole body.
        content_type: Its media type.
        headers: Further headers.
        policy: Its Content-Security-Policy.
    """

    status: HTTPStatus
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[Header, ...] = ()
    policy: str = _STRICT_POLICY

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Send the answer (PEP 3333)."""
        start_response(
            f"{self.status.value} {self.status.phrase}",
            [
                ("Content-Type", self.content_type),
                ("Content-Length", str(len(self.body))),
                *_COMMON_HEADERS,
                ("Content-Security-Policy", self.policy),
                *self.headers,
            ],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [self.body]


class Pages:
    """The HTML pages, read once; every value is escaped on its way into them.

    Args:
        mount: The path of /auth on this site, where links to the login page lead.
        folder: Files in it replace wsgiauth's own of the same name.
        site_name: The name of the site, in the title and above the heading of every page.

    Raises:
        ConfigurationError: A page is not a template, or asks for a value that it is not given.
    """

    def __init__(
        self,
        mount: str,
        folder: str | os.PathLike[str] | None = None,
        *,
        site_name: str | None = None,
    ) -> None:
        self.mount = mount
        self._folder = None if folder is None else Path(folder)
        self._style = self._read("style.css")
        self._site = {
            "site_name": escape(site_name or ""),
            "site_suffix": escape(f" · {site_name}" if site_name else ""),
            "icon": f"data:image/svg+xml,{quote(self._read('icon.svg'))}",
        }
        digest = base64.b64encode(hashlib.sha256(self._style.encode()).digest()).decode()
        self._policy = (
            f"default-src 'none'; style-src 'self' 'sha256-{digest}'; img-src 'self' data:; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        self._templates = {name: self._template(name) for name in _VALUES}

    def render(
        self,
        name: str,
        values: Mapping[str, str],
        *,
        status: HTTPStatus = HTTPStatus.OK,
        headers: tuple[Header, ...] = (),
    ) -> Response:
        """Return a page.

        Args:
            name: `login`, `logged_in`, `register` or `error`.
            values: What its template shows.
            status: The HTTP status.
            headers: Further headers.
        """
        escaped = {value: escape(values[value]) for value in _VALUES[name]}
        html = self._templates[name].substitute(self._site, **escaped, style=self._style)
        body = html.encode(errors="replace")  # SITE_NAME, from an environment that is not UTF-8
        return Response(status, body, "text/html; charset=utf-8", headers, policy=self._policy)

    def _template(self, name: str) -> Template:
        template = Template(_COMMENT.sub("", self._read(f"{name}.html")))
        try:
            template.substitute(dict.fromkeys(_VALUES[name], ""), **self._site, style="")
        except (KeyError, ValueError) as error:
            known = ", ".join(f"${value}" for value in ("style", *self._site, *_VALUES[name]))
            raise ConfigurationError(
                f"TEMPLATES: {name}.html does not work ({error!r}). It can use {known};"
                " a dollar sign is written $$."
            ) from None
        return template

    def _read(self, name: str) -> str:
        replacement = None if self._folder is None else self._folder / name
        chosen = replacement if replacement and replacement.is_file() else _TEMPLATES / name
        try:
            return chosen.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"TEMPLATES: {name} cannot be read: {error}") from None


_VALUES = {
    "login": (
        *("login_url", "register_url", "register_hidden", "next", "username", "message"),
        *("username_autofocus", "password_autofocus"),
    ),
    "logged_in": ("username", "continue_url", "switch_url", "logout_url", "permission_hidden"),
    "register": (
        *("register_url", "login_url", "next", "username", "email", "message"),
        *("username_error", "email_error", "password_error"),
        *("username_invalid", "email_invalid", "password_invalid"),
        *("username_autofocus", "email_autofocus", "password_autofocus"),
        "password_min_length",
    ),
    "error": (
        *("status", "title", "detail"),
        *("home_url", "login_url", "login_text", "login_hidden"),
    ),
}


def json_response(
    document: Mapping[str, object],
    *,
    status: HTTPStatus = HTTPStatus.OK,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return `document` as JSON (RFC 8259)."""
    return Response(status, _encoded(document), "application/json", headers)


def problem(
    status: HTTPStatus,
    code: str,
    detail: str,
    *,
    errors: Mapping[str, list[str]] | None = None,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return a failure as problem details (RFC 9457).

    Args:
        status: The HTTP status.
        code: A stable name of the cause, for programs.
        detail: A sentence, for people.
        errors: Messages by field.
        headers: Further headers.
    """
    document: dict[str, object] = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "code": code,
    }
    if errors:
        document["errors"] = errors
    return Response(status, _encoded(document), "application/problem+json", headers)


def redirect(status: HTTPStatus, location: str, *, headers: tuple[Header, ...] = ()) -> Response:
    """Return a redirect to a path on this site.

    Location stays a path (RFC 9110 section 10.2.2), so that a forged Host leads nowhere else.
    """
    return Response(status, headers=(("Location", location), *headers))


def challenge(error: str | None) -> Header:
    """Return the header that asks for a bearer token (RFC 6750 section 3).

    Args:
        error: `invalid_token` when one was presented, None when there was none.
    """
    reason = f', error="{error}"' if error else ""
    return ("WWW-Authenticate", f'Bearer realm="{REALM}"{reason}')


def failure(
    environ: WSGIEnvironment,
    status: HTTPStatus,
    code: str,
    detail: str,
    *,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return a failure in the form that the client prefers: a page, or problem details.

    Args:
        environ: The request. Its Accept decides; `wsgiauth.pages` and `wsgiauth.root` are what
            `AuthMiddleware` put there.
        status: The HTTP status.
        code: A stable name of the cause, for programs.
        detail: A sentence, for people.
        headers: Further headers.
    """
    if not prefers_html(environ):
        return problem(status, code, detail, headers=headers)
    pages: Pages = environ["wsgiauth.pages"]
    root = root_url(environ)
    wanted = path_asked_for(environ) if environ["REQUEST_METHOD"] in SAFE_METHODS else ""
    login_url = f"{root}{pages.mount}/login"
    login_text = "Log in"
    is_forbidden = code == "forbidden"
    if is_forbidden:  # another account may have the permission
        login_url = f"{login_url}?{SWITCH}=1"
        login_text = "Use another account"
    values = {
        "status": str(status.value),
        "title": HEADLINES.get(code, status.phrase),
        "detail": detail,
        "home_url": f"{root}/",
        "login_url": with_next(login_url, safe_next(wanted, "")),
        "login_text": login_text,
        "login_hidden": "" if status == HTTPStatus.UNAUTHORIZED or is_forbidden else "hidden",
    }
    return pages.render("error", values, status=status, headers=headers)


def unavailable(environ: WSGIEnvironment) -> Response:
    """Return the answer to a request that needs the database while it is away."""
    return failure(
        environ,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "unavailable",
        "The account database is not available. Try again in a moment.",
        headers=(("Retry-After", str(RETRY_AFTER)),),
    )


def _encoded(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
