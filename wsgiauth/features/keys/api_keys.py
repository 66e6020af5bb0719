"""API keys: credentials of programs, with some of their owner's permissions.

For a bearer token that begins like a key, `identity` calls `find`. One SELECT finds a key. A string
that cannot be a key needs none. The table has only a digest of each key; a fast digest is enough,
because a key has 256 random bits.

The format is `wsgiauth_<id>_<secret><checksum>`, in digits and ASCII letters. Secret scanners find
keys by the prefix and the length, and rule out other strings by the checksum. A key has no dot, so
no key is taken for a JWT, and no JWT for a key.
"""

from __future__ import annotations

import re
import secrets
import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user, names
from wsgiauth.accounts.callers import CALLER, from_row
from wsgiauth.accounts.groups import limit
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import is_handle
from wsgiauth.accounts.personal_data import rows_of
from wsgiauth.accounts.tables import Key
from wsgiauth.authentication.lifetimes import DAY, HOUR
from wsgiauth.authentication.one_time import digest
from wsgiauth.events import kinds
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.messages import _, list_of, ngettext
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.statements import (
    ModelStatement,
    OrderedSelect,
    Statement,
    given,
    insert_row,
    is_given,
)
from wsgiauth.storage.upkeep import OptionalWrites, purge_some

MAX_KEYS = 20  # of one user
MAX_PERMISSIONS = 100  # of one key
MAX_DAYS = 3650
DEFAULT_DAYS = 90

KEY_CREATED = kinds.Change("key_created", _("API key created"), icon="key")

PREFIX = "wsgiauth_"
_ALPHABET = digits + ascii_uppercase + ascii_lowercase
_ID_LENGTH = 12
_SECRET_LENGTH = 43  # 62**43 > 2**256
_CHECKSUM_LENGTH = 6  # 62**6 > 2**32
_KEY = re.compile(
    f"{PREFIX}([0-9A-Za-z]{{{_ID_LENGTH}}})_[0-9A-Za-z]{{{_SECRET_LENGTH}}}"
    f"([0-9A-Za-z]{{{_CHECKSUM_LENGTH}}})"
)

_CACHE_SIZE = 4096  # keys, and lists of permissions
_LAST_USE_PRECISION = HOUR

_writes = OptionalWrites("the last use of API keys is not written for now")


class TooManyKeysError(RequestError):
    """A user has the maximum number of API keys."""

    def __init__(self, limit: int) -> None:
        detail = ngettext(
            "A user can have %(num)s API key. Revoke it, then create the new one.",
            "A user can have %(num)s API keys. Revoke one, then create the new one.",
            limit,
        )
        super().__init__(HTTPStatus.CONFLICT, "too_many_keys", detail)


class _NotAKeyError(Exception):
    """Raised rather than returned, so that the cache does not store it."""


class MadeKey(NamedTuple):
    """A new key."""

    row: Key
    text: str  # the key itself, which is not stored

    def __repr__(self) -> str:
        return f"<MadeKey {self.row.id}>"


class ListedKey(NamedTuple):
    """A key in the list of its owner; times are in UTC."""

    id: str  # its handle: names it in lists and forms, and is no credential
    name: str
    permissions: tuple[str, ...]  # valid while the owner has them, too
    created_at: datetime
    expires_at: datetime
    # The beginning of the hour, or the creation if that is later; None for a key without any use.
    last_used_at: datetime | None

    @classmethod
    def of(cls, row: Key) -> ListedKey:
        """Return the entry of a key in the list."""
        used = row.last_used_at
        return cls(
            row.id,
            row.name,
            tuple(row.permissions.split()),
            from_timestamp(row.created_at),
            from_timestamp(row.expires_at),
            None if used is None else from_timestamp(max(used - used % HOUR, row.created_at)),
        )

    def document(self) -> dict[str, object]:
        """Return the key, ready for JSON."""
        return json_fields(self._asdict())


def make_key() -> tuple[str, str]:
    """Return the id of a new random key, and the key itself."""
    key_id, secret = _random(_ID_LENGTH), _random(_SECRET_LENGTH)
    unchecked = f"{PREFIX}{key_id}_{secret}"
    return key_id, unchecked + _checksum(unchecked)


def id_of(text: str) -> str | None:
    """Return the id in a key, or None for any other string, such as a mistyped key."""
    match = _KEY.fullmatch(text)
    if match is None or match[2] != _checksum(text[:-_CHECKSUM_LENGTH]):
        return None
    return match[1]


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _place in range(length))


def _checksum(unchecked: str) -> str:
    """Return the CRC-32 of an ASCII string as six digits of base 62."""
    rest, checksum = zlib.crc32(unchecked.encode()), ""
    for _place in range(_CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(_ALPHABET))
        checksum = _ALPHABET[digit] + checksum
    return checksum


_FIND = OrderedSelect(
    lambda: (
        User.select(*CALLER, User.id, Key.digest, Key.permissions, Key.last_used_at)
        .join(Key, on=(Key.user == User.id))
        .where(Key.id == "", Key.expires_at > 0, User.is_active)
    )
)


def find(text: str, now: int) -> tuple[User, str] | None:
    """Return the owner of a valid key, limited to its permissions, and the id of the key."""
    try:
        key_id, presented = _read(text)
    except _NotAKeyError:
        return None
    row = _FIND.fetchone(key_id, now)
    if row is None:
        return None
    user_id, stored, permissions, last_used_at = row[len(CALLER) :]
    if not secrets.compare_digest(stored, presented):
        return None
    if last_used_at is None or last_used_at <= now - _LAST_USE_PRECISION:
        _write_use(key_id, now)
    user = from_row(user_id, row)
    limit(user, _permissions_in(permissions))
    return user, key_id


@lru_cache(maxsize=_CACHE_SIZE)
def _read(text: str) -> tuple[str, str]:
    """Return the id in a key, and the digest of the key."""
    key_id = id_of(text)
    if key_id is None:
        raise _NotAKeyError
    return key_id, digest(text)


@lru_cache(maxsize=_CACHE_SIZE)
def _permissions_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


def create(
    user: User, name: str, permissions: Iterable[str], *, days: int = DEFAULT_DAYS, now: float
) -> MadeKey | None:
    """Make a key, or return None if the user has changed since the credentials were verified.

    Args:
        user: The owner, as read before their credentials were verified.
        permissions: Some of the owner's. A key without permissions only identifies its owner.
    """
    chosen = sorted(set(permissions))
    _check(name, chosen, days)
    key_id, text = make_key()
    with database.atomic():
        # A deactivation waits for the lock, and so revokes this key. So does another new key, which
        # otherwise could be one too many.
        owner = lock_user(user.id)
        if owner is None or not owner.is_active or owner.security_stamp != user.security_stamp:
            return None
        missing = set() if owner.is_superuser else set(chosen) - owner.permissions
        if missing:
            problem = _(
                "A key can only have permissions of its owner, who lacks %(permissions)s.",
                permissions=list_of(sorted(missing)),
            )
            raise ValidationError({"permissions": [problem]})
        if count_keys(owner, now) >= MAX_KEYS:
            raise TooManyKeysError(MAX_KEYS)
        row = Key(
            id=key_id,
            user=owner.id,
            name=name,
            digest=digest(text),
            permissions=" ".join(chosen),
            created_at=int(now),
            expires_at=int(now) + days * DAY,
        )
        insert_row(Key, **row.__data__)
        events.emit(KEY_CREATED, user_id=owner.id, reason=key_id)
    purge_some(Key, now)
    return MadeKey(row, text)


_IS_LIVE = is_given(Key.user) & (Key.expires_at > given(Key.expires_at, "now"))
_LISTED = ModelStatement(
    lambda: Key.select().where(_IS_LIVE).order_by(Key.created_at.desc(), Key.id)
)
_COUNT = Statement(lambda: Key.select(peewee.fn.COUNT(Key.id)).where(_IS_LIVE))
_REVOKE = Statement(lambda: Key.delete().where(is_given(Key.id), is_given(Key.user)))


def list_keys(user: User, now: float) -> list[ListedKey]:
    """Return the keys of a user that have not expired, the newest first."""
    return [ListedKey.of(row) for row in _LISTED.all(user=user.id, now=int(now))]


def count_keys(user: User, now: float) -> int:
    """Return how many keys of a user have not expired."""
    [(number,)] = _COUNT.fetchall(user=user.id, now=int(now))
    return int(number)


def own_keys(user: User, settings: Settings) -> Iterator[object]:
    """Yield the keys for the file of a person's own data, also those that have expired."""
    for row in rows_of(Key.select().where(Key.user == user.id), Key.id):
        yield ListedKey.of(row).document()


def revoke(user: User, key_id: str) -> bool:
    """Revoke a key of the user; return whether the user had a key with this id."""
    if not is_handle(key_id):
        return False
    with database.atomic():
        revoked = _REVOKE.execute(id=key_id, user=user.id)
        if revoked:
            events.emit(kinds.KEY_ENDED, user_id=user.id, reason=key_id)
    return bool(revoked)


def _check(name: str, permissions: list[str], days: int) -> None:
    errors = {}
    name_problem = names.key_name_problem(name)
    if name_problem is not None:
        errors["name"] = [name_problem]
    if len(permissions) > MAX_PERMISSIONS:
        problem = ngettext(
            "A key can have at most %(num)s permission.",
            "A key can have at most %(num)s permissions.",
            MAX_PERMISSIONS,
        )
        errors["permissions"] = [problem]
    elif not all(map(names.is_permission, permissions)):
        errors["permissions"] = [_("A permission has the form <app>.<action>.")]
    if not 1 <= days <= MAX_DAYS:
        errors["days"] = [_("Enter a number of days from 1 to %(days)s.", days=str(MAX_DAYS))]
    if errors:
        raise ValidationError(errors)


def _write_use(key_id: str, now: int) -> None:
    is_due = Key.last_used_at.is_null() | (Key.last_used_at <= now - _LAST_USE_PRECISION)
    update = Key.update(last_used_at=now).where(Key.id == key_id, is_due)
    _writes.execute(update.execute, now)
