"""The former passwords of a site, and the work for names without an account.

While users have former passwords, a name without an account costs what the login of one of the
accounts costs. A keyed hash of the name chooses the method, which is as likely as an account that
has it. So the cost of a name seldom changes while users log in and their methods disappear.

Not defended: whoever suspects that a username and an email address belong to one account can
compare their times, which are the same for one account, and for two other names only by chance.
"""

import base64
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import peewee

from wsgiauth.accounts import names
from wsgiauth.accounts.former import HASH_START, FormerPasswords, Scheme
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import LEAST_ROUNDS, has_hash, rounds_of
from wsgiauth.accounts.tables import FormerPassword
from wsgiauth.features.former_passwords import argon
from wsgiauth.features.former_passwords.methods import Method, forms
from wsgiauth.settings import Settings
from wsgiauth.signed_values import KeyedDigests, Purpose
from wsgiauth.storage.statements import Statement, is_given

SHARES_LAST = 300  # seconds, in each process
MOST_METHODS = 120  # whose shares are counted; the lengths of all parameters make about 100
_ALL = 64  # characters of parameters
_COMPARED = (_ALL, 5, 4, 3, 0)  # of PBKDF2: 5 are three digits of the iterations

PLAIN = Method("", "")  # bcrypt of the password itself
_NOBODY = 0  # no user has this id
_DUMMY_SALT = b"wsgiauth.no.account.xe"  # in the form of bcrypt, which other schemes accept
_PURPOSE = Purpose("former passwords")

# The hash of a user, and the row of their former password with its own columns.
_SELECT = Statement(
    lambda: (
        User.select(
            User.hashed_password,
            FormerPassword.scheme,
            FormerPassword.parameters,
            FormerPassword.salt,
            FormerPassword.hash_start,
        )
        .join(FormerPassword, peewee.JOIN.LEFT_OUTER, on=(FormerPassword.user == User.id))
        .where(is_given(User.id))
    )
)

logger = logging.getLogger("wsgiauth")


class FormerScheme(Scheme):
    """A method with a salt and the pepper of the site."""

    def __init__(self, method: Method, salt: bytes, pepper: str | None) -> None:
        self.method: Method = method
        self._salt = salt
        self._pepper = pepper

    def digests(self, password: str) -> Mapping[bytes, bool]:
        """Return a digest for each form of a typed password; a random one if none can match."""
        impossible = {secrets.token_bytes(): False}
        missing = missing_for(self.method, self._pepper)
        if missing is not None:
            logger.error("Former passwords cannot be verified without %s.", missing)
            return impossible
        digests = {
            self.method.digest(form, self._salt, self._pepper): is_equivalent
            for form, is_equivalent in forms(password, is_peppered=self.method.is_peppered).items()
        }
        return digests if _can_match(password) else impossible


class SiteFormerPasswords(FormerPasswords):
    """The former passwords of a site. `clock` never goes back."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._counted: Mapping[Method, int] = {}
        self._counted_until = -math.inf

    def find(self, user: User | None, name: str) -> tuple[str | None, Scheme | None]:
        """Return the stored hash of a user, and the scheme if other software hashed."""
        method = self._chosen(name)  # also for an account, which takes no less time
        if user is not None and has_hash(user.hashed_password):
            return self._stored(user)
        if method != PLAIN or self._settings.BCRYPT_ROUNDS == LEAST_ROUNDS:
            _SELECT.fetchone(id=_NOBODY)
        if method != PLAIN:
            return None, FormerScheme(method, _DUMMY_SALT, self._settings.FORMER_PEPPER)
        return None, None

    def has_any(self) -> bool:
        """Return whether a user of the site has a former password."""
        return bool(FormerPassword.select().exists())

    def _stored(self, user: User) -> tuple[str | None, Scheme | None]:
        if rounds_of(user.hashed_password) != LEAST_ROUNDS:  # not the hash of a digest
            return user.hashed_password, None
        # Read both together: a login at the same time replaces both.
        hashed_password, *row, hash_start = _SELECT.fetchone(id=user.id) or (None,) * 5
        if hash_start is None or hash_start != hashed_password[:HASH_START]:
            return hashed_password, None
        scheme, parameters, salt = row
        method = Method(scheme, parameters)
        pepper = self._settings.FORMER_PEPPER
        return hashed_password, FormerScheme(method, base64.b64decode(salt), pepper)

    def _chosen(self, name: str) -> Method:
        """Return the method for a name without an account.

        Of weighted random numbers that depend on the name, the highest wins (rendezvous hashing).
        So when a method gets rarer, only names that had it get another one.
        """
        key = names.key(name[: names.EMAIL_MAX_LENGTH])

        def weighted(share: tuple[Method, int]) -> float:
            method, users = share
            about = f"{method.scheme} {method.parameters} {key}".encode(errors="replace")
            number = int.from_bytes(self._digests.current(about)[:6])
            return users / -math.log((number + 0.5) / 2**48)

        return max(self._shares().items(), key=weighted, default=(PLAIN, 1))[0]

    def _shares(self) -> Mapping[Method, int]:
        """Return how many users have each method; empty if there are no former passwords."""
        # Others do not wait for the thread that counts: with many users, it takes a second.
        if self._clock() >= self._counted_until and self._lock.acquire(blocking=False):
            try:
                self._counted = count_methods()
                self._counted_until = self._clock() + SHARES_LAST
            finally:
                self._lock.release()
        return self._counted

    @cached_property
    def _digests(self) -> KeyedDigests:
        # In a rotation, the first key changes once, the last one three times.
        return KeyedDigests(self._settings, _PURPOSE)


def own_schemes(user: User, settings: Settings) -> Iterator[object]:
    """Yield how other software hashed the password of a user; the salt stays out."""
    for row in FormerPassword.select().where(FormerPassword.user == user.id):
        yield {"scheme": row.scheme, "parameters": row.parameters}


def missing_for(method: Method, pepper: str | None) -> str | None:
    """Return what passwords of a method cannot be verified without, or None."""
    if method.is_peppered and pepper is None:
        return "FORMER_PEPPER"
    if method.scheme.startswith("argon2") and not argon.is_installed():
        return "the package argon2-cffi"
    return None


def count_methods() -> dict[Method, int]:
    """Return how many users have each method, the most usual first, and last `PLAIN`.

    Empty without former passwords, so that most sites count no users.

    passlib's `vary_rounds` gives each user other iterations. Beyond `MOST_METHODS`, methods of
    PBKDF2 whose parameters have the same length and the same beginning count as one of them. If
    even these are too many, methods of each scheme whose parameters have the same length do.
    """
    steps = [*((each, _ALL) for each in _COMPARED), (0, 0)]
    counted = _count_groups(*steps.pop(0))
    while steps and len(counted) > MOST_METHODS:
        counted = _count_groups(*steps.pop(0))
    others = User.select().count() - sum(counted.values()) if counted else 0
    return counted | ({PLAIN: others} if others > 0 else {})


def _count_groups(of_pbkdf2: int, of_others: int) -> dict[Method, int]:
    """Return how many users have a method like each of these, at most one more than allowed.

    Args:
        of_pbkdf2: How many characters of the parameters are compared.
        of_others: The same for other schemes, whose first cost is not all that they cost.
    """
    number = peewee.fn.COUNT(FormerPassword.user)
    parameters = FormerPassword.parameters
    one = peewee.fn.MIN(parameters)
    is_pbkdf2 = FormerPassword.scheme.startswith("pbkdf2")
    compared = peewee.Case(None, [(is_pbkdf2, of_pbkdf2)], of_others)
    beginning = peewee.fn.SUBSTR(parameters, 1, compared)
    rows: Any = FormerPassword.select(FormerPassword.scheme, one, number)
    rows = rows.group_by(FormerPassword.scheme, peewee.fn.LENGTH(parameters), beginning)
    rows = rows.order_by(number.desc()).limit(MOST_METHODS + 1).tuples()
    return {Method(scheme, written): users for scheme, written, users in rows}


def _can_match(password: str) -> bool:
    # An HMAC pads a short key with NUL: PBKDF2 and scrypt would ignore NUL at the end.
    is_possible = password != "" and "\0" not in password
    return is_possible and not any("\ud800" <= each <= "\udfff" for each in password)
