"""What features know about their tokens, for introspection (RFC 7662).

Each question costs one SELECT, also about a token that is not active, so that the time of the
answer does not tell them apart.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Self
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.parts import Several
from wsgiauth.web.responses import Response

_FROM_TOKEN = ("iss", "aud", "sub", "client_id", "iat", "exp")

Description = dict[str, object]


class Reader:
    """Who asks about tokens. A service with an API key learns all about every token."""

    def can_ask_about(self, claims: Mapping[str, object]) -> bool:
        """Return whether the token with these claims is more than garbage to the reader.

        It is asked before the scope of the token is read, because that can cost a SELECT.
        """
        return True

    def shown(self, description: Description) -> Description:
        """Return what the reader learns of a token that it can ask about."""
        return description


class DescribedStrings(Several):
    """The part of a site with tokens that are random or signed strings, and no JWT.

    Attributes:
        prefix: With which all of them begin, and no token of another feature.
    """

    prefix: str

    def conflicts_with(self, other: Self) -> bool:
        """Return whether strings can begin with both prefixes."""
        return self.prefix.startswith(other.prefix) or other.prefix.startswith(self.prefix)

    @abstractmethod
    def describe(self, text: str, now: int, reader: Reader) -> Description | None:
        """Return the description of an active token that the reader can ask about, or None."""


class DescribedClaims(Several):
    """The part of a site with tokens that the keys of SERVICE_KEYS sign.

    Attributes:
        claim: Which all of them have, and no token of another feature.
    """

    claim: str

    def conflicts_with(self, other: Self) -> bool:
        """Return whether both have the same claim."""
        return self.claim == other.claim

    @abstractmethod
    def describe_claims(self, claims: Mapping[str, Any], now: int) -> Description | None:
        """Return the description of an active token, or None.

        Args:
            claims: Of a token that has the signature of this site, and can have expired.
            now: Seconds since the epoch.
        """


class AskingClients(ABC):
    """The part of a site with clients that ask by a secret of their own, not by an API key."""

    @abstractmethod
    def authenticate(
        self, environ: WSGIEnvironment, fields: Mapping[str, object]
    ) -> Reader | Response | None:
        """Return the client that sent a request, or the response that refuses it.

        Return None if the request has no credentials of a client.

        Args:
            fields: Of the body; none if it could not be read.
        """


def described(user: User, scope: Iterable[str], claims: Mapping[str, object]) -> Description:
    """Return the response about an active token of a user."""
    return described_alone(scope, claims) | {"sub": str(user.id), "username": user.username}


def described_alone(scope: Iterable[str], claims: Mapping[str, object]) -> Description:
    """Return the response about an active token (RFC 7662 section 2.2) that is of no user."""
    return {
        "active": True,
        "scope": " ".join(sorted(scope)),
        "token_type": "bearer",
        **{name: claims[name] for name in _FROM_TOKEN if name in claims},
    }
