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
NEW_ACCOUNT = Purpose("new account", "required")  # likewise the only factor


class KeyProof(NamedTuple):
    """The user of an accepted key, and what the key proves."""

    user: User  # as read before the signature was verified
    methods: str  # see `methods`


class PresentedKey(Protocol):
    """A browser's answer to a challenge; its signature is not verified."""

    def accept(self, user: User | None = None) -> KeyProof | None:
        """Return whose key it is, and record its use; None if it is not valid, or not of `user`."""


class NewKey(Protocol):
    """A verified key, for an account that is being created."""

    @property
    def methods(self) -> str:
        """What its use proves; see `methods`."""

    def add(self, user: User) -> None:
        """Give the key to a new user; call this in the transaction that creates the account.

        Raises:
            RequestError: 409: the key, or its challenge, was used before.
        """


class PresentedNewKey(Protocol):
    """A browser's new key for an account that is being created; it is not verified."""

    @property
    def unknown(self) -> str:
        """JSON for `PublicKeyCredential.signalUnknownCredential`; "" if a user has the key."""

    def verify(self, name: str) -> NewKey | None:
        """Return the key, which gets this name, or None if the answer is wrong; costs no query."""


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

    @abstractmethod
    def options_of_new_account(self, name: str, *bound_to: str, now: float) -> str:
        """Return the browser's instructions, as JSON, for the key of a new account.

        `name` is what the authenticator calls the account; the script of a page with a field for
        the address replaces it.
        """

    @abstractmethod
    def read_new(self, credential: str, *bound_to: str, now: float) -> PresentedNewKey | None:
        """Return the answer to a challenge of `options_of_new_account`; costs as little."""
