"""The settings of passwords, and who can register."""

import os
from dataclasses import dataclass

from wsgiauth.guessing.breached_passwords import file_problem
from wsgiauth.settings import checks
from wsgiauth.settings.kinds import path, switch, whole_number, words
from wsgiauth.settings.risks import cheap_hashes


@dataclass(frozen=True, kw_only=True)
class PasswordSettings:
    """The part of `Settings` for passwords, and who can register."""

    BCRYPT_ROUNDS: int = whole_number(
        12, 4, 31, "bcrypt's cost; each step doubles the time of a hash", risk=cheap_hashes
    )
    PASSWORD_MIN_LENGTH: int = whole_number(
        8, 8, 72, "the minimum length of a new password, in characters"
    )
    PASSWORD_WORDS: tuple[str, ...] = words(
        "words of the site, such as its products, which cannot be passwords",
        expected=f"a list of words of at most {checks.MAX_WORD_LENGTH} characters",
        is_valid=checks.is_word,
    )
    BREACHED_PASSWORDS: str | os.PathLike[str] | None = path(
        "known breached passwords, which are refused as new passwords",
        expected="a file of SHA-1 hashes, sorted, with one HASH:COUNT on each line",
        problem=file_problem,
    )
    REGISTRATION: bool = switch(True, "whether anyone can create an account at /auth/register")
    VERIFICATION: bool = switch(
        False, "whether /auth/register sends a link first, so that every address is proven"
    )
