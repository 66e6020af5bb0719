"""Keys with which a browser proves who its user is, such as passkeys, as the kernel knows them.

A page has a challenge, which a browser signs with a key of its user. `passkeys` makes and verifies
them; without that feature, a site has no such keys.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

from wsgiauth.accounts.models import User


class Purpose(NamedTuple):
    """What a challenge permits."""

    name: str  # part of what the challenge's code is computed of
    # Whether the authenticator has to make sure who uses it, by a finger, a face or a PIN
    # (`required`), or where it can (`preferred`), or need not (`discouraged`).
    user_verification: str


LOG_IN = Purpose("log in", "required")  # where the key is the only factor
SECOND_STEP = Purpose("second step", "discouraged")
CONFIRM = Purpose("confirm", "preferred")


class KeyProof(NamedTuple):
    """The user of a key that was accepted, and what it proves."""

    user: User  # as read before the signature was verified
    methods: str  # see `methods`


class PresentedKey(Protocol):
    """What a browser sent in answer to a challenge; its signature is not verified."""

    def accept(self, user: User | None = None) -> KeyProof | None:
        """Return whose key it is, and record its use; None if it is not accepted.

        Only a key of `user` is accepted; None: that of any user.
        """


class BrowserKeys(ABC):
    """The part of a site that verifies such keys; see `Site.part`."""

    @abstractmethod
    def request_options(
        self, purpose: Purpose, *bound_to: str, now: float, user: User | None = None
    ) -> str:
        """Return what a page asks the browser for, as JSON; empty if the user has no key.

        Args:
            purpose: What the answer permits.
            bound_to: The session or the pending login that it is for, if there is one.
            now: In seconds since the epoch.
            user: Whose keys are accepted; None: those of any user.
        """

    @abstractmethod
    def read(
        self, credential: str, purpose: Purpose, *bound_to: str, now: float
    ) -> PresentedKey | None:
        """Return what a browser sent, if it answers a challenge with this purpose and binding.

        Costs neither a query nor a signature.
        """
