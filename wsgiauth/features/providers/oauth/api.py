"""What a provider without OpenID Connect declares: its URLs, and how its API describes a user."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType

from wsgiauth.features.providers.oidc.documents import Document

# Returns the JSON value at a URL of the API, for the user who has logged in. The first argument
# names the request in the reason of a failure.
Ask = Callable[[str, str], object]


class ApiError(Exception):
    """An answer of the API cannot be used; the message is the reason, in fixed words."""


class Api(ABC):
    """A provider whose pages are at an origin.

    Attributes:
        issuer: The `iss` of its responses (RFC 9207), if they have one.
        headers: What each request to the API has beside the access token.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    headers: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def __init__(self, origin: str) -> None: ...

    @abstractmethod
    def profile(self, ask: Ask) -> Document:
        """Return claims with at least `sub`, which identifies the account for ever.

        Raises:
            ApiError: The answer does not say who the user is.
        """

    def address(self, ask: Ask) -> Document:
        """Return `email` and `email_verified`, if they need a request of their own.

        A connected account can do without, so a failure does not stop its login.
        """
        return {}
