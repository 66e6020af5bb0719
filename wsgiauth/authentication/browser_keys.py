"""The interface of keys with which a browser proves who its user is, such as passkeys.

A page has a challenge, which the browser signs with a key. `features.factors.passkeys` verifies it.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

from wsgiauth.accounts.models import User
from wsgiauth.throttling.counts import Limit


class Purpose(NamedTuple):
    """The purpose of a challenge, which permits nothing else."""

    name: str  # an input of the challenge's code
    user_verification: str  # `required`, `preferred` or `discouraged`: by a finger, a face or a PIN


LOG_IN = Purpose("log in", "required")  # where the key is the only factor
SECOND_STEP = Purpose("second step", "discouraged")
CONFIRM = Purpose("confirm", "preferred")


class KeyProof(NamedTuple):
    """The user of an accepted key, and what the key proves."""

    user: User  # as read before the signature was verified
    methods: str  # see `methods`


class PresentedKey(Protocol):
    """A browser's answer to a challenge; its signature is not verified."""

    def accept(self, user: User | None = None) -> KeyProof | None:
        """Return whose key it is, and record its use; None if it is not valid, or not of `user`."""


class BrowserKeys(ABC):
    """The part of a site that verifies keys; see `Site.part`.

    `bound_to` is the session or the pending login that an answer is for, if there is one.

    Attributes:
        limit: Of the attempts of an address to log in by a key alone, which names its user only
            when it is right.
    """

    limit: Limit

    @abstractmethod
    def request_options(
        self, purpose: Purpose, *bound_to: str, now: float, user: User | None = None
    ) -> str:
        """Return the browser's instructions as JSON, for keys of `user` or of any; "" without."""

    @abstractmethod
    def read(
        self, credential: str, purpose: Purpose, *bound_to: str, now: float
    ) -> PresentedKey | None:
        """Return the answer to a challenge of this purpose; costs no query and no signature."""
