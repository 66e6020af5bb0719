"""The rules for new passwords, which HTTP, the command line and `create_user` apply.

Sources: NIST SP 800-63B-4 section 3.1.1.2; OWASP ASVS 5.0 section 6.2.
"""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Self

from wsgiauth.accounts import names
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.guessing.breached_passwords import is_breached
from wsgiauth.guessing.common_passwords import is_common
from wsgiauth.guessing.patterns import length_without_runs, repeated_unit
from wsgiauth.settings import Settings

MIN_LENGTH = 8  # characters: ASVS 6.2.1
MAX_BYTES = 72  # bcrypt reads no further

_RETRY_AFTER = 60  # seconds
_LONGEST_OF_RUNS = 11  # characters, each run counted as one; a longer password is strong enough
_MOST_ADDED = 6  # characters; for a longer word, as many as the word has

logger = logging.getLogger("wsgiauth")


@dataclass(frozen=True, kw_only=True)
class PasswordRules:
    """The rules for new passwords.

    There are no composition rules, and spaces count as characters (ASVS 6.2.5). A common password
    is refused, also with a few characters before or after it. A longer password that merely
    contains a common one is accepted.

    Attributes:
        min_length: The minimum length in characters.
        words: Words such as the site's name, which cannot be passwords (ASVS 6.1.2), also without
            their spaces and punctuation.
        breached: The file that `breached_passwords` reads, or None.
    """

    min_length: int = MIN_LENGTH
    words: tuple[str, ...] = ()
    breached: str | os.PathLike[str] | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Return the rules that the settings define; SITE_NAME is one of the words."""
        site_name = () if settings.SITE_NAME is None else (settings.SITE_NAME,)
        return cls(
            min_length=settings.PASSWORD_MIN_LENGTH,
            words=settings.PASSWORD_WORDS + site_name,
            breached=settings.BREACHED_PASSWORDS,
        )

    def problem(self, password: str, *, username: str = "", email: str = "") -> str | None:
        """Return why `password` cannot be a new password, as a sentence for a person, or None.

        Takes less than a hundredth of the time of one bcrypt at cost 12, for any password; with
        `breached`, about thirty small reads in addition.

        Args:
            password: As typed.
            username: The username of the account.
            email: The e-mail address of the account.

        Raises:
            RetryLaterError: The file of breached passwords cannot be read (503).
        """
        problem = representation_problem(password)
        if problem is not None:
            return problem
        if len(password) < self.min_length:
            return f"A password must have at least {self.min_length} characters."
        return self._guess_problem(password, username, email) or self._breach_problem(password)

    def _guess_problem(self, password: str, username: str, email: str) -> str | None:
        folded = names.key(password)
        unit = repeated_unit(folded)
        cores = {*_cores(folded), *_cores(unit)}
        if not cores.isdisjoint(_keys_of(username, email)):
            return "The password is too similar to the username or the e-mail address."
        if not cores.isdisjoint(self._words):
            return "The password is too similar to a name of this site."
        if is_common(folded) or is_common(unit):
            return "This password is one of the most common; choose another."
        if any(map(is_common, cores)):
            return "This password is a common one with a few characters added; choose another."
        if len(unit) < MIN_LENGTH:
            return "This password repeats a character or a short pattern; choose another."
        if length_without_runs(unit) <= min(len(unit) // 3, _LONGEST_OF_RUNS):
            return "This password follows the order of keys, letters or digits; choose another."
        return None

    def _breach_problem(self, password: str) -> str | None:
        if self.breached is None:
            return None
        try:
            if is_breached(password, self.breached):
                return "This password is known from a data breach; choose another."
        except OSError as error:
            # An unchecked password could stay for years; a refusal lasts for some minutes.
            logger.error("BREACHED_PASSWORDS cannot be read: %s", error.strerror)
            detail = "New passwords cannot be checked at the moment. Try again in a minute."
            status = HTTPStatus.SERVICE_UNAVAILABLE
            raise RetryLaterError(status, "unavailable", detail, seconds=_RETRY_AFTER) from None
        return None

    @cached_property
    def _words(self) -> set[str]:
        keys = {names.key(word) for word in self.words}
        return keys | {"".join(filter(str.isalnum, key)) for key in keys}


def representation_problem(password: str) -> str | None:
    """Return why bcrypt cannot represent `password`, as a sentence for a person, or None."""
    try:
        encoded = password.encode()
    except UnicodeEncodeError:
        return "A password cannot contain unpaired surrogates."
    if len(encoded) > MAX_BYTES:
        return f"A password must have at most {MAX_BYTES} bytes in UTF-8."
    if b"\0" in encoded:
        return "A password cannot contain NUL."
    return None


def _keys_of(username: str, email: str) -> set[str]:
    """Return the folded names of a user, and the part of the e-mail address before the @."""
    # No name is longer, and normalizing a hostile string takes quadratic time.
    username, email = (name[: names.EMAIL_MAX_LENGTH] for name in (username, email))
    return {names.key(name) for name in (username, email, email.partition("@")[0])}


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
