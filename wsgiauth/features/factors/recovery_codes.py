"""Recovery codes: ten one-time secrets that replace a lost device.

Unlike the secrets of links, they outlive a new password: a reset must not remove a second factor.
"""

import base64
import secrets

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, end_trust
from wsgiauth.authentication.one_time import digest
from wsgiauth.authentication.typed_codes import plain
from wsgiauth.exceptions import UnauthenticatedError
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict

NUMBER = 10
GROUP = 4  # characters between hyphens
LENGTH = 24  # characters of 5 bits each

_PURPOSE = "recovery"
_NEVER = 2**62  # seconds since the epoch


def replace(user: User) -> list[str]:
    """Return a new set of codes, which replaces the old set; concurrent calls leave one set.

    Raises:
        UnauthenticatedError: The user has lost the session since `user` was read.
        peewee.IntegrityError: The user has been deleted.
    """
    codes = [_new_code() for _ in range(NUMBER)]
    set_id = secrets.token_hex(8)
    rows = [
        {
            "id": digest(_normalised(code)),
            "purpose": _PURPOSE,
            "user": user.id,
            "stamp": user.security_stamp,
            "data": set_id,
            "expires_at": _NEVER,
        }
        for code in codes
    ]
    with database.atomic():
        owner = lock_user(user.id)
        if owner is not None and owner.security_stamp != user.security_stamp:
            raise UnauthenticatedError("invalid_token")
        remove_all(user)
        end_trust(user.id)  # a thief of the former codes may have used one
        OneTimeSecret.insert_many(rows).execute()
        events.emit("factor_added", user_id=user.id, reason="recovery codes")
    return codes


def set_id_of(user: User) -> str:
    """Return the random id of the user's set of codes; "" without a code, or for an older set."""
    row = OneTimeSecret.select(OneTimeSecret.data).where(*_of(user)).first()
    return "" if row is None else str(row.data)


def count(user: User) -> int:
    """Return how many codes the user has left."""
    number: int = OneTimeSecret.select().where(*_of(user)).count()
    return number


@repeated_after_conflict
def use(user: User, code: str) -> bool:
    """Use a code of the user; return whether it was right. It works once, over all processes."""
    normalised = _normalised(code)
    if len(normalised) != LENGTH:
        return False
    used = OneTimeSecret.delete().where(OneTimeSecret.id == digest(normalised), *_of(user))
    with database.atomic():
        is_ours = bool(used.execute())
        if is_ours:
            events.emit("recovery_code_used", user_id=user.id)
    return is_ours


def remove_all(user: User) -> None:
    """Remove the codes of a user."""
    with database.atomic():
        OneTimeSecret.delete().where(*_of(user)).execute()


def _of(user: User) -> tuple[object, ...]:
    return OneTimeSecret.user == user.id, OneTimeSecret.purpose == _PURPOSE


def _new_code() -> str:
    letters = base64.b32encode(secrets.token_bytes(LENGTH * 5 // 8)).decode()
    return "-".join(letters[start : start + GROUP] for start in range(0, LENGTH, GROUP))


def _normalised(code: str) -> str:
    """Return a code for its digest. Codes have no 0, 1 and 8, which look like letters."""
    return plain(code).upper().translate(str.maketrans("018", "OIB"))
