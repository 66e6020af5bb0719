"""Examples of the pages for accounts of providers that no user has."""

from wsgiauth.endpoints.complete import (
    CompleteConnectPage,
    CompleteExistingPage,
    CompletePage,
    CompleteSentPage,
)
from wsgiauth.endpoints.provider_address import ProviderAddressPage
from wsgiauth.web.pages import Page

_TAKEN = {"username": ["This username is taken."]}

COMPLETE = CompletePage(
    login_url="/auth/login?next=/auth/complete",
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

COMPLETE_PAGES: tuple[Page, ...] = (
    COMPLETE.replaced(asks_email=False, message="The form was refused."),
    COMPLETE.replaced(sends_link=True),
    COMPLETE,
    CompleteSentPage(title="Google", minutes=60),
    CompleteExistingPage(
        login_url="/auth/login?next=/auth/complete",
        title="Google",
        name="ada@example.org",
        email="ada@example.org",
        message="This email address is taken.",
    ),
    CompleteExistingPage(
        login_url="/auth/login?next=/auth/complete", title="Google", name="ada@example.org"
    ),
    CompleteConnectPage(
        username="ada", title="Google", name="ada@example.org", message="It was refused."
    ),
    PROVIDER_ADDRESS,
)
