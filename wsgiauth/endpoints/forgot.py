"""GET, POST /auth/forgot: ask for a mail with a link to choose a new password."""

from http import HTTPStatus

from wsgiauth.exceptions import ValidationError
from wsgiauth.forms import PublicForm, Refusal, Submission
from wsgiauth.forms.endpoint import require_part
from wsgiauth.forms.fields import ACCOUNT_NAME, account_name
from wsgiauth.mail.link_letters import request_reset
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url


class ForgotPage(Page):
    """The form to ask for a new password.

    Attributes:
        forgot_url: Where the form is sent.
        login_url: The login form, for those who remember.
        username: As it was sent before.
        message: Why the form was refused.
    """

    template = "forgot.html"

    forgot_url: str
    login_url: str
    username: str = ""
    message: str = ""


class ForgotSentPage(Page):
    """What to do next. It shows nothing of the account, and not whether there is one.

    Attributes:
        login_url: The login form.
        minutes: How long the link can be used.
    """

    template = "forgot_sent.html"

    login_url: str
    minutes: int


class Forgot(PublicForm):
    """The outcome, and the work before it, do not depend on whether there is an account."""

    fields = (ACCOUNT_NAME,)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site sends mail."""
        return settings.MAIL_URL is not None

    def act(self, submission: Submission) -> Response:
        """Insert a row, whatever the name is."""
        site, name = submission.site, account_name(submission)
        if not name:
            raise ValidationError({"username": ["Enter your username or e-mail address."]})
        site.mail_limits.count(name, submission.networks)
        request_reset(require_part(site.outbox), name, mount=site.pages.mount)
        if submission.wants_json:
            detail = "If the name belongs to an active account, a mail with a link is on its way."
            return json_response({"detail": detail}, status=HTTPStatus.ACCEPTED)
        page = ForgotSentPage(
            login_url=f"{mount_url(submission.environ)}/login", minutes=site.settings.LINK_MINUTES
        )
        return site.pages.render(page, status=HTTPStatus.ACCEPTED)

    def page(self, submission: Submission, refusal: Refusal) -> Page:
        """Return the form."""
        mount = mount_url(submission.environ)
        return ForgotPage(
            forgot_url=f"{mount}/forgot",
            login_url=f"{mount}/login",
            username=submission.fields[ACCOUNT_NAME],
            message=refusal.text,
        )
