"""GET, POST /auth/register: a new account."""

from collections.abc import Callable
from typing import ClassVar

from wsgiauth.accounts import NewAccount
from wsgiauth.accounts.models import User
from wsgiauth.forms import FormPage, Refusal, Submission
from wsgiauth.forms.fields import Input, Text
from wsgiauth.forms.handover import GuestForm, account_created, login_buttons, start_first_session
from wsgiauth.forms.registration import NewAccountPage, read_answers, sent_username, sent_values
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, INVALID, TAKEN, THROTTLED
from wsgiauth.openapi.strings import EMAIL, NEW_PASSWORD, USERNAME
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next


def is_open(settings: Settings) -> bool:
    """Return whether people can register: without a password, only by a link to their address."""
    return settings.REGISTRATION and (settings.PASSWORD_LOGIN or settings.VERIFICATION)


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

    fields: ClassVar[tuple[Input, ...]] = (
        Text("username", USERNAME, required=True, needs="USERNAMES"),
        Text("email", EMAIL, required=True),
        Text("password", NEW_PASSWORD, required=True),
    )
    refusals: tuple[Problem, ...] = (INVALID, TAKEN, THROTTLED)
    failures: ClassVar[tuple[Problem, ...]] = (APPLICATION_FAILED,)
    page_class: ClassVar[type[RegisterPage]] = RegisterPage

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields, also the fields of the application."""
        return (*super().strings(site), *site.registration.names)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether registration is open."""
        return is_open(settings)

    def act(self, submission: Submission) -> Response:
        """Create the account."""
        site = submission.site
        attempt = site.throttle.registration(submission.networks)
        fields = submission.fields
        account = NewAccount(
            sent_username(submission),
            fields["email"],
            fields["password"],
            settings=site.settings,
            answers=read_answers(submission, attempt),
            language=site.pages.readers.name_asked_for(submission.environ),
        )
        if account.errors:
            if account.is_telling:
                attempt.begin()  # because the answer says which names are taken
            account.check()
        with site.hash_slots.slot(Claim(submission.networks)):
            attempt.begin()  # for the same reason, even if a name is taken
            hashed_password = account.hash_password()
        user = account.register(hashed_password, self.follow_up(submission))
        site.throttle.recognise(user, submission.networks)
        issued = None if submission.is_program else start_first_session(submission, user)
        return account_created(submission, user, issued)

    def follow_up(self, submission: Submission) -> Callable[[User], object]:
        """Return what the transaction of a new account does besides; a feature can add to it."""
        return lambda user: None

    def page(self, submission: Submission, refusal: Refusal) -> FormPage:
        """Return the form, without the password."""
        mount, destination = mount_url(submission.environ), submission.destination
        return self.page_class(
            login_url=with_next(f"{mount}/login", destination),
            next=destination,
            providers=login_buttons(submission.environ, submission.site),
            username=sent_username(submission) or "",
            email=submission.fields["email"],
            message=refusal.text_without(*submission.fields),
            errors=refusal.errors,
            fields=submission.site.registration.fields,
            values=sent_values(submission),
        )
