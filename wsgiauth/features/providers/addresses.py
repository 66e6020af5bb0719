"""Links, and their emails, that prove the address of a new account for an account of a provider.

The provider has not verified the address, so anyone can have typed it there. The link creates the
account only in a browser in which the provider has just logged in the same account. So a click of
the address's owner does not help a stranger.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from wsgiauth.accounts import find_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.features.links.letters import address_taken
from wsgiauth.mail.letters import SAMPLE_ROOT, Addressed, Letter, LinkLetter
from wsgiauth.mail.outbox import Composer, Mail, Outbox, ask_for
from wsgiauth.messages import _
from wsgiauth.settings import Settings

PROVIDER_ADDRESS = "provider address"  # the purpose of the secrets, and the kind of the email


class ProviderAddress(NamedTuple):
    """A new account that waits for the proof of its address."""

    identity_id: str  # of the account of a provider
    username: str
    email: str


class ProviderAddressLetter(LinkLetter):
    """The email with the link, without any text of the user, because anyone can type an address."""

    template = "mail/provider_address.txt"
    action = _("Create your account")


def request_provider_address(outbox: Outbox, asked: ProviderAddress, *, mount: str) -> None:
    """Ask for a link to create an account with an address; the names keep the rules for names."""
    data = {"mount": mount, "asked": asked}
    ask_for(outbox, PROVIDER_ADDRESS, name=asked.email, data=data)


def _compose(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the letter with the link, or the letter to the owner of a taken address."""
    owner = find_user(mail.name)
    if owner is not None:
        return address_taken(owner)
    data = json.loads(mail.data)
    asked = ProviderAddress(*data["asked"])
    secret = one_time.issue(
        PROVIDER_ADDRESS, None, now=now, lifetime=settings.LINK_MINUTES * 60, data=json.dumps(asked)
    )
    link = one_time.link_url(settings, data["mount"], "verify", secret)
    letter = ProviderAddressLetter(link=link, minutes=settings.LINK_MINUTES)
    return Addressed(letter, asked.email, None, mail.language)


COMPOSERS: Mapping[str, Composer] = {PROVIDER_ADDRESS: _compose}

SAMPLES: tuple[Letter, ...] = (
    ProviderAddressLetter(link=f"{SAMPLE_ROOT}/verify?token=example", minutes=60),
)


def read_provider_address(secret: OneTimeSecret) -> ProviderAddress:
    """Return the account and the address of a secret."""
    return ProviderAddress(*json.loads(secret.data))
