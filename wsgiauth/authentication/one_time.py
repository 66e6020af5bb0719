"""One-time secrets, as in the links of emails: each has one purpose and one use.

The table has only a digest of each secret, so that the database alone opens nothing. A fast digest
is enough, because a secret has 256 random bits.
"""

import hashlib
import secrets
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, end_secrets, insert_new
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.statements import ModelStatement, Statement, given, insert_row, is_given
from wsgiauth.storage.upkeep import purge_some

MAX_LENGTH = 100  # characters of a secret that a client sends

_IS_OF_USER = User.is_active & (OneTimeSecret.stamp == User.security_stamp)


def _valid(condition: Any) -> Any:
    is_valid = OneTimeSecret.expires_at > given(OneTimeSecret.expires_at, "now")
    with_user = OneTimeSecret.select(OneTimeSecret, User).join(User, peewee.JOIN.LEFT_OUTER)
    return with_user.where(is_given(OneTimeSecret.id), is_valid, condition)


_FIND = ModelStatement(lambda: _valid(OneTimeSecret.user.is_null() | _IS_OF_USER))
_FIND_LASTING = ModelStatement(lambda: _valid(User.is_active))
_ABOUT = Statement(
    lambda: OneTimeSecret.select(OneTimeSecret.id).where(
        is_given(OneTimeSecret.subject), is_given(OneTimeSecret.purpose)
    )
)
_EXCHANGE = Statement(
    lambda: OneTimeSecret.update(
        id=given(OneTimeSecret.id, "new_id"), data=given(OneTimeSecret.data)
    ).where(is_given(OneTimeSecret.id))
)
_DELETE = Statement(lambda: OneTimeSecret.delete().where(is_given(OneTimeSecret.id)))


def issue(
    purpose: str,
    user: User | None,
    *,
    now: float,
    lifetime: int,
    subject: str | None = None,
    data: str = "",
) -> str:
    """Return a new secret that can be part of a URL; see `OneTimeSecret` for the arguments.

    A purpose of a feature begins with the feature's name: with another one, such as `reset`, the
    secret opens what the secrets of that purpose open.

    Raises:
        peewee.IntegrityError: The user has been deleted.

    Example:
        secret = issue("badges", user, now=site.now(), lifetime=3600, data="early")
    """
    secret = secrets.token_urlsafe(32)
    with database.atomic():
        insert_row(
            OneTimeSecret,
            id=digest(secret),
            purpose=purpose,
            user=None if user is None else user.id,
            stamp=0 if user is None else user.security_stamp,
            subject=None if subject is None else digest(subject),
            data=data,
            expires_at=int(now) + lifetime,
        )
    purge_some(OneTimeSecret, now)
    return secret


def find(secret: str, *purposes: str, now: float) -> OneTimeSecret | None:
    """Return a secret that can be used for one of these purposes, and its user.

    Example:
        found = find("a secret that a client sent", "badges", now=site.now())
    """
    return _find(secret, purposes, now, is_lasting=False)


def find_lasting(secret: str, purpose: str, *, now: float) -> OneTimeSecret | None:
    """Return a secret that a new password does not end, and its active user."""
    return _find(secret, [purpose], now, is_lasting=True)


def _find(
    secret: str, purposes: Collection[str], now: float, *, is_lasting: bool
) -> OneTimeSecret | None:
    if not secret or len(secret) > MAX_LENGTH:
        return None
    statement = _FIND_LASTING if is_lasting else _FIND
    found = statement.first(id=digest(secret), now=now)
    return found if found is not None and found.purpose in purposes else None


def redeem(
    secret: str, purpose: str, *, now: float, keep: Collection[str] = ()
) -> OneTimeSecret | None:
    """Use a secret; return it, or None if it cannot be used.

    Atomic under concurrency. The user's other secrets of the purpose end, except `keep`. Call this
    in the transaction of the change that the secret permits. If the user changes, lock the user's
    row first, so that no change of the password is committed in between.
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

    Call this first in the transaction of the change that it permits: it waits for another client
    that uses the same secret. Before, lock the row of the secret's user and compare the stamps.

    Example:
        secret = issue("badges", user, now=site.now(), lifetime=3600)
        found = find(secret, "badges", now=site.now())
        is_first = found is not None and use(found)
    """
    with database.atomic():
        return bool(end(row.id))


def end(row_id: str) -> int:
    """Delete a secret by the digest that is its id, and return the number of deleted rows."""
    return _DELETE.execute(id=row_id)


def exchange(row: OneTimeSecret, data: str) -> str | None:
    """Replace a secret that `find` has returned by a new one, with other data and the same end.

    Returns:
        None if it was used meanwhile.
    """
    secret = secrets.token_urlsafe(32)
    with database.atomic():
        is_ours = _EXCHANGE.execute(id=row.id, new_id=digest(secret), data=data)
    return secret if is_ours else None


def end_about(subject: str, purpose: str) -> None:
    """End all secrets for a purpose that depend on an email address."""
    # By id, as in `use`: a DELETE by another index locks in another order, and could deadlock.
    ids = [row_id for (row_id,) in _ABOUT.fetchall(subject=digest(subject), purpose=purpose)]
    if ids:
        with database.atomic():
            OneTimeSecret.delete().where(OneTimeSecret.id.in_(ids)).execute()


def record(
    value: str,
    purpose: str,
    *,
    user_id: int | None = None,
    subject: str | None = None,
    data: str = "",
    expires_at: int,
) -> bool:
    """Record that a value without a row was used; return False if it was used before.

    Call this in the transaction of the change that the value permits. `purpose` must not be one of
    `issue`, so that the row opens nothing. The digest of `subject` can find the row.
    """
    with database.atomic():
        return insert_new(
            OneTimeSecret,
            id=digest(value),
            purpose=purpose,
            user=user_id,
            subject=None if subject is None else digest(subject),
            data=data,
            expires_at=expires_at,
        )


def link_url(settings: Settings, mount: str, page: str, secret: str) -> str:
    """Return a link to a page with a secret. Only PUBLIC_URL is trusted for its host.

    Example:
        secret = issue("badges", user, now=site.now(), lifetime=3600)
        link = link_url(settings, "/auth", "badges/offer", secret)
    """
    root = (settings.PUBLIC_URL or "").rstrip("/")
    return f"{root}{quote(mount)}/{page}?token={secret}"


def digest(secret: str) -> str:
    """Return the digest that a table has instead of a secret or an email address.

    Example:
        stored = digest("a secret that a client sent")
    """
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
