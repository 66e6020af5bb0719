"""The answer to a form after which the session of its client goes on under a new id.

A client that sent a token gets a token, and one that sent a cookie gets a cookie.
"""

from http import HTTPStatus

from wsgiauth.authentication.identity import bearer_token
from wsgiauth.authentication.issuing import Login
from wsgiauth.forms import MemberSubmission
from wsgiauth.forms.handover import destination_after_login, token_json
from wsgiauth.logins import login_cookie
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url


def hand_over_renewed(
    submission: MemberSubmission, login: Login, detail: str, *, path: str = ""
) -> Response:
    """Return the new token, or the new cookie and a redirect to `next`.

    Args:
        submission: The form.
        login: The renewed login.
        detail: A sentence that says what happened, for scripts.
        path: Where the browser goes without a `next`, below the mount; empty for the home page of
            the site.
    """
    if has_token(submission):
        return token_json(submission.site, login)
    location = destination_after_login(submission.environ, submission.destination)
    if path and not submission.destination:
        location = mount_url(submission.environ) + path
    headers = (renewed_cookie(submission, login),)
    if submission.wants_json:
        return json_response({"detail": detail, "next": location}, headers=headers)
    return redirect(HTTPStatus.SEE_OTHER, location, headers=headers)


def has_token(submission: MemberSubmission) -> bool:
    """Return whether a request carries its login as a bearer token."""
    return bearer_token(submission.environ.get("HTTP_AUTHORIZATION", "")) is not None


def renewed_cookie(submission: MemberSubmission, login: Login) -> Header:
    """Return the header with the cookie of a renewed login."""
    return login_cookie(submission.environ, submission.site, login)
