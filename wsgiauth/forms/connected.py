"""The accounts of providers that a user has connected, as pages show them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from wsgiauth.accounts.models import User
from wsgiauth.authentication.identities import list_identities
from wsgiauth.settings.oidc import ProviderEntry
from wsgiauth.site import Site


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
    return [each.entry for each in site.providers or ()]


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
