"""What a client is answered whose login is missing or not recent: a redirect or the challenge.

Guards, `challenges` and the endpoints for users who are logged in answer alike.
"""

from http import HTTPStatus
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import (
    INSUFFICIENT_AUTHENTICATION,
    INSUFFICIENT_SCOPE,
    InsufficientAuthenticationError,
    SecondFactorMissingError,
)
from wsgiauth.web.cross_origin import SAFE_METHODS, host_of
from wsgiauth.web.failures import RESEND, failure
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Response, challenge, redirect
from wsgiauth.web.urls import path_asked_for, root_url, safe_next, with_next

# OpenID Provider Authentication Policy Extension 1.0, section 4; also used as an `acr`.
MULTI_FACTOR = "http://schemas.openid.net/pape/policies/2007/06/multi-factor"


def ask_to_log_in(
    environ: WSGIEnvironment, login_url: str | None, error: str | None = None
) -> Response:
    """Return the answer to an anonymous client: 302 to the login page, or the challenge.

    Args:
        environ: The request, with the keys that `AuthMiddleware` sets.
        login_url: The path of the login page, without the SCRIPT_NAME of `AuthMiddleware`; None
            answers with the challenge.
        error: `invalid_token` if a token was presented and rejected.
    """
    if login_url is None or not _is_browser(environ):
        return failure(
            environ,
            HTTPStatus.UNAUTHORIZED,
            error or "unauthenticated",
            "Log in to open this page.",
            headers=(challenge(error),),
        )
    return redirect(HTTPStatus.FOUND, with_next(root_url(environ) + login_url, _wanted(environ)))


def ask_to_confirm(environ: WSGIEnvironment, confirm_url: str, max_age: int) -> Response:
    """Return the answer to a client whose last proof is too old: the page to confirm, or 401.

    A browser goes there and back (302), after a form to the page with the form (303). Nothing of
    the form is kept, and the page to confirm says so. Others get the challenge of RFC 9470.

    Args:
        environ: The request, with the keys that `AuthMiddleware` sets.
        confirm_url: The path of the page to confirm, without the SCRIPT_NAME of `AuthMiddleware`.
        max_age: How old the proof can be, in seconds.
    """
    url = root_url(environ) + confirm_url
    if not _is_browser(environ):
        error = InsufficientAuthenticationError(max_age)
        headers = (challenge(error.code, max_age=max_age),)
        detail = f"Confirm that it is you at {url}, then try again."
        return failure(environ, error.status, error.code, detail, headers=headers)
    if environ["REQUEST_METHOD"] in SAFE_METHODS:
        return redirect(HTTPStatus.FOUND, with_next(url, _wanted(environ)))
    return redirect(HTTPStatus.SEE_OTHER, with_next(f"{url}?{RESEND}=1", _page_of_form(environ)))


def refuse_key(environ: WSGIEnvironment, detail: str) -> Response:
    """Return the 403 for a request whose API key is not enough (RFC 6750 section 3.1)."""
    headers = (challenge(INSUFFICIENT_SCOPE),)
    return failure(environ, HTTPStatus.FORBIDDEN, INSUFFICIENT_SCOPE, detail, headers=headers)


def ask_for_second_factor(
    environ: WSGIEnvironment, page_url: str, error: SecondFactorMissingError
) -> Response:
    """Return the answer to a client whose login was not proven by a second factor: a page, or 401.

    Args:
        environ: The request, with the keys that `AuthMiddleware` sets.
        page_url: The path of the page to confirm or to set one up, without the SCRIPT_NAME of
            `AuthMiddleware`.
        error: What the user has to do.
    """
    url = root_url(environ) + page_url
    if not _is_browser(environ):
        return second_factor_failure(environ, error, f"{error.detail} The page is {url}.")
    if environ["REQUEST_METHOD"] in SAFE_METHODS:
        return redirect(HTTPStatus.FOUND, with_next(url, _wanted(environ)))
    url = url if error.needs_set_up else f"{url}?{RESEND}=1"
    return redirect(HTTPStatus.FOUND, with_next(url, _page_of_form(environ)))


def second_factor_failure(
    environ: WSGIEnvironment, error: SecondFactorMissingError, detail: str
) -> Response:
    """Return the 401 for a login that was not proven by a second factor."""
    headers = (challenge(INSUFFICIENT_AUTHENTICATION, acr_values=MULTI_FACTOR),)
    return failure(environ, error.status, error.code, detail, headers=headers)


def _is_browser(environ: WSGIEnvironment) -> bool:
    return "HTTP_AUTHORIZATION" not in environ and prefers_html(environ)


def _wanted(environ: WSGIEnvironment) -> str:
    """Return the page that was asked for, as a `next`, or nothing."""
    if environ["REQUEST_METHOD"] not in SAFE_METHODS:
        return ""
    # A path that the login page would refuse is left out: percent-encoded again, it can make the
    # Location header longer than proxies accept.
    return safe_next(path_asked_for(environ), "")


def _page_of_form(environ: WSGIEnvironment) -> str:
    """Return the page that sent a form, as a `next`: the Referer of this site, or this path."""
    referer = environ.get("HTTP_REFERER", "")
    this = safe_next(path_asked_for(environ), "")
    if host_of(referer) != environ.get("HTTP_HOST", ""):
        return this
    page = urlsplit(referer)
    return safe_next(page._replace(scheme="", netloc="", fragment="").geturl(), this)
