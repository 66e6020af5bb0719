"""GET, POST /auth/register: a new account."""

from typing import ClassVar

from wsgiauth.accounts import NewAccount, names
from wsgiauth.exceptions import ValidationError
from wsgiauth.forms import Refusal, Submission, email_accepted
from wsgiauth.forms.endpoint import Endpoint, require_part
from wsgiauth.forms.handover import GuestForm, account_created, login_buttons, start_first_session
from wsgiauth.forms.registration import NewAccountPage, read_answers, sent_values
from wsgiauth.mail.link_letters import request_invitation
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import Page, UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next


class RegisterPage(NewAccountPage):
    """The form to create an account."""

    template = "register.html"
    typed: ClassVar[tuple[str, ...]] = ("username", "email", "password")
    register_url = UrlBelow("register")
    login_url: str
    username: str = ""
    email: str = ""

    @classmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return whether the registration asks for the fields."""
        return settings.REGISTRATION and not settings.VERIFICATION


class Register(GuestForm):
    """Creates an account. A browser is then logged in, a program is not."""

    fields: ClassVar[tuple[str, ...]] = ("username", "email", "password")
    page_class: ClassVar[type[RegisterPage]] = RegisterPage

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields, with those of the application."""
        return (*self.fields, *site.registration.names)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether registration is open."""
        return settings.REGISTRATION

    def variant(self, settings: Settings) -> Endpoint:
        """Return the endpoint that sends a link first, if VERIFICATION is on."""
        return VerifiedRegister() if settings.VERIFICATION else self

    def act(self, submission: Submission) -> Response:
        """Create the account."""
        site = submission.site
        attempt = site.throttle.registration(submission.networks)
        account = NewAccount(
            *(submission.fields[name] for name in self.fields),
            settings=site.settings,
            answers=read_answers(submission, attempt),
            language=site.pages.readers.name_asked_for(submission.environ),
        )
        if account.errors:
            if account.is_telling:
                attempt.begin()  # or what the answer says could be asked without end
            account.check()
        with site.hash_slots.slot(Claim(submission.networks)):
            attempt.begin()  # even if a name is taken, as above
            hashed_password = account.hash_password()
        user = account.register(hashed_password)
        site.throttle.recognise(user, submission.networks)
        issued = None if submission.is_program else start_first_session(submission, user)
        return account_created(submission, user, issued)

    def page(self, submission: Submission, refusal: Refusal) -> RegisterPage:
        """Return the form, without the password."""
        mount, destination = mount_url(submission.environ), submission.destination
        return self.page_class(
            login_url=with_next(f"{mount}/login", destination),
            next=destination,
            providers=login_buttons(submission.environ, submission.site),
            username=submission.fields["username"],
            email=submission.fields["email"],
            message=refusal.text_without(*submission.fields),
            errors=refusal.errors,
            fields=submission.site.registration.fields,
            values=sent_values(submission),
        )


class VerifiedRegisterPage(RegisterPage):
    """The form to ask for an account, without a password."""

    template = "verified_register.html"
    typed: ClassVar[tuple[str, ...]] = ("username", "email")

    @classmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return False: the link leads to the page that asks for the fields."""
        return False


class VerifiedRegisterSentPage(Page):
    """What to do next. It shows nothing that was sent, and not whether there is an account."""

    template = "verified_register_sent.html"
    login_url: str
    minutes: int


class VerifiedRegister(Register):
    """Sends an invitation to the address; using its link creates the account.

    The answer, and the work before it, do not depend on whether the address has an account.
    """

    fields = ("username", "email")
    page_class = VerifiedRegisterPage

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields: the page of the link asks for those of the application."""
        return self.fields

    def act(self, submission: Submission) -> Response:
        """Insert the email, whoever has the address."""
        site, fields = submission.site, submission.fields
        errors = names.name_errors(fields)
        if errors:
            raise ValidationError(errors)
        site.mail_limits.count(fields["email"], submission.networks)
        outbox = require_part(site.outbox)
        request_invitation(outbox, fields["username"], fields["email"], mount=site.pages.mount)
        detail = _("If the address can have an account, an email with a link is on its way.")
        page = VerifiedRegisterSentPage(
            login_url=with_next(f"{mount_url(submission.environ)}/login", submission.destination),
            minutes=site.settings.LINK_MINUTES,
        )
        return email_accepted(submission, detail, page)
