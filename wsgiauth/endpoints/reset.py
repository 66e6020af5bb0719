"""GET, POST /auth/reset: a new password by the link of a mail.

GET changes nothing, because mail scanners and previews open links: the page has a form. No answer
sends a referrer, because the address has the secret of the link.
"""

from collections.abc import Mapping
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.authentication.factors import are_offered
from wsgiauth.authentication.resets import find_holder, reset_password
from wsgiauth.exceptions import RequestError
from wsgiauth.forms import PublicForm, Refusal, Submission
from wsgiauth.forms.fields import TOKEN, link_expired
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import Page
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url


class ResetPage(Page):
    """The form to choose a new password.

    Attributes:
        reset_url: Where the form is sent.
        token: The secret of the link.
        username: The user's name.
        password_min_length: In characters.
        removes_factors: Whether the new password also removes the second factors.
        message: Why the whole form was refused.
        errors: Why fields were refused, by field.
    """

    template = "reset.html"

    reset_url: str
    token: str
    username: str
    password_min_length: int
    removes_factors: bool = False
    message: str = ""
    errors: Mapping[str, list[str]] = {}


class Reset(PublicForm):
    """Changes the password and ends all logins of the user, who then logs in again."""

    fields = (TOKEN, "password")

    hides_address = True

    def is_offered(self, settings: Settings) -> bool:
        """Return whether links can lead here: those of mails, and those of an operator."""
        return settings.PUBLIC_URL is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the form."""
        fields = {TOKEN: query_field(environ, TOKEN), "password": ""}
        submission = Submission(environ=environ, site=site, fields=fields)
        return site.pages.render(self.page(submission, Refusal()))

    def act(self, submission: Submission) -> Response:
        """Set the new password."""
        site, secret = submission.site, submission.fields[TOKEN]
        user = _require_holder(submission)
        with site.hash_slots.slot(Claim(submission.networks)):
            is_changed = reset_password(
                user,
                secret,
                submission.fields["password"],
                settings=site.settings,
                now=site.tokens.now(),
            )
        if not is_changed:
            raise _link_expired(site)
        if submission.wants_json:
            return json_response({"detail": "Password changed. Log in with the new one."})
        location = f"{mount_url(submission.environ)}/login?done=reset"
        return redirect(HTTPStatus.SEE_OTHER, location)

    def page(self, submission: Submission, refusal: Refusal) -> Page:
        """Return the form, without the password.

        Raises:
            RequestError: 410.
            peewee.DatabaseError: The database failed.
        """
        user, settings = _require_holder(submission), submission.site.settings
        return ResetPage(
            reset_url=f"{mount_url(submission.environ)}/reset",
            token=submission.fields[TOKEN],
            username=user.username,
            password_min_length=settings.PASSWORD_MIN_LENGTH,
            removes_factors=are_offered(settings) and user.email_verified_at is None,
            message=refusal.message,
            errors=refusal.errors,
        )


def _require_holder(submission: Submission) -> User:
    user = find_holder(submission.fields[TOKEN], now=submission.site.tokens.now())
    if user is None:
        raise _link_expired(submission.site)
    return user


def _link_expired(site: Site) -> RequestError:
    if site.outbox is None:
        return link_expired("Ask the administrators of this site for a new one.")
    return link_expired("Ask for a new one on the login page.")
