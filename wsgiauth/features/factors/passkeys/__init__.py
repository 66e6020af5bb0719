"""Passkeys (W3C Web Authentication, level 3): their table, and the functions that use it.

A passkey is a key pair in an authenticator: a phone, a computer or a security key. The table has
the public key, which is not secret. `relying_party` makes and verifies the messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication.one_time import digest
from wsgiauth.exceptions import RequestError, UnauthenticatedError, ValidationError
from wsgiauth.features.factors import totp
from wsgiauth.features.factors.event_kinds import FACTOR_ADDED, PASSKEY_CLONED
from wsgiauth.features.factors.passkeys import challenges
from wsgiauth.features.factors.passkeys.challenges import Challenge
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import NO_PASSWORD, Model, from_timestamp, json_fields
from wsgiauth.storage.statements import (
    ModelStatement,
    Statement,
    given,
    insert_or_ignore,
    insert_row,
    is_given,
    locked,
)

NAME_MAX_LENGTH = 50
MOST_PASSKEYS = 10  # of a user


class Passkey(Model):
    """A passkey of a user; times are in seconds since the epoch."""

    # The digest of the credential id, which is short enough for every database to index.
    id: peewee.CharField[str] = peewee.CharField(max_length=64, primary_key=True)
    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE"
    )
    name: peewee.CharField[str] = peewee.CharField(max_length=NAME_MAX_LENGTH)
    # From the authenticator: up to 1,023 bytes, in Base64 for URLs.
    credential_id: peewee.TextField[str] = peewee.TextField()
    # COSE (RFC 9052), in Base64 for URLs.
    public_key: peewee.TextField[str] = peewee.TextField()
    # How often the authenticator had signed at the last use; 0 if it does not count.
    sign_count: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    # The host of PUBLIC_URL when the passkey was registered; it works only there.
    relying_party: peewee.CharField[str] = peewee.CharField(max_length=253)
    # Names the user to the authenticator: random, in Base64 for URLs.
    user_handle: peewee.CharField[str] = peewee.CharField(max_length=86)
    # How browsers reach the authenticator, separated by spaces.
    transports: peewee.CharField[str] = peewee.CharField(max_length=64, default="")
    # Whether it is on several devices of the user, as by a cloud.
    is_backed_up: peewee.BooleanField[bool] = peewee.BooleanField(default=False)
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    last_used_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)  # 0: never

    class Meta:
        table_name = "wsgiauth_passkey"


class PasskeyAccount(Model):
    """A user who registered with a passkey instead of a password.

    A process of the version before does not read it, and asks such users for a second step.
    """

    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE", primary_key=True
    )
    registered_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()  # seconds since the epoch

    class Meta:
        table_name = "wsgiauth_passkey_account"


class NewPasskey(NamedTuple):
    """The columns of a new passkey that come from the browser; see `Passkey`."""

    credential_id: str
    public_key: str
    sign_count: int
    user_handle: str
    transports: str
    is_backed_up: bool


def host_of(settings: Settings) -> str:
    """Return the host of PUBLIC_URL, or an empty string."""
    return urlsplit(settings.PUBLIC_URL or "").hostname or ""


_LISTED = ModelStatement(
    lambda: Passkey.select().where(is_given(Passkey.user)).order_by(Passkey.created_at, Passkey.id)
)
_RENAME = Statement(lambda: Passkey.update(name=given(Passkey.name)).where(is_given(Passkey.id)))


def list_passkeys(user: User) -> list[Passkey]:
    """Return the passkeys of a user, the oldest first."""
    return _LISTED.all(user=user.id)


def rename(user: User, handle: str, name: str) -> bool:
    """Give a passkey of the user another name; return whether the user has this passkey."""
    with database.atomic():
        lock_user(user.id)  # as a removal does
        row = next((each for each in list_passkeys(user) if each.id == handle), None)
        if row is not None:
            _RENAME.execute(id=row.id, name=name)
    return row is not None


def own_passkeys(user: User, settings: Settings) -> Iterator[object]:
    """Yield the passkeys for the file of a person's own data."""
    for row in list_passkeys(user):
        yield json_fields(
            {
                "name": row.name,
                "relying_party": row.relying_party,
                "user_handle": row.user_handle,
                "credential_id": row.credential_id,
                "public_key": row.public_key,
                "sign_count": row.sign_count,
                "transports": row.transports.split(),
                "is_backed_up": row.is_backed_up,
                "created_at": from_timestamp(row.created_at),
                "last_used_at": from_timestamp(row.last_used_at) if row.last_used_at else None,
            }
        )


def own_registration(user: User, settings: Settings) -> Iterator[object]:
    """Yield when the user registered with a passkey, for the file of a person's own data."""
    for row in PasskeyAccount.select().where(PasskeyAccount.user == user.id):
        yield json_fields({"registered_at": from_timestamp(row.registered_at)})


_FIRST = Statement(
    lambda: (
        PasskeyAccount.select(PasskeyAccount.user)
        .join(User)
        .where(is_given(User.id), User.hashed_password == NO_PASSWORD)
    )
)


def are_first_factor(user: User) -> bool:
    """Return whether a user registered with a passkey, and has no password now."""
    return _FIRST.fetchone(id=user.id) is not None


def use_of(user: User) -> dict[str, str]:
    """Return the further details of an event about passkeys, for its notice.

    SECOND_FACTOR does not matter here: the words for passkeys alone are true with a demand, too.
    """
    is_first = are_first_factor(user) and not totp.devices(user)
    return {"replaces": "password"} if is_first else {}


def can_log_in(user: User, settings: Settings) -> bool:
    """Return whether a user has a passkey that works on this site."""
    keys = list_passkeys(user) if settings.PASSKEYS else []
    return any(each.relying_party == host_of(settings) for each in keys)


_IS_ELSEWHERE = Passkey.relying_party != given(Passkey.relying_party)
_ANY = Statement(lambda: Passkey.select(Passkey.id).where(_IS_ELSEWHERE).limit(1))


def is_used(*, except_at: str = "") -> bool:
    """Return whether any user has a passkey of another host than `except_at`."""
    return _ANY.fetchone(relying_party=except_at) is not None


_WITH_USER = ModelStatement(
    lambda: Passkey.select(Passkey, User).join(User).where(is_given(Passkey.id))
)


def find(credential_id: str) -> Passkey | None:
    """Return a passkey with its user, or None."""
    return _WITH_USER.first(id=digest(credential_id))


def add(
    user: User, new: NewPasskey, name: str, challenge: Challenge, *, relying_party: str, now: float
) -> None:
    """Add a passkey to a user, and use the challenge.

    Raises:
        UnauthenticatedError: The user has lost the session since `user` was read.
        ValidationError: There are too many passkeys, or the passkey or the challenge was used.
    """
    with database.atomic():
        # With the lock, concurrent requests cannot add too many passkeys.
        owner = lock_user(user.id)
        if owner is None or not owner.is_active or owner.security_stamp != user.security_stamp:
            raise UnauthenticatedError("invalid_token")
        if len(list_passkeys(owner)) >= MOST_PASSKEYS:
            raise ValidationError({"name": [_("You have too many passkeys. Remove one first.")]})
        if not _insert(owner, new, name, challenge, relying_party=relying_party, now=now):
            raise ValidationError({"credential": [_("This passkey has already been added.")]})
        details = {"factor": name, **use_of(owner)}
        events.emit(FACTOR_ADDED, user_id=owner.id, reason="passkey", details=details)


def add_first(
    user: User, new: NewPasskey, name: str, challenge: Challenge, *, relying_party: str, now: float
) -> None:
    """Add the passkey of a new user, in the transaction that creates the account.

    There is no event of a second factor: it is none, see `SecondFactors.first_of`.

    Raises:
        RequestError: 409: the passkey or the challenge was used before.
    """
    if not _insert(user, new, name, challenge, relying_party=relying_party, now=now):
        raise known_passkey()
    insert_row(PasskeyAccount, user=user.id, registered_at=int(now))


def known_passkey() -> RequestError:
    """Return the answer to a new account whose passkey or challenge was used before."""
    detail = _(
        "This passkey was used before, so no account was created. Log in with it, or try again."
    )
    return RequestError(HTTPStatus.CONFLICT, "passkey_used", detail)


def _insert(
    user: User, new: NewPasskey, name: str, challenge: Challenge, *, relying_party: str, now: float
) -> bool:
    return challenges.use(challenge) and insert_or_ignore(
        Passkey,
        **new._asdict(),
        id=digest(new.credential_id),
        user=user.id,
        name=name,
        relying_party=relying_party,
        created_at=int(now),
    )


_LOCK = ModelStatement(lambda: locked(Passkey.select().where(is_given(Passkey.id))))
_RECORD_USE = Statement(
    lambda: Passkey.update(
        sign_count=given(Passkey.sign_count),
        is_backed_up=given(Passkey.is_backed_up),
        last_used_at=given(Passkey.last_used_at),
    ).where(is_given(Passkey.id))
)


def record_use(passkey: Passkey, sign_count: int, *, is_backed_up: bool, now: float) -> bool:
    """Record a use in the transaction that it permits; return False for a removed passkey.

    A count that did not grow means that a thief may have a copy of the key (level 3, section
    6.1.1), or that the authenticator was reset. So report it, and let the passkey work.
    """
    stored = _LOCK.first(id=passkey.id)
    if stored is None:
        return False
    if (sign_count or stored.sign_count) and sign_count <= stored.sign_count:
        events.emit(PASSKEY_CLONED, user_id=stored.user_id)
    _RECORD_USE.execute(
        id=stored.id, sign_count=sign_count, is_backed_up=is_backed_up, last_used_at=int(now)
    )
    return True
