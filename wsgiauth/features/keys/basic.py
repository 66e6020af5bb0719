"""Basic authentication (RFC 7617) with a name and an API key, for programs that know nothing else.

`identity` calls `find` if BASIC_AUTH is `keys`. Passwords are never accepted: each request would
cost a bcrypt hash, and bypass the second factor.
"""

from base64 import b64decode
from typing import NamedTuple

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.features.keys import api_keys

_MAX_LENGTH = 2048  # characters of the header: twice the longest name and a key


class Credentials(NamedTuple):
    """A user-id and a password; both are empty if the header is malformed."""

    name: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return "<Credentials>"  # some programs send a key as the name


def find(encoded: str, now: int) -> tuple[User, str] | None:
    """Return the result of `api_keys.find` if the name is the username or the email address."""
    presented = read(encoded)
    found = api_keys.find(presented.password, now)
    if found is None:
        return None
    own_names = {names.key(found[0].username), names.key(found[0].email)}
    return found if names.key(presented.name) in own_names else None


def read(encoded: str) -> Credentials:
    """Return the credentials of an Authorization header, in UTF-8, as the challenge says."""
    if len(encoded) > _MAX_LENGTH:
        return Credentials()
    try:
        decoded = b64decode(encoded, validate=True).decode()
    except ValueError:  # not ASCII, not base64 or not UTF-8
        return Credentials()
    # At the last colon, unlike RFC 7617: a username can have one, an API key cannot.
    name, colon, password = decoded.rpartition(":")
    return Credentials(name, password) if colon else Credentials(decoded)
