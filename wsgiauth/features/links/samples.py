"""An example of each page of the feature."""

from wsgiauth.endpoints.samples import NEW_PASSKEY_OPTIONS, PROVIDERS, UNKNOWN_KEY, with_fields
from wsgiauth.features.links.email import EmailPage, EmailSentPage
from wsgiauth.features.links.forgot import ForgotPage, ForgotSentPage
from wsgiauth.features.links.reset import ResetPage
from wsgiauth.features.links.restore import RestoredPage, RestorePage
from wsgiauth.features.links.verified_register import VerifiedRegisterPage, VerifiedRegisterSentPage
from wsgiauth.features.links.verify import InvitationPage, VerifyAddressPage
from wsgiauth.web.pages import Page

_INVITATION = InvitationPage(
    token="example",  # noqa: S106 - an example
    email="ada@example.org",
    username="ada",
    asks_username=True,
    errors={"username": ["This username is taken."]},
    passkey_options=NEW_PASSKEY_OPTIONS,
    unknown_key=UNKNOWN_KEY,
)
PAGES: tuple[Page, ...] = (
    VerifiedRegisterPage(
        login_url="/auth/login",
        username="ada",
        email="ada",
        errors={"email": ["Enter an email address such as ada@example.org."]},
        providers=PROVIDERS,
    ),
    VerifiedRegisterPage(login_url="/auth/login", providers=PROVIDERS, sends_code=True),
    VerifiedRegisterSentPage(login_url="/auth/login", minutes=60, message="Try again later."),
    VerifiedRegisterSentPage(
        login_url="/auth/login",
        minutes=60,
        email="ada@example.org",
        change_url="/auth/register?change=1",
        wait=30,
    ),
    with_fields(_INVITATION),
    _INVITATION.replaced(needs_password=False),
    EmailPage(
        present="ada@example.org",
        is_verified=True,
        is_proven=False,
        email="ada@",
        message="Enter an email address such as ada@example.org.",
    ),
    EmailSentPage(present="ada@example.org", email="ada@example.net", minutes=60),
    ForgotPage(
        login_url="/auth/login",
        username="ada",
        message="Enter your username or email address.",
    ),
    ForgotSentPage(forgot_url="/auth/forgot", login_url="/auth/login", minutes=60),
    ResetPage(
        token="example",  # noqa: S106 - an example
        label="ada",
        is_login=True,
        removes_factors=True,
    ),
    ResetPage(
        token="example",  # noqa: S106 - an example
        label="ada",
        removes_factors=True,
        message="The site is busy.",
        errors={"password": ["The password must have at least 8 characters."]},
    ),
    RestorePage(
        token="example",  # noqa: S106 - an example
        label="ada",
        email="ada@example.org",
        present="g…@example.net",
        is_taken=True,
    ),
    RestorePage(
        token="example",  # noqa: S106 - an example
        label="ada",
        email="ada@example.org",
        present="g…@example.net",
        message="The site is busy.",
    ),
    RestoredPage(label="ada", email="ada@example.org", has_factors=True),
    VerifyAddressPage(
        token="example",  # noqa: S106 - an example
        label="ada",
        email="ada@example.net",
        present="ada@example.org",
        message="This email address is taken.",
    ),
    _INVITATION,
)
