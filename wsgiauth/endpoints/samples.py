"""An example of each page of the kernel, for the check of a site's own templates.

Only a site with TEMPLATES imports this, at its start.
"""

from datetime import UTC, datetime

from wsgiauth.accounts.registration import Field
from wsgiauth.authentication.second_factors import Factor
from wsgiauth.authentication.session_list import ListedSession
from wsgiauth.authentication.trusted_browsers import ListedBrowser
from wsgiauth.endpoints.account import AccountPage, Missing
from wsgiauth.endpoints.close import ClosePage
from wsgiauth.endpoints.confirm import ConfirmPage, NextStep
from wsgiauth.endpoints.language import LanguagePage
from wsgiauth.endpoints.login import LoginPage
from wsgiauth.endpoints.password import PasswordPage
from wsgiauth.endpoints.register import RegisterPage
from wsgiauth.endpoints.sessions import SessionsPage
from wsgiauth.endpoints.username import UsernamePage
from wsgiauth.forms.endpoint import LOGIN, SECURITY, AccountLink, State
from wsgiauth.forms.handover import LoggedInPage
from wsgiauth.forms.registration import NewAccountPage
from wsgiauth.web.pages import Around, ErrorPage, Page, ProviderButton

THEN = datetime(2026, 11, 2, 9, 5, tzinfo=UTC)
WRONG_CODE = "This code is wrong, or was used before."

PROVIDERS = (
    ProviderButton("google", "Google", "/auth/oidc/google"),
    ProviderButton("staff", "the staff account", "/auth/oidc/staff", "building"),
)
NEW_PASSKEY_OPTIONS = (
    '{"challenge": "", "user": {"id": ""}, "excludeCredentials": [],'
    ' "origin": "https://example.org"}'
)
UNKNOWN_KEY = '{"rpId": "example.org", "credentialId": "example"}'
PASSKEY_OPTIONS = (
    '{"challenge": "", "allowCredentials": [], "userVerification": "required",'
    ' "origin": "https://example.org"}'
)
FACTORS = (Factor("otp", "5f0c8e1b7a9d2c34", "Tablet", THEN, "Authenticator app"),)

SESSION = ListedSession(
    handle="5f0c8e1b7a9d2c34",
    is_current=True,
    is_reused=False,
    created_at=THEN,
    last_seen_at=datetime(2026, 11, 2, 9, 35, tzinfo=UTC),
    expires_at=datetime(2026, 11, 2, 10, 35, tzinfo=UTC),
    ends_at=datetime(2026, 11, 2, 21, 5, tzinfo=UTC),
    address="192.0.2.1",
    browser="Firefox on Windows",
    methods=("pwd",),
)

BROWSER = ListedBrowser(
    handle="7a1e94c03bd5f628",
    is_current=True,
    trusted_at=THEN,
    last_used_at=datetime(2026, 11, 9, 8, 30, tzinfo=UTC),
    expires_at=datetime(2026, 12, 2, 9, 5, tzinfo=UTC),
    address="192.0.2.1",
    browser="Firefox on Windows",
)

FIELDS = (
    Field("phone", "Phone number", kind="tel", required=True, max_length=20),
    Field("organisation", "Organisation", autocomplete="organization"),
    Field("invoices", "Email address for invoices", kind="email"),
    Field("website", "Website", kind="url", hint="It is shown in the list of members."),
    Field("seats", "Number of seats", kind="number", max_length=5),
    Field("branch", "Branch", kind="select", options=[("n", "North Bank"), ("s", "South Bank")]),
    Field("about", "About you", kind="textarea", max_length=300),
    Field("rules", "I accept the rules of the reading room.", kind="checkbox", required=True),
)
_REGISTER = RegisterPage(
    login_url="/auth/login",
    username="ada",
    email="ada@example.org",
    errors={"email": ["This email address is taken."]},
    providers=PROVIDERS,
    passkey_options=NEW_PASSKEY_OPTIONS,
)


def with_fields(page: NewAccountPage) -> NewAccountPage:
    """Return a page with example fields of an application."""
    return page.replaced(
        fields=FIELDS,
        values={
            **dict.fromkeys((each.name for each in FIELDS), ""),
            **{"phone": "030 1", "branch": "s", "rules": "on"},
        },
        errors={"phone": ["Begin with + and the code of the country."]},
    )


ACCOUNT = AccountPage(
    label="ada",
    has_way_in=False,
    email="ada@example.org",
    is_verified=False,
    since=THEN,
    passkeys=FACTORS,
    has_other_ways=True,
    factors=FACTORS,
    codes_left=1,
    missing=(
        Missing("Your email address is not verified.", "/auth/email", "Verify it"),
        Missing("1 recovery code is left.", "/auth/recovery-codes", "Make new ones"),
    ),
    passkeys_url="/auth/passkeys",
    links={
        LOGIN: {
            "/auth/email": AccountLink(
                LOGIN, "Change your email address", "We send a link to the new one.", icon="mail"
            )
        },
        SECURITY: {
            "/auth/sessions": AccountLink(
                SECURITY, "Sessions", "See where you are logged in.", icon="laptop"
            ),
            "/auth/totp": AccountLink(
                SECURITY, "Two-step verification", "Protect your logins.", icon="shield"
            ),
        },
    },
    states={
        "/auth/email": State("not verified", "bad"),
        "/auth/sessions": State("3 sessions"),
        "/auth/totp": State("On", "good"),
    },
    notice="Your password has been changed.",
    next="/",
)
_CONFIRM = ConfirmPage(
    confirm_url="/auth/confirm",
    switch_url="/auth/login?switch=1",
    label="ada",
    has_password=False,
    next_step=NextStep("Set a password"),
)

PAGES: tuple[Page, ...] = (
    with_fields(_REGISTER),
    _REGISTER.replaced(has_password=False, unknown_key=UNKNOWN_KEY),
    _CONFIRM.replaced(providers=PROVIDERS, message="You have connected no account."),
    _CONFIRM.replaced(providers=PROVIDERS, has_password=True, next="/"),
    _CONFIRM.replaced(sends_code=True, has_code=True, providers=PROVIDERS, next="/"),
    _CONFIRM.replaced(sends_code=True, message=WRONG_CODE),
    _CONFIRM.replaced(forgot_url="/auth/forgot"),
    _CONFIRM.replaced(can_log_in_again=True),
    _CONFIRM,
    _REGISTER,
    LoginPage(
        register_url="/auth/register",
        forgot_url="/auth/forgot",
        code_url="/auth/code",
        next="/",
        username="ada",
        passkey_options=PASSKEY_OPTIONS,
        providers=PROVIDERS,
        message="The username and password do not match an active account.",
    ),
    LoggedInPage(
        label="ada",
        continue_url="/",
        switch_url="/auth/login?switch=1",
        logout_url="/auth/logout",
        was_sent_here=True,
    ),
    _CONFIRM.replaced(
        confirm_url="/auth/confirm?resend=1",
        has_password=True,
        is_resent=True,
        next_step=NextStep(
            "Delete the account", "grace", "/auth/admin/users/7", "Back to the user"
        ),
        next="/",
        message="This is not your current password.",
    ),
    _CONFIRM.replaced(
        has_password=True,
        next_step=NextStep(),
        has_factor=True,
        has_app=True,
        has_codes=True,
        passkey_options=PASSKEY_OPTIONS,
        message=WRONG_CODE,
    ),
    ACCOUNT.replaced(is_ready=True, is_new=True),
    ACCOUNT,
    LanguagePage(message="Choose one of the languages of this site."),
    UsernamePage(present="ada", username="grace", message="This username is taken."),
    PasswordPage(label="ada", has_password=False, has_first_key=True),
    PasswordPage(
        label="ada",
        has_keys=True,
        message="This is not your current password.",
        errors={"new_password": ["The password must have at least 8 characters."]},
    ),
    SessionsPage(
        sessions=(SESSION,),
        browsers=(
            BROWSER,
            BROWSER._replace(handle="c4d2086f17ab95e3", is_current=False, last_used_at=None),
        ),
        notice="Logins in that browser ask for the second step again. Sessions there continue.",
    ),
    SessionsPage(
        sessions=(SESSION, SESSION._replace(handle="2b7d6e0f9a1c8453", is_current=False)),
        apps=("Wiki", "editor.example.org", *map(str, range(9))),
        apps_url="/auth/apps",
        message="That session has already ended.",
    ),
    ErrorPage(
        status=404,
        title="This page does not exist",
        detail="Check the address.",
        around=Around("member.html", "/auth/account", "Back to your account"),
    ),
    ErrorPage(
        status=400,
        title="The login was not completed",
        detail="This login with Example Firm cannot be completed. Start again.",
        links={"/auth/login?next=%2Freports": "Back to the login page"},
        providers=(ProviderButton("example", "Example Firm", "/auth/oidc/example"),),
        next="/reports",
        remember=True,
    ),
    ClosePage(label="ada", email="ada@example.org", message="You are the last active superuser."),
)
