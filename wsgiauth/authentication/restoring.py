"""A change of the email address is undone, by a link that only the former address gets.

A thief of a session can change the address of the account to their own. They can also change it
again, or choose a new password; neither ends the link. Only an address that was proven for as long
as the link works gets one. So a thief who proves one address after the other gets no link, and at
any time at most one address can be restored.

Not defended: whoever reads the former mailbox can restore its address for `HOURS`, and so undo a
change that the owner made because of a stolen mailbox. A change by an operator has no such link.
"""

import json
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from wsgiauth import events
from wsgiauth.accounts import lock_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import RESTORE, OneTimeSecret, end_secrets, revoke_keys
from wsgiauth.authentication import one_time
from wsgiauth.authentication.one_time import link_url
from wsgiauth.authentication.sessions import revoke_all
from wsgiauth.events import kinds
from wsgiauth.settings import Settings
from wsgiauth.storage import database

HOURS = 72  # how long the link works, and how long an address must have been proven to get one


class FormerAddress(NamedTuple):
    """An address that was proven before a change, and its proof."""

    email: str
    verified_at: str  # in ISO 8601
    verified_by: str  # see `User.email_verified_by`


class Restoration(NamedTuple):
    """The address that a link restores, and its user."""

    user: User
    former: FormerAddress
    secret: OneTimeSecret


def former_address(details: Mapping[str, str], now: datetime) -> FormerAddress | None:
    """Return the address that a change has replaced; None if it was not proven for long enough.

    `details` are those of the event `names_changed`.
    """
    verified_at = details.get("verified_at")
    if not verified_at or datetime.fromisoformat(verified_at) > now - timedelta(hours=HOURS):
        return None
    return FormerAddress(details["old_email"], verified_at, details["verified_by"])


def mark_change(user_id: int, ends_at: int) -> str:
    """Return the id of a row that lasts as long as the change can be undone, at most `ends_at`.

    Call this in the transaction of the change. The email with the link can be composed long after
    another change that ends all links.
    """
    mark = one_time.digest(secrets.token_urlsafe(32))  # of a secret that is in no link
    row = {"purpose": RESTORE, "user": user_id, "stamp": 0, "data": "", "expires_at": ends_at}
    with database.atomic():
        OneTimeSecret.insert(id=mark, **row).execute()
    return mark


def make_restore_link(
    user_id: int, former: FormerAddress, mark: str, settings: Settings, *, mount: str, now: float
) -> str | None:
    """Return a link that restores an address, in place of a former one; None if that has ended.

    Args:
        mark: See `mark_change`.
    """
    with database.atomic():
        user = lock_user(user_id)
        row = OneTimeSecret.get_or_none(OneTimeSecret.id == mark, OneTimeSecret.user == user_id)
        if user is None or row is None:
            return None
        end_secrets(user_id, RESTORE, keep=[mark])
        lifetime = row.expires_at - int(now)
        secret = one_time.issue(RESTORE, user, now=now, lifetime=lifetime, data=json.dumps(former))
    return link_url(settings, mount, RESTORE, secret)


def end_restore_links(user_id: int) -> None:
    """End the links that restore a former address of a user."""
    end_secrets(user_id, RESTORE)


def find_restoration(secret: str, *, now: float) -> Restoration | None:
    """Return what the secret of a link restores; None if there is nothing to restore."""
    row = one_time.find_lasting(secret, RESTORE, now=now)
    if row is None or row.user is None:
        return None
    former = FormerAddress(*json.loads(row.data))
    return None if row.user.email == former.email else Restoration(row.user, former, row)


def restore_address(restoration: Restoration) -> bool:
    """Restore the address with its proof, and use the secret; return False if it has ended.

    This revokes all sessions, API keys, links and trusted browsers of the user. The second factors
    stay.

    Raises:
        TakenError: Another user has the address; the secret can still be used.
    """
    former = restoration.former
    with database.atomic():
        user = lock_user(restoration.user.id)
        # No read between lock and change: MariaDB would hide later commits from the change.
        if user is None or not user.is_active or user.email == former.email:
            return False
        if not one_time.use(restoration.secret):
            return False
        end_restore_links(user.id)
        revoke_all(user)
        revoke_keys(user.id)
        # The stamp ends other links and incomplete logins. Without its proof, the address that is
        # replaced gets no link to undo this.
        stamp = User.security_stamp + 1
        ended = User.update(email_verified_at=None, security_stamp=stamp)
        ended.where(User.id == user.id).execute()
        update_user(
            user,
            email=former.email,
            # Not the present time: a thief who knows the password could change the address again
            # at once, and this address would get no link.
            email_verified_at=datetime.fromisoformat(former.verified_at),
            email_verified_by=former.verified_by,
        )
        events.emit(kinds.ADDRESS_RESTORED, user_id=user.id)
    return True
