"""GET, POST /auth/email: ask for an email with a link that proves an email address.

The request looks up no account, so that its answer does not reveal whether an address is taken.
"""

from wsgiauth.accounts import names
from wsgiauth.accounts.models import is_proven_here
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.links.letters import request_address_link
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal, email_accepted
from wsgiauth.forms.endpoint import LOGIN, AccountLink, Overview, State, require_part
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _, pgettext
from wsgiauth.openapi.problems import INVALID, THROTTLED
from wsgiauth.openapi.strings import EMAIL
from wsgiauth.settings import Settings
from wsgiauth.web.pages import Page, UrlBelow
from wsgiauth.web.responses import Response


class EmailPage(FormPage):
    """The form for a new address, and one to verify the present one."""

    template = "email.html"
    email_url = UrlBelow("email")
    present: str
    is_verified: bool
    is_proven: bool = True  # by a link of this site
    email: str = ""  # the new address, as it was sent


class EmailSentPage(Page):
    """The next steps. It shows nothing of other accounts."""

    template = "email_sent.html"
    email_url = UrlBelow("email")
    present: str
    email: str  # the address to prove
    minutes: int


def _verification(overview: Overview) -> State:
    if overview.is_verified:
        return State(pgettext("email address", "verified"), "good")
    return State(pgettext("email address", "not verified"), "bad")


class Email(MemberForm):
    """Sends a link to the address. The answer does not depend on whether it is taken."""

    account_link = AccountLink(
        LOGIN,
        _("Change your email address"),
        _("We send a link to the new one, so that you can verify it."),
        place=1,
        icon="mail",
        state=_verification,
    )
    is_sensitive = True
    fields = (Text("email", EMAIL, required=True),)
    refusals = (INVALID, THROTTLED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site sends email."""
        return settings.MAIL_URL is not None

    def act(self, submission: MemberSubmission) -> Response:
        """Insert the email, even if the address is taken."""
        site, email, user = submission.site, submission.fields["email"], submission.member.user
        problem: str | None = _("This is already your address, and it is verified.")
        if email != user.email or not is_proven_here(user):
            problem = names.email_problem(email)
        if problem is not None:
            raise ValidationError({"email": [problem]})
        site.require(MailLimits).count(email, submission.networks, user=user)
        request_address_link(require_part(site.outbox), user, email, mount=site.pages.mount)
        detail = _("An email with a link is on its way. Open the link while you are logged in.")
        page = EmailSentPage(present=user.email, email=email, minutes=site.settings.LINK_MINUTES)
        return email_accepted(submission, detail, page)

    def page(self, submission: MemberSubmission, refusal: Refusal) -> EmailPage:
        """Return the form."""
        user = submission.member.user
        return EmailPage(
            present=user.email,
            is_verified=user.email_verified_at is not None,
            is_proven=is_proven_here(user),
            email=submission.fields["email"],
            message=refusal.message,
            errors=refusal.errors,
        )
