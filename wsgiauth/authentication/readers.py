"""Credentials of a request that are not a session: what a feature adds to identify a caller.

On the way of a request, `identity` chooses a reader by the scheme of the Authorization header, and
by how the credentials begin.
"""

from collections.abc import Callable
from typing import NamedTuple

from wsgiauth.accounts.models import User

BEARER = "bearer"


class Reader(NamedTuple):
    """Reads one kind of credentials."""

    scheme: str  # of the Authorization header, in lower case (RFC 9110 section 11.1)
    # Returns the user of credentials and the id of the API key that they are; None if they are not
    # valid. The number is the time, in seconds since the epoch.
    find: Callable[[str, int], tuple[User, str] | None]
    prefix: str = ""  # of the credentials, if other kinds have the same scheme
    is_ambient: bool = False  # whether browsers send them by themselves
