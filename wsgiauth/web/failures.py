"""Failures as the client prefers them: a page for people, problem details for programs."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.web.cross_origin import SAFE_METHODS
from wsgiauth.web.headlines import HEADLINES
from wsgiauth.web.pages import ErrorPage, Pages
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Header, Response, problem
from wsgiauth.web.urls import path_asked_for, root_url, safe_next, with_next

SWITCH = "switch"  # in the query of the login page: the form, even for a user who is logged in
RETRY_AFTER = 5  # seconds until a database is worth another try


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
    login_url, login_text = None, ""
    if status == HTTPStatus.UNAUTHORIZED:
        login_url, login_text = f"{root}{pages.mount}/login", "Log in"
    elif code == "forbidden":  # another account may have the permission
        login_url = f"{root}{pages.mount}/login?{SWITCH}=1"
        login_text = "Use another account"
    page = ErrorPage(
        status=status.value,
        title=HEADLINES.get(code, status.phrase),
        detail=detail,
        home_url=f"{root}/",
        login_url=login_url and with_next(login_url, safe_next(wanted, "")),
        login_text=login_text,
    )
    return pages.render(page, status=status, headers=headers)


def unavailable(environ: WSGIEnvironment) -> Response:
    """Return the answer to a request that needs the database while it is away."""
    return failure(
        environ,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "unavailable",
        "The account database is not available. Try again in a moment.",
        headers=(("Retry-After", str(RETRY_AFTER)),),
    )
