"""Pending logins: the first step was right, and the second factor is missing.

A pending login is a one-time secret in a cookie of its own. Only the cookie has the path where the
login leads, because the path can be the link of an email, whose secret must not be in the database.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import NamedTuple

import peewee

from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import one_time
from wsgiauth.authentication.federated_logins import FederatedLogin, FederatedLogins
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.exceptions import UnauthenticatedError
from wsgiauth.storage import database
from wsgiauth.web.cookies import OwnCookie, TaggedCookie, new_tag
from wsgiauth.web.urls import PATHS_ALONE, Destinations, next_in_cookie, next_of_cookie

LIFETIME = 10 * 60  # seconds
PENDING = OwnCookie("-second-", 6 * LIFETIME)  # the path in it is of use after the end, too

_PURPOSE = "second"


class Pending(NamedTuple):
    """A login that waits for its second factor."""

    tag: str  # of the cookie
    secret: str  # in the cookie
    user: User  # with the stamp at the time of the first step
    destination: str  # where the browser goes afterwards: a safe `next`, or empty
    remember: bool  # whether the session outlives the browser window
    methods: str  # of the first step
    federated_login: FederatedLogin | None  # if the first step was one

    def __repr__(self) -> str:
        return f"<Pending login of {self.user!r}>"  # the secret is secret


def start(
    user: User,
    *,
    destination: str,
    remember: bool,
    now: float,
    methods: str = PASSWORD,
    federated_login: FederatedLogin | None = None,
) -> TaggedCookie:
    """Return the cookie of a new pending login of a user, as read before the first step."""
    data = json.dumps({"remember": remember, "methods": methods, "provider": federated_login})
    try:
        secret = one_time.issue(_PURPOSE, user, now=now, lifetime=LIFETIME, data=data)
    except peewee.IntegrityError:  # the foreign key's: the user was deleted at the same moment
        raise UnauthenticatedError(None) from None
    return TaggedCookie(new_tag(now), with_destination(secret, destination))


def find(
    cookie: TaggedCookie,
    now: float,
    federated: FederatedLogins | None = None,
    destinations: Destinations = PATHS_ALONE,
) -> Pending | None:
    """Return the pending login of a cookie, or None if it has ended.

    Without `federated`, pending logins that began at a provider have ended.
    """
    secret, destination = split(cookie.value, destinations)
    row = one_time.find(secret, _PURPOSE, now=now)
    if row is None or row.user is None:
        return None
    data = json.loads(row.data)
    methods, stored = data.get("methods", PASSWORD), data.get("provider")  # not in older rows
    federated_login = None if stored is None or federated is None else federated.restore(stored)
    if stored is not None and (federated_login is None or federated_login.has_ended()):
        return None
    return Pending(
        cookie.tag, secret, row.user, destination, data["remember"], methods, federated_login
    )


def cancel(pending: Pending) -> None:
    """End a pending login, and no other: a thief of the password must not end the owner's."""
    with database.atomic():
        one_time.end(one_time.digest(pending.secret))


def finish(pending: Pending, now: float, others: Iterable[TaggedCookie] = ()) -> bool:
    """Use the secret; return False if another request did so first.

    Pending logins of the user in other browsers end, so that attackers need the password again.
    `others` are the cookies of this browser's other tabs, whose logins go on.
    """
    keep = [split(each.value)[0] for each in others]
    with database.atomic():
        lock_user(pending.user.id)  # two logins, each of which ends the other, could deadlock
        return one_time.redeem(pending.secret, _PURPOSE, now=now, keep=keep) is not None


def with_destination(secret: str, destination: str) -> str:
    """Return the value of a cookie with a secret, and the URL where a login leads."""
    # Base64, because a URL can have characters that a cookie cannot.
    return f"{urlsafe_b64encode(next_in_cookie(destination)).decode()}.{secret}"


def split(cookie: str, destinations: Destinations = PATHS_ALONE) -> tuple[str, str]:
    """Return the secret and the destination of a cookie; an unsafe destination becomes empty."""
    encoded, _, secret = cookie.rpartition(".")
    try:
        return secret, destinations.safe(next_of_cookie(urlsafe_b64decode(encoded)))
    except ValueError:
        return secret, ""
