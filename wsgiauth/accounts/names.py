"""Usernames, e-mail addresses and permissions: what they may look like, and when two are the same.

The lowest layer of the account rules: models refuse to save what these functions refuse, so the
rules hold for HTTP, the command line and code alike.
"""

import re
import unicodedata
from collections.abc import Mapping

USERNAME_MAX_LENGTH = 150  # characters
EMAIL_MAX_LENGTH = 254  # characters: RFC 5321 section 4.5.3.1.3, less the angle brackets
PERMISSION_MAX_LENGTH = 100  # characters

LEADING_DASH = "A username cannot begin with -."  # a command line takes it for an option

_PERMISSION = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# No more than one address, and nothing that a mail header or a domain name would take for its own.
_EMAIL = re.compile(
    r"""[^@,;:<>()\[\]"\\]+@[^@,;:<>()\[\]"\\.\u3002]+(\.[^@,;:<>()\[\]"\\.\u3002]+)*"""
)

# Invisible or unstable: controls, format characters, surrogates, private use, unassigned code
# points (whose normal form a later Unicode may still change) and every kind of space.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zs", "Zl", "Zp"})

# Characters that look like nothing (Unicode's Default_Ignorable_Code_Point, and the blank Braille
# pattern) are in none of them.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)


def key(name: str) -> str:
    """Return the form in which names are compared.

    Two names with the same key are the same name: a compatibility caseless match, as definition
    D146 of the Unicode Standard, section 3.13, specifies it. Look-alike letters of different
    scripts stay different.
    """
    # Decompose first: casefold() turns a Greek iota subscript into a letter, which no later step
    # can reorder with the accents beside it.
    folded = unicodedata.normalize("NFD", name).casefold()
    compatible = unicodedata.normalize("NFKD", folded).casefold()
    return unicodedata.normalize("NFKC", compatible)


def username_problem(username: str) -> str | None:
    """Return why `username` is refused, as a sentence for a person, or None."""
    problem = _problem(username, "a username", USERNAME_MAX_LENGTH)
    if problem is None and "@" in key(username):
        return "A username cannot contain @."
    if problem is None and key(username).startswith("-"):
        return LEADING_DASH
    return problem


def email_problem(email: str) -> str | None:
    """Return why `email` is refused, as a sentence for a person, or None.

    Whether the address exists is not the question; only a message sent there can tell.
    """
    problem = _problem(email, "an e-mail address", EMAIL_MAX_LENGTH)
    if problem is None and not (_EMAIL.fullmatch(email) and _EMAIL.fullmatch(key(email))):
        return "Enter an e-mail address such as ada@example.org."
    return problem


def name_errors(fields: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the messages for a `username` and an `email`, by field; those in order have none."""
    problems = {field: _RULES[field](name) for field, name in fields.items()}
    return {field: [problem] for field, problem in problems.items() if problem is not None}


def check_permission(permission: str) -> str:
    """Return `permission` if it is written `<app>.<action>`.

    Raises:
        ValueError: It is anything else. Each part is one or more ASCII letters, digits, `_`, `-`.
    """
    if (
        not isinstance(permission, str)
        or len(permission) > PERMISSION_MAX_LENGTH
        or not _PERMISSION.fullmatch(permission)
    ):
        raise ValueError(
            f'a permission is written "<app>.<action>", as in "reports.publish"; not {permission!r}'
        )
    return permission


def _problem(name: str, kind: str, max_length: int) -> str | None:
    if not (isinstance(name, str) and name):
        return f"Enter {kind}."
    # Before anything is computed: normal forms of hostile texts take quadratic time.
    if len(name) > max_length:
        return f"{kind.capitalize()} has at most {max_length} characters."
    # A key can be longer than its name (one ligature becomes eighteen letters) and can hold a
    # space where the name has none, so both are measured.
    for form in (name, key(name)):
        if len(form) > max_length:
            return f"{kind.capitalize()} has at most {max_length} characters."
        if _BLANK.search(form) or not _REFUSED_CATEGORIES.isdisjoint(
            map(unicodedata.category, form)
        ):
            return f"{kind.capitalize()} cannot contain spaces or invisible characters."
    return None


_RULES = {"username": username_problem, "email": email_problem}
