"""An example of each page of other providers."""

from wsgiauth.authentication.federated_logins import Connected
from wsgiauth.endpoints.samples import ACCOUNT, PROVIDERS, THEN
from wsgiauth.features.providers.endpoints.complete import (
    CompleteConnectPage,
    CompleteExistingPage,
    CompletePage,
    CompleteSentPage,
)
from wsgiauth.features.providers.endpoints.identities import IdentitiesPage
from wsgiauth.features.providers.endpoints.provider_address import ProviderAddressPage
from wsgiauth.web.pages import Page

_TAKEN = {"username": ["This username is taken."]}

_EXISTING = CompleteExistingPage(
    complete_url="/auth/complete?login=0",
    login_url="/auth/login?next=/auth/complete%3Flogin%3D0",
    title="Google",
    name="ada@example.org",
)
COMPLETE = CompletePage(
    complete_url="/auth/complete?login=0",
    login_url="/auth/login?next=/auth/complete%3Flogin%3D0",
    title="Google",
    name="ada@example.org",
    username="ada",
    email="ada@example.org",
    errors=_TAKEN,
)
PROVIDER_ADDRESS = ProviderAddressPage(
    token="example",  # noqa: S106 - an example
    title="Google",
    email="ada@example.org",
    username="ada",
    errors=_TAKEN,
)

CONNECTED = (
    Connected("5f0c8e1b7a9d", "Google", "ada@example.org", THEN, THEN),
    Connected("2c34d5e6f708", "id.example.org", "ada", THEN, THEN, is_offered=False),
)
PAGES: tuple[Page, ...] = (
    ACCOUNT.replaced(connected=CONNECTED[:1], is_new=True),
    IdentitiesPage(
        identities=CONNECTED,
        providers=PROVIDERS,
        has_password=False,
        message="This is the only way to log in to the account.",
    ),
    IdentitiesPage(identities=(), providers=PROVIDERS, notice="The account has been connected."),
    COMPLETE.replaced(asks_email=False, message="The form was refused."),
    COMPLETE.replaced(sends_link=True),
    COMPLETE,
    CompleteSentPage(complete_url="/auth/complete?login=0", title="Google", minutes=60),
    _EXISTING.replaced(email="ada@example.org", message="This email address is taken."),
    _EXISTING,
    CompleteConnectPage(
        complete_url="/auth/complete?login=0",
        label="ada",
        title="Google",
        name="ada@example.org",
        message="It was refused.",
    ),
    PROVIDER_ADDRESS,
)
