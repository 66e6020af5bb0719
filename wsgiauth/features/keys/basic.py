"""Basic authentication (RFC 7617), for programs that know nothing else: a name, and an API key.

On the way of a request, `identity` calls this module if BASIC_AUTH is `keys`. Passwords are never
accepted: a program would send one with each request, which would cost a bcrypt hash and leave out
the second factor.
"""

from base64 import b64decode
from typing import NamedTuple

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.features.keys import api_keys as keys

_MAX_LENGTH = 2048  # characters of the header; the longest name and a key need half of them


class Credentials(NamedTuple):
    """A user-id and a password; both are empty if the header is malformed."""

    name: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return "<Credentials>"  # some programs send a key as the name


def find(encoded: str, now: int) -> tuple[User, str] | None:
    """Return what `keys.find` does, if the key belongs to the user with this name; else None.

    Costs one SELECT, or none if the password has not the form of a key.

    Args:
        encoded: The credentials of the Authorization header.
        now: See `keys.find`.
    """
    presented = read(encoded)
    found = keys.find(presented.password, now)
    if found is None:
        return None
    user, _ = found
    own_names = {names.key(user.username), names.key(user.email)}
    return found if names.key(presented.name) in own_names else None


def read(encoded: str) -> Credentials:
    """Return what an Authorization header presents. It must be UTF-8, as the challenge says."""
    if len(encoded) > _MAX_LENGTH:
        return Credentials()
    try:
        decoded = b64decode(encoded, validate=True).decode()
    except ValueError:  # not ASCII, not base64 or not UTF-8
        return Credentials()
    # Not the first colon, as in RFC 7617: a username can have one, and no API key has.
    name, colon, password = decoded.rpartition(":")
    return Credentials(name, password) if colon else Credentials(decoded)
