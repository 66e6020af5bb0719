"""Logins with other providers, without a network."""

from collections.abc import Iterable
from typing import Any

from wsgiauth.middleware import AuthMiddleware
from wsgiauth.testing.people import require_provider


def provider_account(
    application: AuthMiddleware,
    provider: str,
    *,
    subject: str = "test",
    email: str = "",
    email_verified: bool = False,
    username: str = "",
    groups: Iterable[str] = (),
    second_factor: bool = False,
) -> None:
    """Make every further login at a provider use this account, without a network.

    A POST to /auth/oidc/NAME then leads directly to the callback, as if a person had logged in at
    the provider. Everything else is as with the provider itself: the cookie, `state`, the page for
    an account that no user has, the second step. Another call replaces the account.

    Args:
        provider: The name of the provider in `OIDC_PROVIDERS`.
        subject: The claim `sub`: 1 to 255 printable ASCII characters.
        email, email_verified: The claims of these names.
        username: The claim `preferred_username`.
        groups: The claim that the entry names by `groups=`; without it, they have no effect.
        second_factor: Whether the provider says that it asked for a second factor; this has an
            effect with `second_factor=trusted`.

    Raises:
        ValueError: The site has no provider of this name.
    """
    from wsgiauth.testing.stand_in import StandIn

    found = require_provider(application, provider)
    claims: dict[str, Any] = {
        "sub": subject,
        "email": email,
        "email_verified": email_verified,
        "preferred_username": username,
        "amr": ["mfa"] if second_factor else [],
    }
    if found.entry.groups:
        claims[found.entry.groups] = list(groups)
    found.use_client(StandIn(found.entry, application.site.tokens.now, claims))
