"""The forms after which the login of their client goes on under a new id.

A client that sent a token gets a token, and one that sent a cookie gets a cookie.
"""

from http import HTTPStatus
from typing import ClassVar

from wsgiauth.authentication.identity import bearer_token
from wsgiauth.authentication.issuing import Login
from wsgiauth.forms import MemberForm, MemberSubmission
from wsgiauth.forms.handover import destination_after_login, token_json
from wsgiauth.logins import login_cookie
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url


class RenewingForm(MemberForm[Login]):
    """A form whose outcome is the renewed login of the user who sent it.

    Attributes:
        done: A sentence that says what happened, for scripts.
        done_path: Where the browser goes without a `next`, below the mount; empty for the home
            page of the site.
    """

    done: ClassVar[str]
    done_path: ClassVar[str] = ""

    def as_json(self, submission: MemberSubmission, outcome: Login) -> Response:
        """Return the new token, or the new cookie and where to go."""
        if has_token(submission):
            return token_json(submission.site, outcome)
        document = {"detail": self.done, "next": self._destination(submission)}
        return json_response(document, headers=(renewed_cookie(submission, outcome),))

    def as_page(self, submission: MemberSubmission, outcome: Login) -> Response:
        """Send the browser to `next`, with the new cookie."""
        if has_token(submission):
            return self.as_json(submission, outcome)
        headers = (renewed_cookie(submission, outcome),)
        return redirect(HTTPStatus.SEE_OTHER, self._destination(submission), headers=headers)

    def _destination(self, submission: MemberSubmission) -> str:
        if self.done_path and not submission.destination:
            return mount_url(submission.environ) + self.done_path
        return destination_after_login(submission.environ, submission.destination)


def has_token(submission: MemberSubmission) -> bool:
    """Return whether a request carries its login as a bearer token."""
    return bearer_token(submission.environ.get("HTTP_AUTHORIZATION", "")) is not None


def renewed_cookie(submission: MemberSubmission, login: Login) -> Header:
    """Return the header with the cookie of a renewed login."""
    return login_cookie(submission.environ, submission.site, login)
