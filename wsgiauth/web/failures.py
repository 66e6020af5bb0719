"""Failures as the client prefers them: a page for people, problem details for programs."""

from collections.abc import Mapping
from http import HTTPStatus
from itertools import chain
from wsgiref.types import WSGIEnvironment

from wsgiauth.web.cross_origin import SAFE_METHODS
from wsgiauth.web.headlines import HEADLINES
from wsgiauth.web.pages import ErrorPage, Pages
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Header, Response, problem
from wsgiauth.web.urls import path_asked_for, root_url, safe_next, with_next

SWITCH = "switch"  # in the query of the login page: the form, even for a user who is logged in
RESEND = "resend"  # in the query of the page to confirm: a form must be sent again afterwards


def failure(
    environ: WSGIEnvironment,
    status: HTTPStatus,
    code: str,
    detail: str,
    *,
    errors: Mapping[str, list[str]] | None = None,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return a failure in the form that the client prefers: a page, or problem details.

    Args:
        environ: The request. Its Accept decides; `wsgiauth.site` and `wsgiauth.root` are what
            `AuthMiddleware` put there.
        status: The HTTP status.
        code: A stable name of the cause, for programs.
        detail: A sentence, for people.
        errors: Messages by field, which a page shows instead of `detail`.
        headers: Further headers.
    """
    if not prefers_html(environ):
        return problem(status, code, detail, errors=errors, headers=headers)
    pages: Pages = environ["wsgiauth.site"].pages
    root = root_url(environ)
    wanted = path_asked_for(environ) if environ["REQUEST_METHOD"] in SAFE_METHODS else ""
    login_url, login_text = None, ""
    if status == HTTPStatus.UNAUTHORIZED:
        login_url, login_text = f"{root}{pages.mount}/login", "Log in"
    elif code in ("forbidden", "other_account"):  # another account may be permitted
        login_url = f"{root}{pages.mount}/login?{SWITCH}=1"
        login_text = "Use another account"
    elif code == "link_expired":  # the login page has the way to another link, where there is one
        login_url, login_text, wanted = f"{root}{pages.mount}/login", "Go to the login page", ""
    page = ErrorPage(
        status=status.value,
        title=HEADLINES.get(code, status.phrase),
        detail=" ".join(chain.from_iterable(errors.values())) if errors else detail,
        home_url=f"{root}/",
        login_url=login_url and with_next(login_url, safe_next(wanted, "")),
        login_text=login_text,
    )
    return pages.render(page, status=status, headers=headers)
