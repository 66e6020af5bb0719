"""What the pages below /auth show: one class for each template."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wsgiauth.web.pages import Page


@dataclass(frozen=True, kw_only=True)
class LoginPage(Page):
    """The form to log in.

    Attributes:
        login_url: Where the form is sent.
        register_url: Where an account is created, or None where registration is closed.
        next: Where to go afterwards; a safe path, or empty.
        username: As it was sent before.
        message: Why it was refused.
    """

    template = "login.html"

    login_url: str
    register_url: str | None
    next: str = ""
    username: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class LoggedInPage(Page):
    """The login page of a user who is logged in.

    Attributes:
        username: Who that is.
        continue_url: Back to the site.
        switch_url: The form to log in, for another account.
        logout_url: Where the form to log out is sent.
        was_sent_here: Whether a page sent the user here, perhaps for want of a permission.
    """

    template = "logged_in.html"

    username: str
    continue_url: str
    switch_url: str
    logout_url: str
    was_sent_here: bool


@dataclass(frozen=True, kw_only=True)
class RegisterPage(Page):
    """The form to create an account.

    Attributes:
        register_url: Where the form is sent.
        login_url: Where those log in who have an account.
        password_min_length: In characters.
        focused: The field in which the cursor stands.
        next: Where to go afterwards; a safe path, or empty.
        username, email: As they were sent before.
        message: Why all of it was refused.
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
    errors: Mapping[str, list[str]] = field(default_factory=dict)


SAMPLES: tuple[Page, ...] = (
    LoginPage(login_url="/login", register_url="/register", next="/", username="a", message="No."),
    LoggedInPage(
        username="a", continue_url="/", switch_url="/login", logout_url="/out", was_sent_here=True
    ),
    RegisterPage(
        register_url="/register",
        login_url="/login",
        password_min_length=8,
        focused="email",
        errors={"email": ["No."]},
    ),
)
