"""Accounts of providers that no user has yet, while their owner creates or connects an account.

The account waits in a one-time secret, whose cookie proves that the provider has just logged its
owner in, in this browser. Nothing treats the cookie as a user.
"""

import json
from typing import NamedTuple

from wsgiauth.authentication import one_time, pending
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.provider_sessions import REMEMBERED, ProviderLogin
from wsgiauth.web.cookies import OwnCookie, TaggedCookie, new_tag

LIFETIME = REMEMBERED  # seconds
UNCLAIMED = OwnCookie("-provider-", LIFETIME)

_PURPOSE = "provider account"
_MAX_GROUPS = 100  # for which a column of MariaDB has room; the next login brings the others


class Unclaimed(NamedTuple):
    """An account of a provider that waits for its user."""

    tag: str  # of the cookie
    secret: str  # in the cookie
    account: ProviderAccount
    destination: str  # where the browser goes afterwards: a safe path, or empty
    remember: bool  # whether the session outlives the browser window

    def __repr__(self) -> str:
        return f"<Unclaimed account of {self.account.provider}>"  # the secret is secret


def start(
    account: ProviderAccount, *, destination: str, remember: bool, now: float
) -> TaggedCookie:
    """Return the cookie of an account of a provider that no user has."""
    # Not in ASCII: a column of MariaDB has room for what a provider can send, but not escaped.
    kept = account._replace(groups=(account.groups or ())[:_MAX_GROUPS])._asdict()
    del kept["is_partial"]  # which a process of the version before does not know
    data = json.dumps({"account": kept, "remember": remember}, ensure_ascii=False)
    secret = one_time.issue(_PURPOSE, None, now=now, lifetime=LIFETIME, data=data)
    return TaggedCookie(new_tag(now), pending.with_destination(secret, destination))


def find(cookie: TaggedCookie, now: float) -> Unclaimed | None:
    """Return the account of a cookie; None if it was claimed or logged out, or its time is over."""
    secret, destination = pending.split(cookie.value)
    row = one_time.find(secret, _PURPOSE, now=now)
    if row is None:
        return None
    data = json.loads(row.data)
    groups = tuple(data["account"].pop("groups"))
    account = ProviderAccount(**data["account"], groups=groups)
    if ProviderLogin.of(account).has_ended():
        return None
    return Unclaimed(cookie.tag, secret, account, destination, data["remember"])


def finish(unclaimed: Unclaimed, now: float) -> bool:
    """Use the secret; return False if another request did so first.

    Call this in the transaction of the change that it permits.
    """
    return one_time.redeem(unclaimed.secret, _PURPOSE, now=now) is not None
