"""GET, POST /auth/forgot: ask for an email with a link to choose a new password."""

from wsgiauth.exceptions import ValidationError
from wsgiauth.features.links.detours import keep_next
from wsgiauth.features.links.letters import request_reset
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.forms import FormPage, PublicForm, Refusal, Submission, email_accepted
from wsgiauth.forms.endpoint import require_part
from wsgiauth.forms.proofs import ACCOUNT_NAME, NAME_FIELD, missing_name
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import INVALID, THROTTLED
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page, UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next


class ForgotPage(FormPage):
    """The form to ask for a new password."""

    template = "forgot.html"
    typed = ("username",)
    forgot_url = UrlBelow("forgot")
    login_url: str
    username: str = ""  # as it was sent


class ForgotSentPage(Page):
    """The next steps. It does not show whether there is an account."""

    template = "forgot_sent.html"
    forgot_url: str
    login_url: str
    minutes: int


class Forgot(PublicForm):
    """Sends a link. The answer does not depend on whether there is an account."""

    fields = (NAME_FIELD,)
    refusals = (INVALID, THROTTLED)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form; the page does not need the database."""
        return () if method == "get" else super().problems(method)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site sends email, and users log in with a password."""
        return settings.MAIL_URL is not None and settings.PASSWORD_LOGIN

    def act(self, submission: Submission) -> Response:
        """Insert the email, for any name."""
        site, name = submission.site, submission.fields[ACCOUNT_NAME]
        if not name:
            raise ValidationError({"username": [missing_name(site.settings)]})
        site.require(MailLimits).count(name, submission.networks)
        request_reset(require_part(site.outbox), name, mount=site.pages.mount)
        detail = _(
            "If there is an active account, an email with a link is on its way to its address."
        )
        mount, destination = mount_url(submission.environ), submission.destination
        page = ForgotSentPage(
            forgot_url=with_next(f"{mount}/forgot", destination),
            login_url=with_next(f"{mount}/login", destination),
            minutes=site.settings.LINK_MINUTES,
        )
        return email_accepted(submission, detail, page, *keep_next(submission))

    def page(self, submission: Submission, refusal: Refusal) -> ForgotPage:
        """Return the form."""
        mount, destination = mount_url(submission.environ), submission.destination
        return ForgotPage(
            login_url=with_next(f"{mount}/login", destination),
            next=destination,
            username=submission.fields[ACCOUNT_NAME],
            message=refusal.message,
            errors=refusal.errors,
        )
