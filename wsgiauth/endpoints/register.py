"""GET, POST /auth/register: a new account."""

from collections.abc import Mapping
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.new_account import NewAccount
from wsgiauth.endpoints.verified_register import VerifiedRegister
from wsgiauth.forms import PublicForm, Refusal, Submission
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.forms.handover import (
    account_created,
    page_for_logged_in,
    start_browser_login,
)
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next

VERIFIED = VerifiedRegister()


class RegisterPage(Page):
    """The form to create an account.

    Attributes:
        register_url: Where the form is sent.
        login_url: The login form, for those who have an account.
        password_min_length: In characters.
        focused: The field that has the cursor.
        next: Where to go afterwards; a safe path, or empty.
        username, email: As they were sent before.
        message: Why the whole form was refused.
        errors: Why fields were refused, by field.
    """

    template = "register.html"

    register_url: str
    login_url: str
    password_min_length: int
    focused: str
    next: str = ""
    username: str = ""
    email: str = ""
    message: str = ""
    errors: Mapping[str, list[str]] = {}


class Register(PublicForm):
    """Creates an account. A browser is then logged in, a program is not."""

    fields = ("username", "email", "password")

    def is_offered(self, settings: Settings) -> bool:
        """Return whether registration is open."""
        return settings.REGISTRATION

    def variant(self, settings: Settings) -> Endpoint:
        """Return the endpoint that sends a link first, if addresses are to be proven."""
        return VERIFIED if settings.VERIFICATION else self

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the form, or tell a user who is logged in so."""
        logged_in = page_for_logged_in(environ, site)
        return super().get(environ, site) if logged_in is None else site.pages.render(logged_in)

    def act(self, submission: Submission) -> Response:
        """Create the account."""
        site = submission.site
        attempt = site.throttle.registration(submission.networks)
        account = NewAccount(**submission.fields, settings=site.settings)
        if account.errors:
            if account.has_valid_name:
                attempt.begin()  # the answer says whether that name is taken
            account.check()
        with site.hash_slots.slot(attempt.claim):
            attempt.begin()  # counted even if a name is taken, or names could be tried without end
            user = account.create()
        site.throttle.recognise(user, submission.networks)
        login = None if submission.is_program else start_browser_login(submission, user)
        return account_created(submission, user, login)

    def page(self, submission: Submission, refusal: Refusal) -> Page:
        """Return the form, without the password."""
        mount, destination = mount_url(submission.environ), submission.destination
        return RegisterPage(
            register_url=f"{mount}/register",
            login_url=with_next(f"{mount}/login", destination),
            password_min_length=submission.site.settings.PASSWORD_MIN_LENGTH,
            focused=next((name for name in self.fields if name in refusal.errors), "username"),
            next=destination,
            username=submission.fields["username"],
            email=submission.fields["email"],
            message=refusal.message,
            errors=refusal.errors,
        )
