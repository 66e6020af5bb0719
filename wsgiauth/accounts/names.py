"""The rules for names, email addresses and permissions: which are valid, and which are equal.

Models save only valid ones, so the rules apply to HTTP, to the command line and to code.
"""

import re
import secrets
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import peewee

from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.messages import _, ngettext
from wsgiauth.storage import database
from wsgiauth.storage.statements import Statement, given, is_given

USERNAME_MAX_LENGTH = 150  # characters
EMAIL_MAX_LENGTH = 254  # characters: RFC 5321 section 4.5.3.1.3, less the angle brackets
GROUP_MAX_LENGTH = 150  # characters
PERMISSION_MAX_LENGTH = 100  # characters
KEY_NAME_MAX_LENGTH = 100  # characters

TAKEN: Mapping[str, str] = {
    "username": _("This username is taken."),
    "email": _("This email address is taken."),
    "name": _("This group name is taken."),
}

_ACE_PREFIX = "xn--"  # of a label in ASCII: RFC 5890 section 2.3.2.1
_LABEL_MAX_LENGTH = 63  # characters in ASCII: RFC 1035 section 2.3.4

LEADING_DASH = _("A username cannot begin with -.")  # a command line would read it as an option

# A username that wsgiauth makes; people cannot choose one, which could be that of a deleted user.
_MADE = re.compile("u[a-z2-7]{15}")  # the alphabet of Base32 (RFC 4648), in lower case
_MADE_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"

_HANDLE = re.compile("[0-9A-Za-z]{1,64}")  # the id of a key, a second factor and so on
_PERMISSION = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# One address only, without characters that have a meaning in an email header or a domain name.
_LABEL = r"""[^@,;:<>()\[\]"\\.\u3002/?#=%&]+"""  # of the domain, as no URL goes on
_EMAIL = re.compile(rf"""[^@,;:<>()\[\]"\\]+@{_LABEL}(\.{_LABEL})*""")

# Invisible or unstable: controls, format characters, surrogates, private use, unassigned code
# points (whose normal form a later Unicode may still change) and every kind of space.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zs", "Zl", "Zp"})

# Blank characters in other categories: Unicode's Default_Ignorable_Code_Point and the blank Braille
# pattern.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)

# White space, and invisible characters that keyboards and clipboards add: zero-width spaces and
# joiners, marks and embeddings of a direction, and the byte-order mark.
_AROUND = "".join(filter(str.isspace, map(chr, range(0x3001)))) + (
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)


class _Kind(NamedTuple):
    """The limit for one kind of names, and the messages for people about refused names."""

    max_length: int  # characters
    missing: str
    too_long: str
    refused: str  # for a name with a refused character
    misspaced: str = ""  # if the names can have single spaces


_USERNAME = _Kind(
    USERNAME_MAX_LENGTH,
    _("Enter a username."),
    ngettext(
        "A username must have at most %(num)s character.",
        "A username must have at most %(num)s characters.",
        USERNAME_MAX_LENGTH,
    ),
    _("A username cannot contain spaces or invisible characters."),
)
_EMAIL_ADDRESS = _Kind(
    EMAIL_MAX_LENGTH,
    _("Enter an email address."),
    ngettext(
        "An email address must have at most %(num)s character.",
        "An email address must have at most %(num)s characters.",
        EMAIL_MAX_LENGTH,
    ),
    _("An email address cannot contain spaces or invisible characters."),
)
_GROUP_NAME = _Kind(
    GROUP_MAX_LENGTH,
    _("Enter a group name."),
    ngettext(
        "A group name must have at most %(num)s character.",
        "A group name must have at most %(num)s characters.",
        GROUP_MAX_LENGTH,
    ),
    _("A group name cannot contain invisible characters or unusual spaces."),
    _("A group name cannot begin or end with a space, or have two in a row."),
)
_KEY_NAME = _Kind(
    KEY_NAME_MAX_LENGTH,
    _("Enter a name."),
    ngettext(
        "A name must have at most %(num)s character.",
        "A name must have at most %(num)s characters.",
        KEY_NAME_MAX_LENGTH,
    ),
    _("A name cannot contain invisible characters or unusual spaces."),
    _("A name cannot begin or end with a space, or have two in a row."),
)


def typed(name: str) -> str:
    """Return a name without the spaces and invisible characters that phones add around it.

    Example:
        typed(" Ada ") == "Ada"
    """
    return name.strip(_AROUND)


def key(name: str) -> str:
    """Return the form in which names are compared.

    Names with the same key are equal: the compatibility caseless match of the Unicode Standard,
    section 3.13, definition D146. Look-alike letters of different scripts differ. After an `@`,
    both spellings of an international domain are equal (RFC 5890 section 2.3.2.1) if the Unicode
    spelling is its own key. (`xn--bo-hia.de` is boß.de, whose key is another domain.)
    """
    folded = _fold(name)
    local, at, domain = folded.rpartition("@")
    if not at or _ACE_PREFIX not in domain:
        return folded
    return local + at + ".".join(map(_decode_label, domain.split(".")))


def _fold(name: str) -> str:
    # Decompose first: casefold() turns a Greek iota subscript into a letter, and no later step
    # would put this letter and the accents next to it into canonical order.
    folded = unicodedata.normalize("NFD", name).casefold()
    compatible = unicodedata.normalize("NFKD", folded).casefold()
    return unicodedata.normalize("NFKC", compatible)


def username_problem(username: str) -> str | None:
    """Return why `username` is refused, for people, or None."""
    problem = _problem(username, _USERNAME)
    if problem is None and "@" in key(username):
        return _("A username cannot contain @.")
    if problem is None and key(username).startswith("-"):
        return LEADING_DASH
    return problem


def make_username() -> str:
    """Return a username for a user who has not chosen one: random, so that none comes back."""
    return "u" + "".join(secrets.choice(_MADE_ALPHABET) for _ in range(15))


def is_made(username: str) -> bool:
    """Return whether a username has the form of `make_username`, in any letter case."""
    return _MADE.fullmatch(key(username)) is not None


def new_username_problem(username: str) -> str | None:
    """Return why a user cannot choose `username`, for people, or None."""
    problem = username_problem(username)
    if problem is None and is_made(username):
        return _("This username is reserved. Choose another one.")
    return problem


def email_problem(email: str) -> str | None:
    """Return why `email` is refused, for people, or None; the address need not exist.

    Example:
        problem = email_problem("ada.example.org")
        if problem is not None:
            print(problem)
    """
    problem = _problem(email, _EMAIL_ADDRESS)
    # RFC 2047: email software decodes `=?...?=` in a header, line breaks included.
    if problem is None and not (
        _EMAIL.fullmatch(email) and _EMAIL.fullmatch(key(email)) and "=?" not in key(email)
    ):
        return _("Enter an email address such as ada@example.org.")
    return problem


def group_problem(name: str) -> str | None:
    """Return why `name`, such as "Blog editors", is refused for a group, for people, or None."""
    problem = _problem(name, _GROUP_NAME)
    if problem is None and key(name).startswith("-"):
        return _("A group name cannot begin with -.")
    return problem


def key_name_problem(name: str) -> str | None:
    """Return why `name` is refused for an API key, for people, or None."""
    return _problem(name, _KEY_NAME)


def name_errors(fields: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the messages for an invalid `username`, `email` or `name` of a group, by field."""
    problems = {field: _RULES[field](name) for field, name in fields.items()}
    return {field: [problem] for field, problem in problems.items() if problem is not None}


def is_same_mailbox(one: str, other: str) -> bool:
    """Return whether two email addresses differ at most in the case of ASCII letters.

    Their keys also equal letters that look alike, which can be mailboxes of different people.

    Example:
        is_same_mailbox("Ada@example.org", user.email)
    """
    is_ascii = one.isascii() and other.isascii()
    return one == other or (is_ascii and one.lower() == other.lower())


def email_in_part(email: str) -> str:
    """Return a part of an address, which its owner recognizes: such as `g…@example.net`.

    Example:
        shown = email_in_part(user.email)
    """
    local, _at, domain = email.rpartition("@")
    return f"{local[:1]}…@{domain}"


def refuse_names(
    model: type[peewee.Model],
    written: Mapping[str, str],
    errors: Mapping[str, list[str]],
    *,
    owner_id: int | None = None,
    is_refused: bool = False,
) -> None:
    """Raise ValidationError if there are `errors`, or else TakenError if a name is taken.

    ValidationError reports taken names, too.

    Args:
        model: `User` or `Group`.
        written: The names, by field.
        errors: The result of `name_errors`. A name that breaks a rule is not looked up.
        owner_id: The user or group that is allowed to have the names.
        is_refused: Whether the database has just refused the names, perhaps because of a row that
            the transaction cannot see yet.
    """
    taken = {
        field: [TAKEN[field]]
        for field, name in written.items()
        if field not in errors
        and _other_owner(model, field, is_locked=is_refused).fetchone(
            owner_id=owner_id or 0, key=key(name)
        )
    }
    if errors:
        raise ValidationError({**taken, **errors})
    if taken:
        raise TakenError(taken) from None  # the database's error may contain the row


@lru_cache(maxsize=64)
def _other_owner(model: type[peewee.Model], field: str, *, is_locked: bool) -> Statement:
    """Return the SELECT of the user or group that has a name, except one."""
    number = model._meta.fields["id"]
    has_name = is_given(model._meta.fields[f"{field}_key"], "key")

    def select() -> Any:
        lock: Any = database.shared_lock if is_locked else ""  # a string is a clause of its own
        others = model.select(number).where(number != given(number, "owner_id"), has_name)
        return others.for_update(lock)

    return Statement(select)


def is_permission(permission: str) -> bool:
    """Return whether `permission` has the form `<app>.<action>`; see `check_permission`."""
    return (
        isinstance(permission, str)
        and len(permission) <= PERMISSION_MAX_LENGTH
        and _PERMISSION.fullmatch(permission) is not None
    )


def check_permission(permission: str) -> str:
    """Return `permission` if it has the form `<app>.<action>`.

    Raises:
        ValueError: It has another form. Each part is one or more ASCII letters, digits, `_`, `-`.
    """
    if not is_permission(permission):
        raise ValueError(
            f'a permission must have the form "<app>.<action>", such as "reports.publish", not'
            f" {permission!r}"
        )
    return permission


def _decode_label(label: str) -> str:
    """Return the Unicode form of an `xn--` label if a key can contain it, otherwise the label.

    So no label gets the key of another domain.
    """
    # Decoding takes quadratic time, but no domain name has a longer label.
    if not label.startswith(_ACE_PREFIX) or len(label) > _LABEL_MAX_LENGTH:
        return label
    try:
        encoded = label.removeprefix(_ACE_PREFIX).encode("ascii")
        decoded = encoded.decode("punycode")
        is_reversible = decoded.encode("punycode") == encoded
    except UnicodeError:
        return label
    # Folding would make another domain of it: ß is valid beside ss (RFC 5892 section 2.6).
    if not is_reversible or _fold(decoded) != decoded:
        return label
    # A label that decodes to ASCII, or to another `xn--` label, is not international.
    if decoded.isascii() or decoded.startswith(_ACE_PREFIX):
        return label
    return label if is_invisible(decoded) or not re.fullmatch(_LABEL, decoded) else decoded


def is_invisible(form: str) -> bool:
    """Return whether a string has a space, or an invisible or unstable character."""
    return _BLANK.search(form) is not None or not _REFUSED_CATEGORIES.isdisjoint(
        map(unicodedata.category, form)
    )


def _problem(name: str, kind: _Kind) -> str | None:
    if not (isinstance(name, str) and name):
        return kind.missing
    if kind.misspaced:
        if name.startswith(" ") or name.endswith(" ") or "  " in name:
            return kind.misspaced
        name = name.replace(" ", "_")
    # Check the length first: normalizing a hostile string takes quadratic time.
    if len(name) > kind.max_length:
        return kind.too_long
    # Check the key, too: it can be longer than its name (one ligature becomes eighteen letters),
    # and can contain a space although the name has none.
    for form in (name, key(name)):
        if len(form) > kind.max_length:
            return kind.too_long
        if is_invisible(form):
            return kind.refused
    return None


_RULES = {"username": new_username_problem, "email": email_problem, "name": group_problem}


def is_handle(text: object) -> bool:
    """Return whether `text` has the form of an id in a URL, so that it can be part of a query.

    Example:
        is_handle("5f0c8e1b7a9d2c34")
    """
    return isinstance(text, str) and _HANDLE.fullmatch(text) is not None
