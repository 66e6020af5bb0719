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

COMPLETE_PAGES: tuple[Page, ...] = (
    COMPLETE.replaced(asks_email=False, message="The form was refused."),
    COMPLETE.replaced(sends_link=True),
    COMPLETE,
    CompleteSentPage(complete_url="/auth/complete?login=0", title="Google", minutes=60),
    CompleteExistingPage(
        complete_url="/auth/complete?login=0",
        login_url="/auth/login?next=/auth/complete%3Flogin%3D0",
        title="Google",
        name="ada@example.org",
        email="ada@example.org",
        message="This email address is taken.",
    ),
    CompleteExistingPage(
        complete_url="/auth/complete?login=0",
        login_url="/auth/login?next=/auth/complete%3Flogin%3D0",
        title="Google",
        name="ada@example.org",
    ),
    CompleteConnectPage(
        complete_url="/auth/complete?login=0",
        username="ada",
        title="Google",
        name="ada@example.org",
        message="It was refused.",
    ),
    PROVIDER_ADDRESS,
)
