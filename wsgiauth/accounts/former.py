"""The interface of passwords that other software hashed; a feature implements it.

`User.hashed_password` is then the bcrypt hash of the digest of the foreign hash, and a row of
`FormerPassword` says how the digest is computed. The next login replaces both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import FormerPassword

HASH_START = 29  # characters of a bcrypt hash: the version, the cost and the salt


class Scheme(ABC):
    """How the password of one user, or of a name without a user, was hashed."""

    @abstractmethod
    def digests(self, password: str) -> Mapping[bytes, bool]:
        """Return a digest for each form of a typed password.

        The value says whether the form is canonically equivalent to the password (UAX #15). After
        another form, a login must not store the password as typed: the user may type another one.
        """


class FormerPasswords(ABC):
    """The part of a site that knows the passwords that other software hashed."""

    @abstractmethod
    def find(self, user: User | None, name: str) -> tuple[str | None, Scheme | None]:
        """Return the hash of a user as stored now, and the scheme if other software hashed.

        Without a user or a password, return a scheme for `name`, so that a comparison takes as long
        as for a name with an account.
        """

    @abstractmethod
    def has_any(self) -> bool:
        """Return whether a user of the site has a former password, which can have any length."""


class FormerHash(NamedTuple):
    """A hash of other software, as it is stored."""

    hashed_password: str
    scheme: str = ""  # empty: bcrypt of the password itself
    parameters: str = ""
    salt: str = ""

    def row(self, user_id: int) -> dict[str, object]:
        """Return the row of `FormerPassword`."""
        return {
            "user": user_id,
            "scheme": self.scheme,
            "parameters": self.parameters,
            "salt": self.salt,
            "hash_start": self.hashed_password[:HASH_START],
        }


def store(former: FormerHash, user: User) -> None:
    """Store how other software hashed the password of a user, who has just been inserted."""
    if former.scheme:
        FormerPassword.insert(former.row(user.id)).execute()
