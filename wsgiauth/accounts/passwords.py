"""Hashing and verifying passwords. The only module that imports `bcrypt`.

Sources: OWASP Password Storage and Authentication Cheat Sheets.
"""

import secrets
import string
from typing import Any

import bcrypt

from wsgiauth.accounts.password_rules import MAX_BYTES, representation_problem
from wsgiauth.settings import Settings
from wsgiauth.storage import context
from wsgiauth.storage.models import BCRYPT_HASH

DEFAULT_ROUNDS = 12

_ALPHABET = "./" + string.ascii_letters + string.digits  # bcrypt's base 64

# The salt and digest of a dummy hash whose password is unknown. A password is compared with it if
# there is no user, so that the response time does not show which accounts exist.
_DUMMY_SALT_AND_DIGEST = "Habn84NOMbJTHnvKyPs8teBdZtUj8DmEjU8y5okYMVrT8f2IEN5Sa"


def hash_password(password: str, *, rounds: int | None = None) -> str:
    """Return the bcrypt hash of `password`, for `User.hashed_password`.

    Refuses only passwords that bcrypt cannot represent. `password_rules` checks the length and
    whether a password is common.

    Args:
        password: As typed; encoded as UTF-8 and otherwise unchanged.
        rounds: bcrypt's cost, 4 to 31: the hash takes 2**rounds steps. Without it, BCRYPT_ROUNDS of
            the site that serves the present request; outside a request, that of the process
            environment.

    Raises:
        ValueError: The password is longer than 72 bytes in UTF-8, where bcrypt stops reading, or
            contains NUL or an unpaired surrogate; or `rounds` is out of range.
        ConfigurationError: The environment has an invalid setting, and is needed.
    """
    problem = representation_problem(password)
    if problem is not None:
        raise ValueError(problem)
    if rounds is None:
        rounds = _rounds_of_site()
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds)).decode()


def _rounds_of_site() -> int:
    environ = context.current_request()[1]
    site: Any = None if environ is None else environ.get("wsgiauth.site")
    settings: Settings = Settings.from_environ() if site is None else site.settings
    return settings.BCRYPT_ROUNDS


def random_hash(*, rounds: int = DEFAULT_ROUNDS) -> str:
    """Return a hash that no known password matches, for an account without a password."""
    salt = bcrypt.gensalt(rounds).decode()
    return salt + "".join(secrets.choice(_ALPHABET) for _ in range(31))


def verify_password(
    password: str, hashed_password: str | None, *, rounds: int = DEFAULT_ROUNDS
) -> bool:
    """Return whether `password` matches the hash; always computes exactly one bcrypt.

    An empty password, a password that bcrypt cannot represent, a corrupt hash and a missing hash
    all take as long as a wrong password.

    Not defended: comparing with a hash whose cost is not `rounds` takes a different time. The
    user's next successful login replaces such a hash.

    Args:
        password: As presented.
        hashed_password: The user's hash, or None if there is no such user.
        rounds: The cost of the bcrypt if the comparison cannot succeed, 4 to 31.

    Raises:
        ValueError: `rounds` is out of range.
    """
    if hashed_password is None or not BCRYPT_HASH.fullmatch(hashed_password):
        hashed_password, can_match = f"$2b${rounds:02d}${_DUMMY_SALT_AND_DIGEST}", False
    else:
        can_match = password != "" and representation_problem(password) is None
    presented = password.encode(errors="replace").replace(b"\0", b"")[:MAX_BYTES]
    return bcrypt.checkpw(presented, hashed_password.encode()) and can_match


def needs_rehash(hashed_password: str, *, rounds: int) -> bool:
    """Return whether the cost of the hash differs from `rounds`.

    A hash of a higher cost is replaced as well. Comparing with it takes longer than for an unknown
    user, which shows an attacker that the account exists, and each guess takes more processor time
    than the operator chose.

    Args:
        hashed_password: A hash that `verify_password` has accepted.
        rounds: The configured cost, 4 to 31.
    """
    return int(hashed_password[4:6]) != rounds
