"""Fields that the application adds to the creation of an account, and its function for the values.

`AuthMiddleware` takes them as `registration` and `on_registered`. wsgiauth checks the values,
passes them on once, and stores none.
"""

import inspect
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.events.actors import application_code
from wsgiauth.exceptions import ConfigurationError, TakenError, ValidationError
from wsgiauth.messages import _, ngettext, of_application
from wsgiauth.storage import database

Check = Callable[[str], str | None]
OnRegistered = Callable[[User, Mapping[str, str]], object]

MAX_FIELDS = 10
MAX_CHARACTERS = 800  # of all values; each takes at most 12 bytes of a request's 16 KiB
NAME_MAX_LENGTH = 50  # characters
LABEL_MAX_LENGTH = 200  # characters

# Used by forms that create accounts, by their pages and scripts, and by the columns of an import.
RESERVED = frozenset(
    {
        *("username", "email", "password", "account", "next", "once", "remember", "token"),
        *("cancel", "connect"),
        *("content", "elements", "message"),
        *("hashed_password", "is_active", "is_staff", "is_superuser"),
        *("created_at", "email_verified_at", "email_verified_by"),
        *("permissions", "identities"),
    }
)

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TOKENS = re.compile(r"[a-z0-9-]+( [a-z0-9-]+)*")

# Controls (NUL is in no string of PostgreSQL), surrogates, and what ends a line.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Unicode's explicit directional formatting, which can make a value look like another.
_REORDERING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


@dataclass(eq=False, repr=False)
class Field:
    """A field that the application adds to the creation of an account.

    Its values are strings without white space around them; a missing value is empty.

    Args:
        name: The name in forms, in JSON and in a file to import: lower-case letters, digits, `_`.
        label: The name on the page and in the OpenAPI document.
        required: Whether a value must be given.
        max_length: In characters; the total of all fields is limited, too.
        autocomplete: Tokens of the HTML standard, by which a browser fills in the field: "tel",
            "organization", or "off" (WCAG 2.2, success criterion 1.3.5).
        check: Called with each value that is not empty. Returns why the value is refused, for
            people, or None.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    name: str
    label: str
    _: KW_ONLY
    required: bool = False
    max_length: int = 100
    autocomplete: str = ""
    check: Check | None = None

    def __post_init__(self) -> None:
        name = self.name
        if not (_NAME.fullmatch(name) and len(name) <= NAME_MAX_LENGTH):
            raise ConfigurationError(
                "The name of a Field must begin with a lower-case letter, and contain only"
                f" lower-case letters, digits and _, at most {NAME_MAX_LENGTH} characters; it is"
                f" {name!r}."
            )
        if name in RESERVED:
            raise ConfigurationError(f"A Field cannot have the name {name}, which wsgiauth uses.")
        if _is_blank(self.label) or len(self.label) > LABEL_MAX_LENGTH:
            raise _wrong(name, f"label must be a string of 1 to {LABEL_MAX_LENGTH} characters")
        if _is_refused(self.label):
            raise _wrong(name, "label must be one line")
        if not 1 <= self.max_length <= MAX_CHARACTERS:
            raise _wrong(name, f"max_length must be a number from 1 to {MAX_CHARACTERS}")
        if not (self.autocomplete == "" or _TOKENS.fullmatch(self.autocomplete)):
            raise _wrong(name, 'autocomplete must be tokens of the HTML standard, such as "tel"')
        if self.check is not None:
            _require_function(self.check, f"the check of the Field {name}")
        self.label = of_application(self.label)

    def __repr__(self) -> str:
        return f"<Field {self.name}>"

    def problem(self, value: str) -> str | None:
        """Return why a value is refused, for people, or None; ApplicationError: `check` failed."""
        if not value:
            return _("This field is required.") if self.required else None
        if len(value) > self.max_length:
            return ngettext(
                "This field must have at most %(num)s character.",
                "This field must have at most %(num)s characters.",
                self.max_length,
            )
        if _is_refused(value):
            return _("This field must be one line, without control characters.")
        if self.check is None:
            return None
        with application_code(f"the check of the field {self.name}"):
            found = self.check(value)
            if not (found is None or (isinstance(found, str) and found)):
                raise TypeError(f"it must return a message or None, not {found!r}")
        return None if found is None else of_application(found)


@dataclass(frozen=True)
class Answers:
    """The values of a new user for the fields of the application.

    Attributes:
        values: By field; an empty string for a missing value.
        errors: A message for each field that is refused.
        are_telling: Whether the errors can reveal a secret of the application, such as taken
            values, so that requests must be limited.
    """

    values: dict[str, str]
    errors: dict[str, list[str]]
    are_telling: bool
    on_registered: OnRegistered | None

    @property
    def are_passed_on(self) -> bool:
        """Whether the application has a function for them."""
        return self.on_registered is not None

    def pass_on(self, user: User) -> None:
        """Call `on_registered`, in the transaction that creates `user`.

        Raises:
            ValidationError: It refused a value.
            ApplicationError: It failed, or ended the transaction.
        """
        if self.on_registered is None:
            return
        try:
            # The inner `atomic` is a savepoint. It fails if the function has ended the transaction,
            # as any CREATE TABLE does on MariaDB, or has hidden an error after which PostgreSQL
            # turns a commit into a rollback.
            with application_code("on_registered", passes=(ValidationError,)), database.atomic():
                self.on_registered(user, dict(self.values))
        except ValidationError as refusal:
            kind = TakenError if isinstance(refusal, TakenError) else ValidationError
            raise kind(_as_messages(refusal.errors)) from refusal


class Registration:
    """The fields of a site, in their order on the page, and the function for their values."""

    def __init__(
        self, fields: Iterable[Field] = (), on_registered: OnRegistered | None = None
    ) -> None:
        self.fields: tuple[Field, ...] = tuple(fields)
        self.names: tuple[str, ...] = tuple(each.name for each in self.fields)
        for name in self.names:
            if self.names.count(name) > 1:
                raise ConfigurationError(f"registration has two fields with the name {name}.")
        total = sum(each.max_length for each in self.fields)
        if len(self.fields) > MAX_FIELDS or total > MAX_CHARACTERS:
            raise ConfigurationError(
                f"registration can have at most {MAX_FIELDS} fields, and the sum of their"
                f" max_length can be at most {MAX_CHARACTERS}; it has {len(self.fields)} fields,"
                f" with a sum of {total}."
            )
        if on_registered is not None:
            _require_function(on_registered, "on_registered")
        self.on_registered: OnRegistered | None = on_registered

    def read(self, sent: Mapping[str, str]) -> Answers:
        """Return the answers in the fields of a request, or raise ApplicationError."""
        values = {name: _cleaned(sent.get(name, "")) for name in self.names}
        problems = {each.name: each.problem(values[each.name]) for each in self.fields}
        errors = {name: [problem] for name, problem in problems.items() if problem is not None}
        return Answers(
            values,
            errors,
            are_telling=any(each.check is not None for each in self.fields),
            on_registered=self.on_registered,
        )


NOTHING = Registration().read({})


def _cleaned(value: str) -> str:
    """Return a value without white space around it; an empty string if all of it is invisible."""
    return "" if _is_blank(value) and not _is_refused(value) else value.strip()


def _is_blank(text: str) -> bool:
    return all(map(names.is_invisible, text))


def _as_messages(errors: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {
        str(name): [of_application(each) for each in ([found] if isinstance(found, str) else found)]
        for name, found in errors.items()
    }


def _is_refused(text: str) -> bool:
    return any(
        unicodedata.category(each) in _REFUSED_CATEGORIES
        or unicodedata.bidirectional(each) in _REORDERING
        for each in text
    )


def _require_function(function: object, name: str) -> None:
    if not callable(function):
        raise ConfigurationError(f"{name} must be a function.")
    if inspect.iscoroutinefunction(function):
        raise ConfigurationError(f"{name} must not be asynchronous: nothing would await it.")


def _wrong(name: str, rule: str) -> ConfigurationError:
    return ConfigurationError(f"The Field {name} is wrong: {rule}.")
