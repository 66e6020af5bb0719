"""GET, POST /auth/register where VERIFICATION is on: an email with a link to create an account."""

from typing import ClassVar

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.endpoints.register import Register, RegisterPage
from wsgiauth.exceptions import RetryLaterError, ValidationError
from wsgiauth.features.links.letters import request_address_link, request_invitation
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.forms import Submission, email_accepted
from wsgiauth.forms.endpoint import Endpoint, require_part
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next


class Registration(Register):
    """The registration, with or without VERIFICATION."""

    def variant(self, settings: Settings) -> Endpoint:
        """Return the endpoint that sends a link first, if VERIFICATION is on."""
        return VerifiedRegister() if settings.VERIFICATION else self

    def follow_up(self, submission: Submission, user: User) -> None:
        """Send a link that verifies the address, unless too many emails have been asked for."""
        site = submission.site
        if site.outbox is None:
            return
        try:
            site.require(MailLimits).count(user.email, submission.networks, user=user)
        except RetryLaterError:
            return  # the user has an account, and can ask for the link later
        request_address_link(site.outbox, user, user.email, mount=site.pages.mount)


class VerifiedRegisterPage(RegisterPage):
    """The form to ask for an account, without a password."""

    template = "verified_register.html"
    typed: ClassVar[tuple[str, ...]] = ("username", "email")

    @classmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return False: the link leads to the page that asks for the fields."""
        return False


class VerifiedRegisterSentPage(Page):
    """The next steps. It does not show whether there is an account."""

    template = "verified_register_sent.html"
    login_url: str
    minutes: int


class VerifiedRegister(Register):
    """Sends an invitation, whose link creates the account.

    The answer and its time do not depend on whether the address has an account.
    """

    fields = ("username", "email")
    page_class = VerifiedRegisterPage

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields without the application's fields, which the link's page asks for."""
        return self.fields

    def act(self, submission: Submission) -> Response:
        """Insert the email, even if the address has an account."""
        site, fields = submission.site, submission.fields
        errors = names.name_errors(fields)
        if errors:
            raise ValidationError(errors)
        site.require(MailLimits).count(fields["email"], submission.networks)
        outbox = require_part(site.outbox)
        request_invitation(outbox, fields["username"], fields["email"], mount=site.pages.mount)
        detail = _("If the address can have an account, an email with a link is on its way.")
        page = VerifiedRegisterSentPage(
            login_url=with_next(f"{mount_url(submission.environ)}/login", submission.destination),
            minutes=site.settings.LINK_MINUTES,
        )
        return email_accepted(submission, detail, page)
