"""Recovery codes: ten one-time secrets that replace a lost device.

Unlike the secrets of links, they outlive a new password: a reset must not remove a second factor.

They are short enough to copy by hand. Below 112 bits, they are stored like passwords (ASVS 6.5.2):
as bcrypt hashes. The hashes of a set share one salt, so that one bcrypt finds a code among them.
"""

import re
import secrets

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import has_hash, hash_code, hash_codes
from wsgiauth.accounts.tables import RECOVERY, OneTimeSecret, end_trust
from wsgiauth.authentication.one_time import digest
from wsgiauth.authentication.typed_codes import letters_in
from wsgiauth.exceptions import UnauthenticatedError
from wsgiauth.features.factors.event_kinds import FACTOR_ADDED, RECOVERY_CODE_USED
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.statements import Statement, is_given

NUMBER = 10
GROUP = 4  # characters between hyphens
LENGTH = 12  # characters of 5 bits each

# bcrypt's cost. A strong GPU (RTX 4090) computes some 23,000 hashes a second at cost 8, each of
# which tests a guess for the ten codes of a set. So it finds the first of ten codes of 60 bits in
# about 140,000 years. A higher cost would only delay the owner, whose set takes ten hashes.
ROUNDS = 8

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's Base32, without I, L, O and U
_LOOK_ALIKES = str.maketrans("OIL", "011")
_CODE = re.compile(f"[{_ALPHABET}]{{{LENGTH}}}")

# Sets from before have codes of 120 bits in RFC 4648's Base32, stored as plain digests.
_FORMER_LENGTH = 24
_FORMER_LOOK_ALIKES = str.maketrans("018", "OIB")

_NEVER = 2**62  # seconds since the epoch

_IS_CODE = is_given(OneTimeSecret.user) & (OneTimeSecret.purpose == RECOVERY)
_IDS = Statement(lambda: OneTimeSecret.select(OneTimeSecret.id).where(_IS_CODE))
_SET_ID = Statement(lambda: OneTimeSecret.select(OneTimeSecret.data).where(_IS_CODE).limit(1))
_COUNT = Statement(lambda: OneTimeSecret.select(peewee.fn.COUNT(OneTimeSecret.id)).where(_IS_CODE))
_USE = Statement(lambda: OneTimeSecret.delete().where(is_given(OneTimeSecret.id), _IS_CODE))
_REMOVE = Statement(lambda: OneTimeSecret.delete().where(_IS_CODE))


def rounds_of_site(settings: Settings) -> int:
    """Return the cost for a site: `ROUNDS`, or less where passwords cost less, as in tests."""
    return min(ROUNDS, settings.BCRYPT_ROUNDS)


def replace(user: User, *, rounds: int = ROUNDS) -> list[str]:
    """Return a new set of codes, which replaces the old set; concurrent calls leave one set.

    Computes a bcrypt for each code.

    Raises:
        UnauthenticatedError: The user has lost the session since `user` was read.
        peewee.IntegrityError: The user has been deleted.
    """
    codes = [_new_code() for _ in range(NUMBER)]
    set_id = secrets.token_hex(8)
    rows = [
        {
            "id": hashed,
            "purpose": RECOVERY,
            "user": user.id,
            "stamp": user.security_stamp,
            "data": set_id,
            "expires_at": _NEVER,
        }
        for hashed in hash_codes(codes, rounds)
    ]
    with database.atomic():
        owner = lock_user(user.id)
        if owner is not None and owner.security_stamp != user.security_stamp:
            raise UnauthenticatedError("invalid_token")
        remove_all(user)
        end_trust(user.id)  # a thief of the former codes may have used one
        OneTimeSecret.insert_many(rows).execute()
        events.emit(FACTOR_ADDED, user_id=user.id, reason="recovery codes")
    return ["-".join(_groups(code)) for code in codes]


def set_id_of(user: User) -> str:
    """Return the random id of the user's set of codes; "" without a code, or for an older set."""
    row = _SET_ID.fetchone(user=user.id)
    return "" if row is None else str(row[0])


def count(user: User) -> int:
    """Return how many codes the user has left."""
    [(number,)] = _COUNT.fetchall(user=user.id)
    return int(number)


def use(user: User, code: str, *, rounds: int = ROUNDS) -> bool:
    """Use a code of the user; return whether it was right. It works once, over all processes.

    Computes one bcrypt, at the cost `rounds` if the user has no codes. It takes no hash slot: at
    cost 8, it takes a sixteenth of the time of a password, and the throttle leaves each user a few.
    A flood of logins must not refuse the second step to a user who has done the first.
    """
    former = letters_in(code, _FORMER_LENGTH)
    row_id = _former_id(former) if former else _find(user, letters_in(code, LENGTH), rounds)
    return row_id is not None and _use_up(user, row_id)


def _find(user: User, typed: str, rounds: int) -> str | None:
    """Return the id of the row of a code; None if the user does not have the code."""
    normalised = typed.translate(_LOOK_ALIKES)
    if not _CODE.fullmatch(normalised):
        return None
    ids = [each for (each,) in _IDS.fetchall(user=user.id)]
    hashed = hash_code(normalised, next(filter(has_hash, ids), None), rounds)
    matching = [each for each in ids if secrets.compare_digest(each, hashed)]
    return next(iter(matching), None)


def _former_id(typed: str) -> str:
    return digest(typed.translate(_FORMER_LOOK_ALIKES))


@repeated_after_conflict
def _use_up(user: User, row_id: str) -> bool:
    with database.atomic():
        is_ours = bool(_USE.execute(id=row_id, user=user.id))
        if is_ours:
            events.emit(RECOVERY_CODE_USED, user_id=user.id)
    return is_ours


def remove_all(user: User) -> None:
    """Remove the codes of a user."""
    with database.atomic():
        _REMOVE.execute(user=user.id)


def _new_code() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(LENGTH))


def _groups(code: str) -> list[str]:
    return [code[start : start + GROUP] for start in range(0, LENGTH, GROUP)]
