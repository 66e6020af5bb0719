"""One-time codes of authenticator apps (TOTP, RFC 6238), as a second factor.

A device and the site share a key, which is computed from FACTOR_KEY and the salt in the device's
row, so the database alone yields no code. The FACTOR_KEY of a device's set-up can have become one
of FACTOR_KEY_FALLBACKS.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication.lifetimes import HOST_SKEW, HOUR
from wsgiauth.authentication.typed_codes import digits_in
from wsgiauth.features.factors.event_kinds import FACTOR_ADDED
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import Model, from_timestamp, json_fields
from wsgiauth.storage.statements import ModelStatement, Statement, given, insert_row, is_given

DIGITS = 6
STEP = 30  # seconds, RFC 6238 section 5.2
KEY_LENGTH = 20  # bytes, RFC 4226 section 4, requirement 6
NAME_MAX_LENGTH = 50
MOST_DEVICES = 10  # of a user


class Totp(Model):
    """An authenticator app of a user; times are in seconds since the epoch."""

    # Random; not secret. Until the app is confirmed, it names the session that began the set-up.
    id: peewee.CharField[str] = peewee.CharField(max_length=32, primary_key=True)
    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE"
    )
    name: peewee.CharField[str] = peewee.CharField(max_length=NAME_MAX_LENGTH)
    # In hexadecimal digits; see `derive_key`.
    salt: peewee.CharField[str] = peewee.CharField(max_length=64)
    # The `key_id` of its factor key; empty: not confirmed yet, or by a version without this column.
    key_id: peewee.CharField[str] = peewee.CharField(max_length=16, default="")
    # The number of the step (RFC 6238 section 4.2) whose code was last accepted.
    counter: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)
    # When its set-up began.
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    # When its first code confirmed it; 0: it is not a factor yet.
    confirmed_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)

    class Meta:
        table_name = "wsgiauth_totp"


class _Use(NamedTuple):
    """The step and the factor key of an accepted code."""

    step: int
    key_id: str


def own_apps(user: User, settings: Settings) -> Iterator[object]:
    """Yield the apps for the file of a person's own data, also those that are not set up yet."""
    for row in Totp.select().where(Totp.user == user.id).order_by(Totp.created_at, Totp.id):
        yield json_fields(
            {
                "name": row.name,
                "created_at": from_timestamp(row.created_at),
                "confirmed_at": from_timestamp(row.confirmed_at) if row.confirmed_at else None,
            }
        )


def factor_keys(settings: Settings) -> tuple[str, ...]:
    """Return the keys of all devices: FACTOR_KEY, for new devices, then the former keys."""
    if settings.FACTOR_KEY is None:
        return ()
    return settings.FACTOR_KEY, *settings.FACTOR_KEY_FALLBACKS


def key_id(factor_key: str) -> str:
    """Return the name of a factor key in the database, which does not reveal the key."""
    return hmac.digest(factor_key.encode(), b"wsgiauth factor key id", "sha256").hex()[:16]


def derive_key(factor_key: str, salt: str) -> bytes:
    """Return the key that a device shares with the site."""
    return hmac.digest(factor_key.encode(), salt.encode(), "sha256")[:KEY_LENGTH]


def code_of_step(key: bytes, step: int) -> str:
    """Return the code of a step (RFC 4226 section 5.3; all apps have SHA-1)."""
    digest = hmac.digest(key, step.to_bytes(8), "sha1")
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def base32(key: bytes) -> str:
    """Return a key in the form for apps."""
    return base64.b32encode(key).decode().rstrip("=")


def setup_uri(key: bytes, username: str, issuer: str) -> str:
    """Return the link that sets an app up (the `otpauth` format of Google Authenticator)."""
    issuer = " ".join(issuer.replace(":", " ").split())  # a colon ends the issuer
    label = f"{quote(issuer, safe='')}:{quote(username, safe='')}"
    parameters = urlencode({"secret": base32(key), "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{label}?{parameters}"


def devices(user: User) -> list[Totp]:
    """Return the confirmed devices of a user, the oldest first."""
    return _CONFIRMED.all(user=user.id)


def count_by_key() -> Mapping[str, int]:
    """Return the number of confirmed devices by `key_id`."""
    number = peewee.fn.COUNT(Totp.id)
    rows: Any = Totp.select(Totp.key_id, number).where(Totp.confirmed_at > 0).group_by(Totp.key_id)
    return dict(rows.tuples())


_IS_CONFIRMED = Totp.confirmed_at > 0
_CONFIRMED = ModelStatement(
    lambda: (
        Totp.select().where(is_given(Totp.user), _IS_CONFIRMED).order_by(Totp.confirmed_at, Totp.id)
    )
)
_ANY = Statement(lambda: Totp.select(Totp.id).where(_IS_CONFIRMED).limit(1))


def is_used() -> bool:
    """Return whether any user has a confirmed device."""
    return _ANY.fetchone() is not None


_IS_PENDING = is_given(Totp.user) & (Totp.confirmed_at == 0)
_IS_OLD = is_given(Totp.id) | (Totp.created_at <= given(Totp.created_at, "long_ago"))
_PENDING = ModelStatement(lambda: Totp.select().where(is_given(Totp.id), _IS_PENDING))
_REPLACE = Statement(lambda: Totp.delete().where(_IS_PENDING, _IS_OLD))


def pending_device(user: User, session_id: str) -> Totp | None:
    """Return the unconfirmed device of a session, with `user` as given.

    A device of another session is not shown: the client that began its set-up knows its key.
    """
    device = _PENDING.first(id=_set_up_id(session_id), user=user.id)
    if device is not None:
        device.user = user
    return device


def begin(user: User, name: str, now: float, *, session_id: str | None = None) -> Totp:
    """Begin the set-up of a device, in place of an unconfirmed device of the session.

    Without a session, only the caller can confirm the device. For a deleted user, raise
    peewee.IntegrityError.
    """
    device_id = _new_id() if session_id is None else _set_up_id(session_id)
    salt = secrets.token_hex(32)
    device = Totp(id=device_id, user=user.id, name=name, salt=salt, created_at=int(now))
    with database.atomic():
        lock_user(user.id)  # a form that is sent twice inserts the same id
        _REPLACE.execute(id=device_id, user=user.id, long_ago=int(now) - HOUR)
        insert_row(Totp, **device.__data__)
    return device


_CONFIRM = Statement(
    lambda: Totp.update(
        id=given(Totp.id),
        confirmed_at=given(Totp.confirmed_at),
        counter=given(Totp.counter, "step"),
        key_id=given(Totp.key_id),
    ).where(is_given(Totp.id, "pending_id"), is_given(Totp.salt), Totp.confirmed_at == 0)
)


def confirm(device: Totp, code: str, keys: Sequence[str], now: float) -> bool:
    """Confirm a device if it made the code; return whether it is a factor now.

    Any of the `factor_keys` is right: another process can have another FACTOR_KEY.
    """
    used = _use_of(device, code, keys, now)
    if used is None:
        return False
    device_id = _new_id()
    pending = {"pending_id": device.id, "salt": device.salt}
    with database.atomic():
        is_ours = bool(
            _CONFIRM.execute(id=device_id, confirmed_at=int(now), **used._asdict(), **pending)
        )
        if is_ours:
            device.id = device_id
            details = {"factor": device.name}
            events.emit(FACTOR_ADDED, user_id=device.user_id, reason="otp", details=details)
    return is_ours


def accept(user: User, code: str, keys: Sequence[str], now: float) -> bool:
    """Return whether a device of the user made the code, which works once, over all processes.

    The codes of this step and the previous one are accepted (RFC 6238 section 5.2), and the code of
    the next step near its beginning, because another host's clock can be ahead.
    """
    for device in devices(user):
        used = _use_of(device, code, keys, now)
        if used is not None and _record(device, used):
            return True
    return False


def _new_id() -> str:
    return secrets.token_hex(8)


def _set_up_id(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()[:32]


def _use_of(device: Totp, code: str, keys: Sequence[str], now: float) -> _Use | None:
    """Return the step and the key that made a code, or None; see `accept`."""
    digits = digits_in(code, DIGITS)
    if not digits:
        return None
    latest, this = int(now + HOST_SKEW) // STEP, int(now) // STEP
    steps = range(latest, this - 2, -1)
    ids = [(key_id(each), derive_key(each, device.salt)) for each in keys]
    matching = [
        _Use(step, name)
        for name, key in ids
        if device.key_id in ("", name)  # compare a guess with one key if the key is known
        for step in steps
        if hmac.compare_digest(code_of_step(key, step), digits)
    ]
    return matching[0] if matching else None


_STEP = given(Totp.counter, "step")
_RECORD = Statement(
    lambda: Totp.update(counter=_STEP, key_id=given(Totp.key_id)).where(
        is_given(Totp.id), Totp.counter < _STEP, _IS_CONFIRMED
    )
)


@repeated_after_conflict
def _record(device: Totp, used: _Use) -> bool:
    with database.atomic():
        return bool(_RECORD.execute(id=device.id, **used._asdict()))
