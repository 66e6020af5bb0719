"""Hashing and verifying passwords. The only module that imports `bcrypt`.

Sources: OWASP Password Storage and Authentication Cheat Sheets.
"""

import bcrypt

from wsgiauth.accounts.password_rules import MAX_BYTES, representation_problem
from wsgiauth.storage.columns import BCRYPT_HASH

DEFAULT_ROUNDS = 12

# The salt and digest of a hash whose password nobody knows. With a cost in front it is what the
# passwords of nobody are compared with.
_NOBODYS_SALT_AND_DIGEST = "Habn84NOMbJTHnvKyPs8teBdZtUj8DmEjU8y5okYMVrT8f2IEN5Sa"


def hash_password(password: str, *, rounds: int = DEFAULT_ROUNDS) -> str:
    """Return the bcrypt hash of `password`, for `User.hashed_password`.

    Only what bcrypt cannot represent is refused here. Whether a password is long or rare enough
    is for `password_rules`.

    Args:
        password: As typed; encoded as UTF-8, in no other way changed.
        rounds: bcrypt's cost, 4 to 31: the hash takes 2**rounds steps. Give your BCRYPT_ROUNDS
            where you have changed it.

    Raises:
        ValueError: The password is longer than 72 bytes in UTF-8, where bcrypt stops reading, or
            contains NUL or an unpaired surrogate; or `rounds` is out of range.
    """
    problem = representation_problem(password)
    if problem is not None:
        raise ValueError(problem)
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds)).decode()


def verify_password(
    password: str, hashed_password: str | None, *, rounds: int = DEFAULT_ROUNDS
) -> bool:
    """Return whether `password` is the one that was hashed, at the price of exactly one bcrypt.

    An empty password, one that bcrypt cannot represent, a corrupt hash and no hash at all cost as
    much as a wrong password does.

    Not defended: a hash of another cost than `rounds` takes another time, until the user's next
    login replaces it.

    Args:
        password: As presented.
        hashed_password: The user's hash; None where there is no such user.
        rounds: The cost of a comparison that cannot succeed, 4 to 31.

    Raises:
        ValueError: `rounds` is out of range.
    """
    if hashed_password is None or not BCRYPT_HASH.fullmatch(hashed_password):
        hashed_password, can_match = f"$2b${rounds:02d}${_NOBODYS_SALT_AND_DIGEST}", False
    else:
        can_match = password != "" and representation_problem(password) is None
    presented = password.encode(errors="replace").replace(b"\0", b"")[:MAX_BYTES]
    return bcrypt.checkpw(presented, hashed_password.encode()) and can_match


def needs_rehash(hashed_password: str, *, rounds: int) -> bool:
    """Return whether the hash has another cost than `rounds`.

    A higher cost is replaced as well: its comparison takes longer than that of an unknown user,
    which tells an attacker that the account exists, and each guess occupies a processor for longer
    than the operator chose.

    Args:
        hashed_password: A hash that `verify_password` has accepted.
        rounds: The configured cost, 4 to 31.
    """
    return int(hashed_password[4:6]) != rounds
