"""Examples of what pages show of providers."""

from datetime import UTC, datetime

from wsgiauth.endpoints.confirm import ConfirmPage, NextStep
from wsgiauth.endpoints.identities import IdentitiesPage
from wsgiauth.forms.connected import Connected
from wsgiauth.web.pages import Page, ProviderButton

_THEN = datetime(2026, 11, 2, 9, 5, tzinfo=UTC)

PROVIDERS = (
    ProviderButton("google", "Google", "/auth/oidc/google"),
    ProviderButton("staff", "the staff account", "/auth/oidc/staff"),
)

CONNECTED = (
    Connected("5f0c8e1b7a9d", "Google", "ada@example.org", _THEN, _THEN),
    Connected("2c34d5e6f708", "id.example.org", "ada", _THEN, _THEN, is_offered=False),
)
_CONFIRM = ConfirmPage(
    confirm_url="/auth/confirm",
    switch_url="/auth/login?switch=1",
    username="ada",
    has_password=False,
    next_step=NextStep("Set a password"),
)

# Before those of `samples` with the same templates, which are the usual ones.
MEMBER_PAGES: tuple[Page, ...] = (
    IdentitiesPage(
        identities=CONNECTED,
        providers=PROVIDERS,
        has_password=False,
        message="This is the only way to log in to the account.",
    ),
    IdentitiesPage(identities=(), providers=PROVIDERS, notice="The account has been connected."),
    _CONFIRM.replaced(providers=PROVIDERS, message="You have connected no account."),
    _CONFIRM.replaced(providers=PROVIDERS, has_password=True, next="/"),
    _CONFIRM.replaced(forgot_url="/auth/forgot"),
    _CONFIRM,
)
