"""One-time secrets: what a link in an email carries, each for one purpose and one use.

The table has only a digest of each secret, so that the database alone opens nothing. A fast digest
is enough, because a secret has 256 random bits.
"""

import hashlib
import secrets
from collections.abc import Collection
from urllib.parse import quote

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, end_secrets, insert_new
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.upkeep import purge_some

MAX_LENGTH = 100  # characters of a secret that a client sends


# Of a user who is active and whose password has not changed since, or of no user.
_IS_VALID = OneTimeSecret.user.is_null() | (
    User.is_active & (OneTimeSecret.stamp == User.security_stamp)
)


def issue(
    purpose: str,
    user: User | None,
    *,
    now: float,
    lifetime: int,
    subject: str | None = None,
    data: str = "",
) -> str:
    """Return a new secret for a purpose, which can be part of a URL.

    Args:
        lifetime: How long it can be used, in seconds.
        subject: The email address that it depends on; only its digest is stored.
        data: See `OneTimeSecret`.

    Raises:
        peewee.IntegrityError: The user has been deleted.
    """
    secret = secrets.token_urlsafe(32)
    with database.atomic():
        OneTimeSecret.insert(
            id=digest(secret),
            purpose=purpose,
            user=None if user is None else user.id,
            stamp=0 if user is None else user.security_stamp,
            subject=None if subject is None else digest(subject),
            data=data,
            expires_at=int(now) + lifetime,
        ).execute()
    purge_some(OneTimeSecret, now)
    return secret


def find(secret: str, *purposes: str, now: float) -> OneTimeSecret | None:
    """Return a secret that can be used for one of these purposes, without using it.

    Its user is as of the same moment.
    """
    if not secret or len(secret) > MAX_LENGTH:
        return None
    row: OneTimeSecret | None = (
        OneTimeSecret.select(OneTimeSecret, User)
        .join(User, peewee.JOIN.LEFT_OUTER)
        .where(
            OneTimeSecret.id == digest(secret),
            OneTimeSecret.purpose.in_(purposes),
            OneTimeSecret.expires_at > int(now),
            _IS_VALID,
        )
        .first()
    )
    return row


def redeem(
    secret: str, purpose: str, *, now: float, keep: Collection[str] = ()
) -> OneTimeSecret | None:
    """Use a secret; return it, or None if it cannot be used.

    Of several clients that redeem one secret at the same time, one succeeds. The user's other
    secrets of the same purpose end, but for those in `keep`. Call this in the transaction of the
    change that it permits. If the change is one of the user, lock the user's row first: then it is
    certain that no change of the password is committed in between.
    """
    row = find(secret, purpose, now=now)
    if row is None:
        return None
    with database.atomic():
        is_ours = use(row)
        if row.user_id is not None:
            end_secrets(row.user_id, purpose, keep=[digest(each) for each in keep])
    return row if is_ours else None


def use(row: OneTimeSecret) -> bool:
    """Use a secret that `find` has returned; return False if it was used meanwhile.

    Let this be the first statement in the transaction of the change that it permits: it waits for
    another client that uses the same secret. If it is the secret of a user, lock the user's row
    before, and compare the stamps.
    """
    with database.atomic():
        return bool(OneTimeSecret.delete().where(OneTimeSecret.id == row.id).execute())


def end_about(subject: str, purpose: str) -> None:
    """End all secrets for a purpose that depend on an email address."""
    found = OneTimeSecret.select(OneTimeSecret.id).where(
        OneTimeSecret.subject == digest(subject), OneTimeSecret.purpose == purpose
    )
    # By id, as in `use`: a DELETE that finds the rows by another index locks in another order, and
    # the two could wait for each other.
    ids = [row.id for row in found]
    if ids:
        with database.atomic():
            OneTimeSecret.delete().where(OneTimeSecret.id.in_(ids)).execute()


def record(
    value: str,
    purpose: str,
    *,
    user_id: int | None = None,
    subject: str | None = None,
    expires_at: int,
) -> bool:
    """Record that a value that is no row was used; return False if it was used before.

    Of several requests with one value, the primary key lets one succeed. Call this in the
    transaction of what the value permits.

    Args:
        purpose: None of `issue`, so that the row opens nothing.
        user_id: The user with which the row is deleted, if it is about one.
        subject: By what the row can be found; only its digest is stored.
        expires_at: In seconds since the epoch.
    """
    with database.atomic():
        return insert_new(
            OneTimeSecret,
            id=digest(value),
            purpose=purpose,
            user=user_id,
            subject=None if subject is None else digest(subject),
            expires_at=expires_at,
        )


def link_url(settings: Settings, mount: str, page: str, secret: str) -> str:
    """Return a link to a page with a secret; it begins with PUBLIC_URL, whatever a request says."""
    root = (settings.PUBLIC_URL or "").rstrip("/")
    return f"{root}{quote(mount)}/{page}?token={secret}"


def digest(secret: str) -> str:
    """Return what a table has of a secret, or of an address that is only to be recognized."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
