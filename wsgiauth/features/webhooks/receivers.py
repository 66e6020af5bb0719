"""The URLs of WEBHOOKS, with what each one gets."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from wsgiauth.events.kinds import Change, DeclaredKinds
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings
from wsgiauth.settings.webhook_entries import entries_of, host_of

_DIGEST_LENGTH = 32  # hexadecimal digits


class Receiver(NamedTuple):
    """A URL, which can have secrets; its `repr` hides them."""

    url: str
    events: frozenset[str] | None  # None: all
    destination: str  # a digest of the URL

    @property
    def host(self) -> str:
        """The host, with the port if the URL has one."""
        return host_of(self.url)

    def gets(self, event: str) -> bool:
        """Return whether an event is sent to it."""
        return self.events is None or event in self.events

    def __repr__(self) -> str:
        return f"<Receiver {self.host}>"


def receivers_of(settings: Settings) -> dict[str, Receiver]:
    """Return the receivers by their digests."""
    made = [
        Receiver(each.url, each.events, _digest(each.url)) for each in entries_of(settings.WEBHOOKS)
    ]
    return {each.destination: each for each in made}


def check_events(receivers: Iterable[Receiver], kinds: DeclaredKinds) -> None:
    """Raise ConfigurationError for an event that is not stored: a stranger can cause many."""
    for name in sorted({name for each in receivers for name in each.events or ()}):
        kind = kinds.find(name)
        if kind is None:
            raise ConfigurationError(f"WEBHOOKS names the event {name}, which does not exist.")
        if not isinstance(kind, Change):
            raise ConfigurationError(
                f"WEBHOOKS names {name}, which changes nothing and is not sent."
            )


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:_DIGEST_LENGTH]
