"""The interface of what keeps its access to an account when all sessions of the user end.

A page that ends sessions names it. `features.oauth_server` implements it for apps.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from wsgiauth.accounts.models import User


class LastingAccess(ABC):
    """The part of a site that knows the apps whose access outlasts sessions; see `Site.part`."""

    path: str  # below the mount: where the user ends their access

    @abstractmethod
    def names(self, user: User, now: float) -> Sequence[str]:
        """Return the names of the apps that keep their access to the account of a user."""
