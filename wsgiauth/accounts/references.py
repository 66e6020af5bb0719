"""Deletions that a foreign key of the application refuses."""

from collections.abc import Iterator
from contextlib import contextmanager

import peewee

from wsgiauth.exceptions import InUseError


@contextmanager
def refusing_referenced(username: str) -> Iterator[None]:
    """Raise InUseError if rows of the application keep a user from being deleted.

    Around the transaction: a deferred foreign key, such as those of Django, fails at its commit.
    All of wsgiauth's own rows are deleted with the user.
    """
    try:
        yield
    except peewee.IntegrityError as error:
        raise InUseError(username) from error
