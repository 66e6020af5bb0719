"""Pending logins: the password was right, and the second factor is missing.

A pending login is a one-time secret in a cookie of its own. Nothing treats it as a user.
"""

import json
from typing import NamedTuple

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.authentication import one_time
from wsgiauth.exceptions import UnauthenticatedError

LIFETIME = 10 * 60  # seconds

_PURPOSE = "second"


class Pending(NamedTuple):
    """A login that waits for its second factor.

    Attributes:
        secret: What the cookie has.
        user: The user, with the stamp at the time of the password.
        destination: Where the browser goes afterwards; a safe path, or empty.
        remember: Whether the login outlives the browser window.
    """

    secret: str
    user: User
    destination: str
    remember: bool

    def __repr__(self) -> str:
        return f"<Pending login of {self.user!r}>"  # the secret is secret


def start(user: User, *, destination: str, remember: bool, now: float) -> str:
    """Return the secret of a new pending login.

    Args:
        user: As read before the password was verified.
        destination: See `Pending`.
        remember: See `Pending`.
        now: Seconds since the epoch.

    Raises:
        UnauthenticatedError: The user has been deleted.
        peewee.DatabaseError: The database failed.
    """
    data = json.dumps({"next": destination, "remember": remember})
    try:
        return one_time.issue(_PURPOSE, user, now=now, lifetime=LIFETIME, data=data)
    except peewee.IntegrityError:  # the foreign key's: the user was deleted at the same moment
        raise UnauthenticatedError(None) from None


def find(secret: str, now: float) -> Pending | None:
    """Return the pending login of a secret, or None if there is none any more.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    row = one_time.find(secret, _PURPOSE, now=now)
    user = None if row is None else User.get_or_none(User.id == row.user_id)
    if row is None or user is None or user.security_stamp != row.stamp:
        return None  # or the user changed after the first SELECT
    data = json.loads(row.data)
    return Pending(secret, user, data["next"], data["remember"])


def finish(pending: Pending, now: float) -> bool:
    """Use the secret; return False if another request did so first.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    return one_time.redeem(pending.secret, _PURPOSE, now=now) is not None
