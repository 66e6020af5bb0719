"""GET, POST /auth/register: a new account."""

from collections.abc import Callable
from typing import ClassVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import NewAccount
from wsgiauth.accounts.models import User
from wsgiauth.forms import FormPage, Refusal, Submission, page_of
from wsgiauth.forms.fields import Input, Text
from wsgiauth.forms.handover import GuestForm, account_created, login_buttons, start_first_session
from wsgiauth.forms.new_keys import (
    INVALID_OR_BROWSER,
    KEY_USED,
    browser_required,
    key_options,
    sends_key,
    take_credential,
    unknown_key,
    with_browser,
)
from wsgiauth.forms.proofs import CREDENTIAL
from wsgiauth.forms.registration import NewKeyPage, read_answers, sent_username, sent_values
from wsgiauth.forms.shown_to import require_shown_to
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, TAKEN, THROTTLED
from wsgiauth.openapi.strings import EMAIL, NEW_PASSWORD, USERNAME
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next


def is_open(settings: Settings) -> bool:
    """Return whether people can register: with a password, a passkey, or a link to their address.

    Without passwords, the form creates an account with a passkey. The address is then not proven.
    Its owner needs a way into an account that someone else created with it: a code.
    """
    is_passkey_enough = settings.PASSKEYS and settings.LOGIN_CODES
    return settings.REGISTRATION and (
        settings.PASSWORD_LOGIN or settings.VERIFICATION or is_passkey_enough
    )


class RegisterPage(NewKeyPage):
    """The form to create an account."""

    template = "register.html"
    typed: ClassVar[tuple[str, ...]] = ("username", "email", "password")
    register_url = UrlBelow("register")
    login_url: str
    username: str = ""
    email: str = ""
    has_password: bool = True  # the form asks for one

    @property
    def inputs(self) -> dict[str, str]:
        """All its fields."""
        shown = super().inputs
        return shown if self.has_password else {k: v for k, v in shown.items() if k != "password"}

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
        Text(CREDENTIAL, None),
    )
    refusals: tuple[Problem, ...] = (INVALID_OR_BROWSER, TAKEN, KEY_USED, THROTTLED)
    failures: ClassVar[tuple[Problem, ...]] = (APPLICATION_FAILED,)
    page_class: ClassVar[type[RegisterPage]] = RegisterPage

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields, also the fields of the application."""
        return (*super().strings(site), *site.registration.names)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether registration is open."""
        return is_open(settings)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the form, for this browser alone if it has options for a passkey."""
        return with_browser(environ, site, super().get(environ, site))

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the form; show it again if it is refused."""
        return with_browser(environ, site, super().post(environ, site))

    def _check_account(self, submission: Submission) -> None:
        """Refuse a passkey from a browser that has logged in since it got the page."""
        if submission.is_program or not submission.fields.get(CREDENTIAL):
            return
        site, sent = submission.site, submission.account
        session = site.identifier.identify_anyway(submission.environ).any_session
        if session is not None:
            require_shown_to(session.user, sent, site, page=page_of(submission))

    def act(self, submission: Submission) -> Response:
        """Create the account."""
        site, fields = submission.site, submission.fields
        has_key = sends_key(submission)
        if not (has_key or site.settings.PASSWORD_LOGIN):
            detail = () if submission.is_program else (_("Create a passkey to continue."),)
            raise browser_required(*detail)
        attempt = site.throttle.registration(submission.networks)
        account = NewAccount(
            sent_username(submission),
            fields["email"],
            None if has_key else fields["password"],
            settings=site.settings,
            answers=read_answers(submission, attempt),
            language=site.pages.readers.name_asked_for(submission.environ),
        )
        if account.errors:
            if account.is_telling:
                attempt.begin()  # because the answer says which names are taken
            account.check()
        first, follow_up = take_credential(submission, account, attempt), self.follow_up(submission)

        def finish(user: User) -> None:
            first.add(user)
            follow_up(user)

        user = account.register(first.hashed_password, finish, reason=first.reason)
        site.throttle.recognise(user, submission.networks)
        issued = None
        if not submission.is_program:
            issued = start_first_session(submission, user, first.methods)
        return account_created(submission, user, issued, done=first.done)

    def follow_up(self, submission: Submission) -> Callable[[User], object]:
        """Return what the transaction of a new account does besides; a feature can add to it."""
        return lambda user: None

    def page(self, submission: Submission, refusal: Refusal) -> FormPage:
        """Return the form, without the password."""
        has_keys = CREDENTIAL in submission.fields  # not where a link comes first
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
            has_password=submission.site.settings.PASSWORD_LOGIN,
            passkey_options=key_options(submission) if has_keys else "",
            unknown_key=unknown_key(submission, refusal) if has_keys else "",
        )
