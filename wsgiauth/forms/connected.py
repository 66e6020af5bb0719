"""The accounts of providers that a user has connected, as pages show them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from wsgiauth.accounts.models import User
from wsgiauth.authentication.identities import list_identities
from wsgiauth.authentication.oidc import Providers
from wsgiauth.authentication.provider_sessions import identities_by_session
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.settings.oidc import ProviderEntry
from wsgiauth.site import Site
from wsgiauth.web.pages import ProviderButton


class Connected(NamedTuple):
    """An account of a provider; times are in UTC."""

    id: str  # names it in the list of its user
    title: str  # of the provider
    name: str  # what the provider calls it
    connected_at: datetime
    last_used_at: datetime
    is_offered: bool = True  # whether the site still has its provider


def entries(site: Site) -> list[ProviderEntry]:
    """Return the providers of a site."""
    return [each.entry for each in site.part(Providers) or ()]


def title_of(configured: Sequence[ProviderEntry], provider: str, issuer: str) -> str:
    """Return the title of a provider, or its host if it is not configured any more.

    Args:
        provider: The name of its entry at the last login; two entries can have one issuer.
    """
    titles = {each.name: each.title for each in configured if each.issuer == issuer}
    return titles.get(provider) or next(iter(titles.values()), urlsplit(issuer).netloc)


def list_connected(user: User, site: Site) -> list[Connected]:
    """Return the accounts that a user has connected, the oldest first."""
    configured = entries(site)
    issuers = {each.issuer for each in configured}
    return [
        Connected(
            each.id,
            title_of(configured, each.provider, each.issuer),
            each.name,
            each.connected_at,
            each.last_used_at,
            each.issuer in issuers,
        )
        for each in list_identities(user)
    ]


def titles_by_handle(user: User, site: Site) -> dict[str, str]:
    """Return the titles of the providers at which sessions of a user began, by their handles."""
    configured = entries(site)
    return {
        handle_of(session_id): title_of(configured, began.provider, began.issuer)
        for session_id, began in identities_by_session(user).items()
    }


def buttons_of(user: User, site: Site, url: str = "") -> tuple[ProviderButton, ...]:
    """Return a button for each provider with which a user can log in.

    Args:
        url: Where the form with the buttons is sent.
    """
    issuers = {each.issuer for each in list_identities(user)} if site.part(Providers) else set()
    return tuple(
        ProviderButton(each.name, each.title, url)
        for each in entries(site)
        if each.issuer in issuers
    )
