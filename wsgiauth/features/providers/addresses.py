"""Links that prove the email address of a new account for an account of a provider.

The provider has not verified the address, so anyone can have typed it there. The link creates the
account only in a browser in which the provider has just logged in the same account: a click of the
address's owner alone gives a stranger's account nothing.
"""

import json
from typing import NamedTuple

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.one_time import link_url
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.unclaimed import Unclaimed
from wsgiauth.settings import Settings

PROVIDER_ADDRESS = "provider address"  # the purpose of the secrets


class ProviderAddress(NamedTuple):
    """A new account that waits for the proof of its address."""

    identity_id: str  # of the account of a provider
    username: str
    email: str


def make_provider_address_link(
    asked: ProviderAddress, settings: Settings, *, mount: str, now: float
) -> str:
    """Return a new link for the address."""
    secret = one_time.issue(
        PROVIDER_ADDRESS,
        None,
        now=now,
        lifetime=settings.LINK_MINUTES * 60,
        data=json.dumps(asked),
    )
    return link_url(settings, mount, "verify", secret)


def read_provider_address(secret: OneTimeSecret) -> ProviderAddress:
    """Return what a secret proves."""
    return ProviderAddress(*json.loads(secret.data))


def is_for(asked: ProviderAddress, waiting: Unclaimed) -> bool:
    """Return whether a link was asked for by the account of a provider that waits in a browser."""
    account = waiting.account
    return asked.identity_id == identities.identity_id(account.issuer, account.subject)
