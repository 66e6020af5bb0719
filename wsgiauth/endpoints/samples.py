"""An example of each page of the endpoints, with which a site's own templates are checked.

Only a site with TEMPLATES imports this, at its start.
"""

import re
from datetime import UTC, datetime

from wsgiauth.accounts.registration import Field
from wsgiauth.authentication.keys import ListedKey
from wsgiauth.authentication.session_list import ListedSession
from wsgiauth.endpoints.account import AccountPage
from wsgiauth.endpoints.close import ClosePage
from wsgiauth.endpoints.complete_samples import COMPLETE, COMPLETE_PAGES, PROVIDER_ADDRESS
from wsgiauth.endpoints.confirm import ConfirmPage, NextStep
from wsgiauth.endpoints.email import EmailPage, EmailSentPage
from wsgiauth.endpoints.factor_samples import (
    APP,
    FACTORS,
    NEW_PASSKEY_OPTIONS,
    PASSKEY_OPTIONS,
    PASSKEYS,
)
from wsgiauth.endpoints.forgot import ForgotPage, ForgotSentPage
from wsgiauth.endpoints.keys import KeysPage
from wsgiauth.endpoints.language import LanguagePage
from wsgiauth.endpoints.login import LoginPage
from wsgiauth.endpoints.passkeys import PasskeysPage
from wsgiauth.endpoints.password import PasswordPage
from wsgiauth.endpoints.provider_samples import CONNECTED, MEMBER_PAGES, PROVIDERS
from wsgiauth.endpoints.recovery_codes import RecoveryCodesPage
from wsgiauth.endpoints.register import RegisterPage, VerifiedRegisterPage, VerifiedRegisterSentPage
from wsgiauth.endpoints.reset import ResetPage
from wsgiauth.endpoints.second import SecondPage
from wsgiauth.endpoints.sessions import SessionsPage
from wsgiauth.endpoints.totp import TotpPage
from wsgiauth.endpoints.username import UsernamePage
from wsgiauth.endpoints.verify import InvitationPage, VerifyAddressPage
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.forms.endpoint import SECURITY, AccountLink
from wsgiauth.forms.handover import LoggedInPage
from wsgiauth.site import Site
from wsgiauth.web.pages import Around, ErrorPage, Page, ProviderButton

_THEN = datetime(2026, 11, 2, 9, 5, tzinfo=UTC)
_WRONG_CODE = "This code is wrong, or was used before."

KEY = ListedKey(
    id="4fD8sKq2ZxLw",
    name="nightly export",
    permissions=("reports.publish",),
    created_at=_THEN,
    expires_at=datetime(2027, 1, 31, 9, 5, tzinfo=UTC),
    last_used_at=datetime(2026, 11, 3, 2, tzinfo=UTC),
)
SESSION = ListedSession(
    handle="5f0c8e1b7a9d2c34",
    is_current=True,
    is_reused=False,
    created_at=_THEN,
    last_seen_at=datetime(2026, 11, 2, 9, 35, tzinfo=UTC),
    expires_at=datetime(2026, 11, 2, 10, 35, tzinfo=UTC),
    ends_at=datetime(2026, 11, 2, 21, 5, tzinfo=UTC),
    address="192.0.2.1",
    browser="Firefox on Windows",
    methods=("pwd",),
)
_CODES = RecoveryCodesPage(left=3)
_KEYS = KeysPage(keys=(KEY,))

FIELDS = (
    Field("phone", "Phone number", required=True, max_length=20, autocomplete="tel"),
    Field("organisation", "Organisation", autocomplete="organization"),
)
_REGISTER = RegisterPage(
    login_url="/auth/login",
    username="ada",
    email="ada@example.org",
    errors={"email": ["This email address is taken."]},
    providers=PROVIDERS,
)
_INVITATION = InvitationPage(
    token="example",  # noqa: S106 - an example
    email="ada@example.org",
    username="ada",
    asks_username=True,
    errors={"username": ["This username is taken."]},
)
WITH_FIELDS = tuple(
    page.replaced(
        fields=FIELDS,
        values={"phone": "030 1", "organisation": ""},
        errors={"phone": ["Begin with + and the code of the country."]},
    )
    for page in (_REGISTER, _INVITATION)
)

PAGES: tuple[Page, ...] = (
    *WITH_FIELDS,
    *MEMBER_PAGES,
    _REGISTER,
    VerifiedRegisterPage(
        login_url="/auth/login",
        username="ada",
        email="ada",
        errors={"email": ["Enter an email address such as ada@example.org."]},
        providers=PROVIDERS,
    ),
    VerifiedRegisterSentPage(login_url="/auth/login", minutes=60),
    LoginPage(
        register_url="/auth/register",
        forgot_url="/auth/forgot",
        next="/",
        username="ada",
        passkey_options=PASSKEY_OPTIONS,
        providers=PROVIDERS,
        message="The username and password do not match an active account.",
    ),
    LoggedInPage(
        username="ada",
        continue_url="/",
        switch_url="/auth/login?switch=1",
        logout_url="/auth/logout",
        was_sent_here=True,
    ),
    SecondPage(
        second_url="/auth/second?login=0",
        username="ada",
        has_app=True,
        has_codes=True,
        passkey_options=PASSKEY_OPTIONS,
        message=_WRONG_CODE,
    ),
    ConfirmPage(
        confirm_url="/auth/confirm?resend=1",
        switch_url="/auth/login?switch=1",
        username="ada",
        is_resent=True,
        next_step=NextStep(
            "Delete the account", "grace", "/auth/admin/users/7", "Back to the user"
        ),
        next="/",
        message="This is not your current password.",
    ),
    ConfirmPage(
        confirm_url="/auth/confirm",
        switch_url="/auth/login?switch=1",
        username="ada",
        next_step=NextStep(),
        has_factor=True,
        has_app=True,
        has_codes=True,
        passkey_options=PASSKEY_OPTIONS,
        message=_WRONG_CODE,
    ),
    AccountPage(
        username="ada",
        email="ada@example.org",
        is_verified=False,
        since=_THEN,
        connected=CONNECTED[:1],
        passkeys=FACTORS,
        has_other_ways=True,
        factors=FACTORS,
        codes_left=1,
        are_codes_few=True,
        links={
            SECURITY: {
                "/auth/sessions": AccountLink(SECURITY, "Sessions", "See where you are logged in.")
            }
        },
        notice="Your password has been changed.",
    ),
    LanguagePage(message="Choose one of the languages of this site."),
    UsernamePage(present="ada", username="grace", message="This username is taken."),
    EmailPage(
        present="ada@example.org",
        is_verified=True,
        is_proven=False,
        email="ada@",
        message="Enter an email address such as ada@example.org.",
    ),
    EmailSentPage(present="ada@example.org", email="ada@example.net", minutes=60),
    PasswordPage(username="ada", has_password=False),
    PasswordPage(
        username="ada",
        has_keys=True,
        message="This is not your current password.",
        errors={"new_password": ["The password must have at least 8 characters."]},
    ),
    ForgotPage(username="ada", message="Enter your username or email address."),
    ForgotSentPage(minutes=60),
    ResetPage(
        token="example",  # noqa: S106 - an example
        username="ada",
        removes_factors=True,
        message="The site is busy.",
        errors={"password": ["The password must have at least 8 characters."]},
    ),
    VerifyAddressPage(
        token="example",  # noqa: S106 - an example
        username="ada",
        email="ada@example.net",
        present="ada@example.org",
        message="This email address is taken.",
    ),
    _INVITATION,
    SessionsPage(
        sessions=(SESSION, SESSION._replace(handle="2b7d6e0f9a1c8453", is_current=False)),
        message="That session has already ended.",
    ),
    _KEYS.replaced(
        offered=("reports.archive", "reports.publish"),
        chosen=frozenset({"reports.publish"}),
        made=f"wsgiauth_{KEY.id}_{'example' * 7}",
        message="The form was refused.",
        errors={"name": ["Enter a name."], "permissions": ["A rule."], "days": ["A rule."]},
    ),
    _KEYS.replaced(keys=(), confirm_url="/x"),
    _KEYS.replaced(is_full=True, is_password=True, notice="The API key has been revoked."),
    PasskeysPage(
        passkeys=(),
        codes_left=0,
        name="Firefox on Linux",
        next="/",
        logout_url="/auth/logout",
        message="The passkey was not added. Try again.",
    ),
    PasskeysPage(
        passkeys=PASSKEYS,
        codes_left=8,
        name="Firefox on Linux",
        passkey_options=NEW_PASSKEY_OPTIONS,
    ),
    TotpPage(
        devices=FACTORS,
        codes_left=8,
        name="Phone",
        set_up=APP,
        errors={"code": ["This code is wrong. Enter the one that the app shows now."]},
    ),
    TotpPage(
        devices=(),
        codes_left=0,
        name="Phone",
        next="/",
        logout_url="/auth/logout",
        passkeys_url="/auth/passkeys",
    ),
    _CODES.replaced(next="/", added="app", added_name="Phone"),
    _CODES.replaced(left=0, set_up_url="/auth/totp"),
    _CODES.replaced(
        next="/",
        codes=("GEZD-GNBV-GY3T-QOJQ-GEZD-GNBV", "MFRG-GZDF-MZTW-Q2LK-NNWG-23TP"),
        username="ada",
        host="example.org",
        made_at=_THEN,
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
    *COMPLETE_PAGES,
    ClosePage(
        username="ada", email="ada@example.org", message="You are the last active superuser."
    ),
)


def check_registration(site: Site) -> None:
    """Raise ConfigurationError if a template does not ask for a required field of the site.

    No account could be created with such a page.
    """
    settings, fields = site.settings, site.registration.fields
    pages = (
        (_REGISTER, settings.REGISTRATION and not settings.VERIFICATION),
        (_INVITATION, settings.PUBLIC_URL is not None),
        (COMPLETE, bool(settings.OIDC_PROVIDERS)),
        (PROVIDER_ADDRESS, bool(settings.OIDC_PROVIDERS)),
    )
    for page in (page for page, is_used in pages if is_used):
        values = dict.fromkeys(site.registration.names, "")
        html = site.pages.check(page.replaced(fields=fields, values=values, errors={}))
        for name in (each.name for each in fields if each.required):
            if not re.search(rf"\bname=[\"']?{name}\b", html):
                raise ConfigurationError(
                    f"TEMPLATES: {page.template} does not ask for the required field {name};"
                    " call registration_fields(page) of macros.html in its form."
                )
