"""The email with the link to create an account for an account of another provider.

`features.links.letters` says when it is composed.
"""

import json
from collections.abc import Mapping

from wsgiauth.accounts import find_user
from wsgiauth.features.links.letters import address_taken
from wsgiauth.features.providers.addresses import (
    PROVIDER_ADDRESS,
    ProviderAddress,
    make_provider_address_link,
)
from wsgiauth.mail.letters import SAMPLE_ROOT, Addressed, Letter, LinkLetter
from wsgiauth.mail.outbox import Composer, Mail, Outbox, ask_for
from wsgiauth.settings import Settings


class ProviderAddressLetter(LinkLetter):
    """The email with the link to create an account for an account of another provider.

    It has no text that anyone chose, because anyone can type an address.
    """

    template = "mail/provider_address.txt"


def request_provider_address(outbox: Outbox, asked: ProviderAddress, *, mount: str) -> None:
    """Ask for a link to create an account with an address; the names keep the rules for names."""
    data = {"mount": mount, "asked": asked}
    ask_for(outbox, PROVIDER_ADDRESS, name=asked.email, data=data)


def _compose_provider_address(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the letter with the link, or the one to the owner of a taken address."""
    owner = find_user(mail.name)
    if owner is not None:
        return address_taken(owner)
    data = json.loads(mail.data)
    asked = ProviderAddress(*data["asked"])
    link = make_provider_address_link(asked, settings, mount=data["mount"], now=now)
    letter = ProviderAddressLetter(link=link, minutes=settings.LINK_MINUTES)
    return Addressed(letter, asked.email, None, mail.language)


COMPOSERS: Mapping[str, Composer] = {PROVIDER_ADDRESS: _compose_provider_address}

SAMPLES: tuple[Letter, ...] = (
    ProviderAddressLetter(link=f"{SAMPLE_ROOT}/verify?token=example", minutes=60),
)
