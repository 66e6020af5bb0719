"""Passwords: the rules for new ones, hashing and verifying. Only this module imports `bcrypt`.

Sources: NIST SP 800-63B-4 section 3.1.1.2; OWASP ASVS 5.0 section 6.2; OWASP Password Storage and
Authentication Cheat Sheets.
"""

import base64
import hashlib
import logging
import os
import unicodedata
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

import bcrypt

from wsgiauth.accounts import names
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.guessing.known_passwords import is_breached, is_common
from wsgiauth.guessing.patterns import length_without_runs, repeated_unit
from wsgiauth.messages import _, ngettext
from wsgiauth.settings import Settings
from wsgiauth.storage import context
from wsgiauth.storage.models import BCRYPT_HASH

MIN_LENGTH = 8  # characters: ASVS 6.2.1
MAX_BYTES = 72  # bcrypt reads no further
_MOST_TYPED = 3 * MAX_BYTES  # characters; NFC makes 72 bytes of fewer (UAX #15, table 1)

_RETRY_AFTER = 60  # seconds
_LONGEST_OF_RUNS = 11  # characters, each run counted as one; a longer password is strong enough
_MOST_ADDED = 6  # characters; for a longer word, as many as the word has

DEFAULT_ROUNDS = 12
LEAST_ROUNDS = 4  # of bcrypt; enough for a digest, which cannot be guessed as a password can

# The salt and digest of a dummy hash whose password is unknown. A password is compared with it if
# there is no user, so that the response time does not show which accounts exist.
_DUMMY_SALT_AND_DIGEST = "Habn84NOMbJTHnvKyPs8teBdZtUj8DmEjU8y5okYMVrT8f2IEN5Sa"

logger = logging.getLogger("wsgiauth")


def password_problem(password: str, settings: Settings, *, username: str, email: str) -> str | None:
    """Return why `password` cannot be a new password of this user, for people, or None.

    There are no composition rules, and spaces count as characters (ASVS 6.2.5). A common password
    with a few characters before or after it is refused; a longer password that contains a common
    one is accepted.

    Takes less than a hundredth of the time of one bcrypt at cost 12, for any password; with
    BREACHED_PASSWORDS, about thirty small reads in addition.

    Raises:
        RetryLaterError: The file of breached passwords cannot be read (503).
    """
    problem = representation_problem(password)
    if problem is not None:
        return problem
    password = normal_form(password)
    if len(password) < settings.PASSWORD_MIN_LENGTH:
        return ngettext(
            "A password must have at least %(num)s character.",
            "A password must have at least %(num)s characters.",
            settings.PASSWORD_MIN_LENGTH,
        )
    folded = names.key(password)
    unit = repeated_unit(folded)
    cores = {*_cores(folded), *_cores(unit)}
    if not cores.isdisjoint(_keys_of_user(username, email)):
        if not settings.USERNAMES:
            return _("The password is too similar to the email address.")
        return _("The password is too similar to the username or the email address.")
    if not cores.isdisjoint(_keys_of_site(settings)):
        return _("The password is too similar to a name of this site.")
    if is_common(folded) or is_common(unit):
        return _("This password is one of the most common; choose another.")
    if any(map(is_common, cores)):
        return _("This password is a common one with a few characters added; choose another.")
    if len(unit) < MIN_LENGTH:
        return _("This password repeats a character or a short pattern; choose another.")
    if length_without_runs(unit) <= min(len(unit) // 3, _LONGEST_OF_RUNS):
        return _("This password follows the order of keys, letters or digits; choose another.")
    if settings.BREACHED_PASSWORDS and _is_known_breached(password, settings.BREACHED_PASSWORDS):
        return _("This password is known from a data breach; choose another.")
    return None


def normal_form(password: str) -> str:
    """Return `password` in NFC (RFC 8265 section 4.2.2, NIST SP 800-63B-4 section 3.1.1.2).

    Keyboards and clipboards write the same letters, such as é, in different code points. A password
    that is too long in any form stays as it is: normalizing a hostile string takes quadratic time.
    """
    return password if len(password) > _MOST_TYPED else unicodedata.normalize("NFC", password)


def representation_problem(password: str) -> str | None:
    """Return why bcrypt cannot represent the normal form of `password`, for people, or None."""
    return _problem_of_form(normal_form(password))


def presented_problem(password: str) -> str | None:
    """Return why no account can have `password`, for people, or None."""
    problems = [_problem_of_form(form) for form in _forms(password)]
    return None if None in problems else problems[0]


def _forms(password: str) -> tuple[str, ...]:
    """Return the forms of `password` that can have been hashed: in NFC, and as typed.

    An earlier version hashed passwords as they were typed, and other tools still do.
    """
    form = normal_form(password)
    return (form,) if form == password else (form, password)


def _problem_of_form(form: str) -> str | None:
    try:
        encoded = form.encode()
    except UnicodeEncodeError:
        return _("A password cannot contain unpaired surrogates.")
    if len(encoded) > MAX_BYTES:
        return ngettext(
            "A password must have at most %(num)s byte in UTF-8.",
            "A password must have at most %(num)s bytes in UTF-8.",
            MAX_BYTES,
        )
    if b"\0" in encoded:
        return _("A password cannot contain NUL.")
    return None


def hash_password(password: str, *, rounds: int | None = None) -> str:
    """Return the bcrypt hash of `password`, for `User.hashed_password`.

    Does not apply the rules for new passwords, such as the minimum length.

    Args:
        password: As typed; hashed as UTF-8 in NFC.
        rounds: bcrypt's cost, 4 to 31: the hash takes 2**rounds steps. None: BCRYPT_ROUNDS of the
            site that serves the request; outside a request, of the process environment.

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
    return bcrypt.hashpw(normal_form(password).encode(), bcrypt.gensalt(rounds)).decode()


def _rounds_of_site() -> int:
    environ = context.current_request()[1]
    site: Any = None if environ is None else environ.get("wsgiauth.site")
    settings: Settings = Settings.from_environ() if site is None else site.settings
    return settings.BCRYPT_ROUNDS


def verify_password(
    password: str, hashed_password: str | None, *, rounds: int = DEFAULT_ROUNDS
) -> bool:
    """Return whether `password` matches the hash, in NFC or as typed; see `matching_form`."""
    return matching_form(password, hashed_password, rounds=rounds) is not None


def matching_form(
    password: str, hashed_password: str | None, *, rounds: int = DEFAULT_ROUNDS
) -> str | None:
    """Return the form of `password` that matches the hash, in NFC or as typed; None if none does.

    Always computes exactly one bcrypt; two for a password that was not typed in NFC. So an empty
    password, a password that bcrypt cannot represent, a corrupt hash and a missing hash all take as
    long as a wrong password.

    Not defended: comparing with a hash whose cost is not `rounds` takes a different time. The
    user's next successful login replaces the hash.

    Args:
        password: As presented.
        hashed_password: The user's hash; empty for a user without a password, and None if there is
            no such user.
        rounds: The cost of the bcrypt if the comparison cannot succeed, 4 to 31.

    Raises:
        ValueError: `rounds` is out of range.
    """
    can_match = password != "" and has_hash(hashed_password)
    stored = _stored_or_dummy(hashed_password, rounds)
    # Compare every form, also after a match: a quicker failure would reveal the correct password of
    # an inactive user.
    matching = [form for form in _forms(password) if bcrypt.checkpw(_presented(form), stored)]
    return next((form for form in matching if can_match and not _problem_of_form(form)), None)


def matching_digest(digests: Iterable[bytes], hashed_password: str | None) -> bytes | None:
    """Return the digest of which `hash_digest` made this hash; None if it is of none of them.

    Computes two bcrypts for each digest, also without a hash.
    """
    stored = _stored_or_dummy(hashed_password, LEAST_ROUNDS)
    starts = (0, 1)  # earlier versions hashed the same without its first byte
    matching = [
        digest
        for digest in digests
        for start in starts
        if bcrypt.checkpw(_condensed(digest)[start:], stored)
    ]
    return next(iter(matching), None) if has_hash(hashed_password) else None


def hash_digest(digest: bytes) -> str:
    """Return the bcrypt hash of a password's digest, for `User.hashed_password`."""
    return bcrypt.hashpw(_condensed(digest), bcrypt.gensalt(LEAST_ROUNDS)).decode()


def hash_codes(codes: Iterable[str], rounds: int) -> list[str]:
    """Return the bcrypt hashes of random codes. They share one salt; see `hash_code`."""
    salt = bcrypt.gensalt(rounds)
    return [bcrypt.hashpw(code.encode(), salt).decode() for code in codes]


def hash_code(code: str, hashed: str | None, rounds: int) -> str:
    """Return the bcrypt hash of a code with the cost and salt of another hash.

    Without another hash, takes as long as with one of the cost `rounds`.
    """
    return bcrypt.hashpw(code.encode(), _stored_or_dummy(hashed, rounds)).decode()


def bcrypt_digest(password: bytes, rounds: int, salt: bytes) -> bytes:
    """Return the digest of the bcrypt hash that other software makes of these bytes.

    Args:
        password: Without NUL; bcrypt reads at most 72 bytes.
        rounds: The cost, 4 to 31.
        salt: As a hash contains it: 22 characters.
    """
    settings = b"$2b$%02d$%b" % (rounds, salt)
    return bcrypt.hashpw(password.replace(b"\0", b"")[:MAX_BYTES], settings)[len(settings) :]


def has_hash(hashed_password: str | None) -> bool:
    """Return whether a password can match: neither without a user nor with a corrupt hash."""
    return hashed_password is not None and bool(BCRYPT_HASH.fullmatch(hashed_password))


def rounds_of(hashed_password: str) -> int:
    """Return the cost of a bcrypt hash."""
    return int(hashed_password[4:6])


def _stored_or_dummy(hashed_password: str | None, rounds: int) -> bytes:
    if hashed_password is None or not has_hash(hashed_password):
        return f"$2b${rounds:02d}${_DUMMY_SALT_AND_DIGEST}".encode()
    return hashed_password.encode()


def _condensed(digest: bytes) -> bytes:
    """Return a digest without NUL, and short enough for bcrypt.

    Its first byte is in no UTF-8 (RFC 3629), so that the digest is no password, even if the row of
    `FormerPassword` is lost.
    """
    return b"\xff" + base64.b64encode(hashlib.sha256(digest).digest())


def _presented(form: str) -> bytes:
    """Return bytes that bcrypt accepts, also for a password that it cannot represent."""
    return form.encode(errors="replace").replace(b"\0", b"")[:MAX_BYTES]


def needs_rehash(hashed_password: str, *, rounds: int) -> bool:
    """Return whether the cost of the hash differs from `rounds`.

    A hash of a higher cost is replaced as well: a comparison takes longer than for an unknown user,
    which shows an attacker that the account exists.
    """
    return rounds_of(hashed_password) != rounds


def _keys_of_user(username: str, email: str) -> set[str]:
    """Return the folded names of a user, and the part of the email address before the @."""
    # No name is longer, and normalizing a hostile string takes quadratic time.
    username, email = (name[: names.EMAIL_MAX_LENGTH] for name in (username, email))
    return {names.key(name) for name in (username, email, email.partition("@")[0])}


def _keys_of_site(settings: Settings) -> set[str]:
    """Return the folded words of the site (ASVS 6.1.2), also without spaces and punctuation."""
    keys = {names.key(word) for word in (*settings.PASSWORD_WORDS, settings.SITE_NAME or "")}
    return keys | {"".join(filter(str.isalnum, key)) for key in keys}


def _is_known_breached(password: str, file: str | os.PathLike[str]) -> bool:
    try:
        return is_breached(password, file)
    except OSError as error:
        # An unchecked password could stay for years; a refusal lasts for some minutes.
        logger.error("BREACHED_PASSWORDS cannot be read: %s", error.strerror)
        detail = _("New passwords cannot be checked at the moment. Try again in a minute.")
        status = HTTPStatus.SERVICE_UNAVAILABLE
        raise RetryLaterError(status, "unavailable", detail, seconds=_RETRY_AFTER) from None


def _cores(folded: str) -> Iterator[str]:
    """Yield `folded`, also without some or all of the non-letters at its ends."""
    length = len(folded)
    before = _leading_non_letters(folded)
    after = _leading_non_letters(folded[::-1])
    for start in range(before + 1):
        for end in range(length, max(length - after, start + 1) - 1, -1):
            if length - (end - start) > max(_MOST_ADDED, end - start):
                break
            yield folded[start:end]


def _leading_non_letters(text: str) -> int:
    return next((index for index, each in enumerate(text) if each.isalpha()), len(text))
