"""One-time codes of authenticator apps (TOTP, RFC 6238), as a second factor.

The table has a salt for each device. The key that the device shares with the site is computed from
it and FACTOR_KEY, so the database alone yields no code. A device keeps the key with which it was
set up, which can have become one of FACTOR_KEY_FALLBACKS.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication.lifetimes import HOST_SKEW, HOUR
from wsgiauth.features.factors.typed_codes import plain
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import Model

DIGITS = 6
STEP = 30  # seconds, RFC 6238 section 5.2
KEY_LENGTH = 20  # bytes, RFC 4226 section 4, requirement 6
NAME_MAX_LENGTH = 50
MOST_DEVICES = 10  # of a user

_CODE = re.compile(r"[0-9]{6}")


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
    """What the row of a device records of an accepted code."""

    step: int
    key_id: str


def factor_keys(settings: Settings) -> tuple[str, ...]:
    """Return the keys that devices can have: FACTOR_KEY, which new ones get, then the former."""
    if settings.FACTOR_KEY is None:
        return ()
    return settings.FACTOR_KEY, *settings.FACTOR_KEY_FALLBACKS


def key_id(factor_key: str) -> str:
    """Return what names a factor key in the database, which does not reveal it."""
    return hmac.digest(factor_key.encode(), b"wsgiauth factor key id", "sha256").hex()[:16]


def derive_key(factor_key: str, salt: str) -> bytes:
    """Return the key that a device shares with the site."""
    return hmac.digest(factor_key.encode(), salt.encode(), "sha256")[:KEY_LENGTH]


def code_of_step(key: bytes, step: int) -> str:
    """Return the code of a step (RFC 4226 section 5.3, with SHA-1 as all apps have it)."""
    digest = hmac.digest(key, step.to_bytes(8), "sha1")
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def base32(key: bytes) -> str:
    """Return a key as apps take it."""
    return base64.b32encode(key).decode().rstrip("=")


def setup_uri(key: bytes, username: str, issuer: str) -> str:
    """Return the link that sets an app up (the `otpauth` format of Google Authenticator).

    The app shows the username and the issuer, which is the site.
    """
    issuer = " ".join(issuer.replace(":", " ").split())  # a colon separates it from the name
    label = f"{quote(issuer, safe='')}:{quote(username, safe='')}"
    parameters = urlencode({"secret": base32(key), "issuer": issuer}, quote_via=quote)
    return f"otpauth://totp/{label}?{parameters}"


def devices(user: User) -> list[Totp]:
    """Return the devices of a user that are factors, the oldest first."""
    of_user = Totp.select().where(Totp.user == user.id, Totp.confirmed_at > 0)
    return list(of_user.order_by(Totp.confirmed_at, Totp.id))


def count_by_key() -> Mapping[str, int]:
    """Return how many devices that are factors have each `key_id`."""
    number = peewee.fn.COUNT(Totp.id)
    rows: Any = Totp.select(Totp.key_id, number).where(Totp.confirmed_at > 0).group_by(Totp.key_id)
    return dict(rows.tuples())


def is_used() -> bool:
    """Return whether any user has a device."""
    return bool(Totp.select().where(Totp.confirmed_at > 0).exists())


def pending_device(user: User, session_id: str) -> Totp | None:
    """Return the device whose set-up a session of the user began, and has not confirmed.

    It has the user as given, not as stored now.

    A set-up that another session began is not shown: whoever began it knows its key.
    """
    device: Totp | None = Totp.get_or_none(
        Totp.id == _set_up_id(session_id), Totp.user == user.id, Totp.confirmed_at == 0
    )
    if device is not None:
        device.user = user
    return device


def begin(user: User, name: str, now: float, *, session_id: str | None = None) -> Totp:
    """Begin the set-up of a device, instead of the one that the session has not confirmed.

    Args:
        session_id: The session that can go on with it; None: only the caller can.

    Raises:
        peewee.IntegrityError: The user has been deleted.
    """
    device_id = _new_id() if session_id is None else _set_up_id(session_id)
    is_old = (Totp.id == device_id) | (Totp.created_at <= int(now) - HOUR)
    with database.atomic():
        lock_user(user.id)  # a form that is sent twice inserts the same id
        Totp.delete().where(Totp.user == user.id, Totp.confirmed_at == 0, is_old).execute()
        return Totp.create(
            id=device_id,
            user=user.id,
            name=name,
            salt=secrets.token_hex(32),
            created_at=int(now),
        )


def confirm(device: Totp, code: str, keys: Sequence[str], now: float) -> bool:
    """Make a device a factor if it made the code; return whether it is one now.

    Args:
        keys: The `factor_keys`. Any of them: another process, with another FACTOR_KEY, can have
            begun the set-up.
    """
    used = _use_of(device, code, keys, now)
    if used is None:
        return False
    device_id = _new_id()
    confirmed = Totp.update(
        id=device_id, confirmed_at=int(now), counter=used.step, key_id=used.key_id
    ).where(Totp.id == device.id, Totp.salt == device.salt, Totp.confirmed_at == 0)
    with database.atomic():
        is_ours = bool(confirmed.execute())
        if is_ours:
            device.id = device_id
            details = {"factor": device.name}
            events.emit("factor_added", user_id=device.user_id, reason="otp", details=details)
    return is_ours


def accept(user: User, code: str, keys: Sequence[str], now: float) -> bool:
    """Return whether a device of the user made the code, which works once, over all processes.

    The codes of this step and of the one before are accepted (RFC 6238 section 5.2), and that of
    the next one if a host whose clock is ahead accepts it already.

    Args:
        keys: The `factor_keys`.
    """
    for device in devices(user):
        used = _use_of(device, code, keys, now)
        if used is not None and _record(device, used):
            return True
    return False


def remove(user: User, device_id: str | None = None) -> int:
    """Remove a device of the user, or all; return how many. See `factors.remove`."""
    delete = Totp.delete().where(Totp.user == user.id, Totp.confirmed_at > 0)
    if device_id is not None:
        delete = delete.where(Totp.id == device_id)
    with database.atomic():
        names = [each.name for each in devices(user) if device_id in (None, each.id)]
        removed: int = delete.execute()
        if removed:
            details = {"factor": ", ".join(names)}
            events.emit("factor_removed", user_id=user.id, reason="otp", details=details)
    return removed


def _new_id() -> str:
    return secrets.token_hex(8)


def _set_up_id(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()[:32]


def _use_of(device: Totp, code: str, keys: Sequence[str], now: float) -> _Use | None:
    """Return what made a code: a key of the device, and a step; or None. See `accept`."""
    digits = plain(code)
    if not _CODE.fullmatch(digits):
        return None
    latest, this = int(now + HOST_SKEW) // STEP, int(now) // STEP
    steps = range(latest, this - 2, -1)
    ids = [(key_id(each), derive_key(each, device.salt)) for each in keys]
    matching = [
        _Use(step, name)
        for name, key in ids
        if device.key_id in ("", name)  # a guess is compared with one key, if it is known
        for step in steps
        if hmac.compare_digest(code_of_step(key, step), digits)
    ]
    return matching[0] if matching else None


@repeated_after_conflict
def _record(device: Totp, used: _Use) -> bool:
    unused = (Totp.id == device.id) & (Totp.counter < used.step) & (Totp.confirmed_at > 0)
    recorded = Totp.update(counter=used.step, key_id=used.key_id).where(unused)
    with database.atomic():
        return bool(recorded.execute())
