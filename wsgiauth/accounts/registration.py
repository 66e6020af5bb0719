"""Fields that the application and features add to the creation of an account.

`AuthMiddleware` takes those of the application as `registration`, and its function for the values
as `on_registered`. wsgiauth checks these values, passes them on once, and stores none.
"""

import inspect
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

from wsgiauth.accounts.field_kinds import (
    KINDS,
    TICKED,
    KindName,
    is_blank,
    is_refused,
    read_options,
)
from wsgiauth.accounts.models import User
from wsgiauth.events.actors import application_code
from wsgiauth.exceptions import ConfigurationError, TakenError, ValidationError
from wsgiauth.messages import _, ngettext, of_application
from wsgiauth.storage import database

if TYPE_CHECKING:
    from wsgiauth.openapi.answers import Problem

Check = Callable[[str], str | None]
OnRegistered = Callable[[User, Mapping[str, str]], object]

MAX_FIELDS = 10
MAX_CHARACTERS = 800  # of all values; each takes at most 12 bytes of a request's 16 KiB
NAME_MAX_LENGTH = 50  # characters
LABEL_MAX_LENGTH = 200  # characters; also of a hint

# Used by forms that create accounts, by their pages and scripts, and by the columns of an import.
RESERVED = frozenset(
    {
        *("username", "email", "password", "account", "next", "once", "remember", "sent", "token"),
        *("cancel", "connect", "credential", "language"),
        *("closest", "content", "elements", "message", "method", "submit"),
        *("hashed_password", "is_active", "is_staff", "is_superuser"),
        *("created_at", "email_verified_at", "email_verified_by"),
        *("permissions", "identities"),
    }
)

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TOKENS = re.compile(r"[a-z0-9-]+( [a-z0-9-]+)*")


@dataclass(eq=False, repr=False)
class Field:
    """A field that the application adds to the creation of an account.

    Its values are strings without white space around them; a missing value is empty.

    Args:
        name: The name in forms, in JSON and in a file to import: lower-case letters, digits, `_`.
        label: The name on the page and in the OpenAPI document.
        required: Whether a value must be given.
        kind: How the page asks for a value, and which values are valid. The value of a ticked
            "checkbox" is the time at which it was sent, in UTC, such as "2026-11-02T09:05:00Z"; if
            it is required, it must be ticked.
        options: What a "select" offers: values, or pairs of a value and its label.
        hint: A sentence below the field.
        max_length: In characters; the total of all fields is limited, too. A "checkbox" and a
            "select" know their own.
        autocomplete: Tokens of the HTML standard, by which a browser fills in the field: "tel",
            "organization", or "off" (WCAG 2.2, success criterion 1.3.5). Empty for the token of the
            kind, if it has one.
        check: Called with each value that is not empty. Returns why the value is refused, for
            people, or None.

    Attributes:
        choices: The values of `options` and their labels.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    name: str
    label: str
    _: KW_ONLY
    required: bool = False
    kind: KindName = "text"
    options: Iterable[str | tuple[str, str]] = ()
    hint: str = ""
    max_length: int = 100
    autocomplete: str = ""
    check: Check | None = None
    choices: tuple[tuple[str, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        name = self.name
        is_string = isinstance(name, str)
        if not (is_string and _NAME.fullmatch(name) and len(name) <= NAME_MAX_LENGTH):
            raise ConfigurationError(
                "The name of a Field must begin with a lower-case letter, and contain only"
                f" lower-case letters, digits and _, at most {NAME_MAX_LENGTH} characters; it is"
                f" {name!r}."
            )
        if name in RESERVED:
            raise ConfigurationError(f"A Field cannot have the name {name}, which wsgiauth uses.")
        self._check_types()
        self._check_texts()
        if self.kind not in KINDS:
            raise _wrong(name, f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        try:
            self.choices = read_options(self.kind, self.options)
        except ValueError as error:
            raise _wrong(name, str(error)) from None
        longest = max((len(value) for value, _label in self.choices), default=0)
        self.max_length = longest or KINDS[self.kind].length or self.max_length
        if not 1 <= self.max_length <= MAX_CHARACTERS:
            raise _wrong(name, f"max_length must be a number from 1 to {MAX_CHARACTERS}")
        if not (self.autocomplete == "" or _TOKENS.fullmatch(self.autocomplete)):
            raise _wrong(name, 'autocomplete must be tokens of the HTML standard, such as "tel"')
        if self.autocomplete and self.kind == "checkbox":
            raise _wrong(name, "a checkbox has no autocomplete")
        if self.check is not None:
            require_function(self.check, f"the check of the Field {name}")
        self.label, self.hint = of_application(self.label), of_application(self.hint)
        self.choices = tuple((value, of_application(label)) for value, label in self.choices)

    def _check_types(self) -> None:
        for argument in ("label", "kind", "hint", "autocomplete"):
            value: object = getattr(self, argument)
            if not isinstance(value, str):
                raise _wrong(self.name, f"{argument} must be a string, not {value!r}")
        if not isinstance(self.required, bool):  # the string "off" is true
            raise _wrong(self.name, f"required must be True or False, not {self.required!r}")
        if type(self.max_length) is not int:
            raise _wrong(self.name, f"max_length must be a whole number, not {self.max_length!r}")
        if not isinstance(self.options, Iterable):
            raise _wrong(self.name, f"options must be a list, not {self.options!r}")

    def _check_texts(self) -> None:
        name = self.name
        if is_blank(self.label) or len(self.label) > LABEL_MAX_LENGTH:
            raise _wrong(name, f"label must be a string of 1 to {LABEL_MAX_LENGTH} characters")
        if is_refused(self.label):
            raise _wrong(name, "label must be one line")
        if is_refused(self.hint) or len(self.hint) > LABEL_MAX_LENGTH:
            raise _wrong(name, f"hint must be one line of at most {LABEL_MAX_LENGTH} characters")

    @property
    def type(self) -> str:
        """Of the input on the page; "select" and "textarea" are elements."""
        return KINDS[self.kind].type

    @property
    def format(self) -> str:
        """Of a value in JSON, in the words of JSON Schema; empty for any string."""
        return KINDS[self.kind].format

    @property
    def attributes(self) -> dict[str, str | int]:
        """Further attributes of the input on the page."""
        kind = KINDS[self.kind]
        own: dict[str, str | int] = {"maxlength": self.max_length} if kind.has_length else {}
        filled_in = {"autocomplete": self.autocomplete} if self.autocomplete else {}
        return {**kind.attributes, **own, **filled_in}

    @property
    def ticked(self) -> str:
        """The value that a browser sends of a ticked checkbox."""
        return TICKED

    @property
    def links(self) -> Mapping[str, str]:
        """The URLs of the links below the field, by their texts."""
        return {}

    def __repr__(self) -> str:
        return f"<Field {self.name}>"

    def cleaned(self, sent: str) -> str:
        """Return a value as it is checked: without white space around it."""
        return KINDS[self.kind].clean(sent)

    def given(self, value: str) -> str:
        """Return a checked value as the application gets it."""
        return KINDS[self.kind].given(value) if value else ""

    def problem(self, value: str) -> str | None:
        """Return why a value is refused, for people, or None; ApplicationError: `check` failed."""
        kind = KINDS[self.kind]
        if not value:
            return self._missing()
        if self.choices and value not in dict(self.choices):
            return _("Choose one of the options.")
        if not kind.length and len(value) > self.max_length:
            return ngettext(
                "This field must have at most %(num)s character.",
                "This field must have at most %(num)s characters.",
                self.max_length,
            )
        if is_refused(value, can_break=kind.can_break):
            if kind.can_break:
                return _("This field cannot contain control characters.")
            return _("This field must be one line, without control characters.")
        return kind.problem(value) or self._checked(value)

    def _missing(self) -> str | None:
        if not self.required:
            return None
        if self.kind == "checkbox":
            return _("Tick this box to continue.")
        return _("This field is required.")

    def _checked(self, value: str) -> str | None:
        if self.check is None:
            return None
        with application_code(f"the check of the field {self.name}"):
            found = self.check(value)
            if not (found is None or (isinstance(found, str) and found)):
                raise TypeError(f"it must return a message or None, not {found!r}")
        return None if found is None else of_application(found)


class FeatureField(Field):
    """A field that a feature adds, and whose values it stores itself.

    A file to import cannot have it. The application cannot have a field of the same name.

    Attributes:
        refusals: The failures of a value beside 422, for the OpenAPI document.

    Example:
        class BadgeField(FeatureField):
            def record(self, user: User, value: str) -> None:
                Badge.create(user=user, name=value)

            def schema(self) -> dict[str, object]:
                return text("The name of the first badge.")

        field = BadgeField("badges", _("First badge"))
    """

    refusals: ClassVar["tuple[Problem, ...]"] = ()

    @abstractmethod
    def record(self, user: User, value: str) -> object:
        """Store a valid value, in the transaction that creates `user`."""

    def from_json(self, value: object) -> str:
        """Return the value that JSON has, as a form would have sent it."""
        return value if isinstance(value, str) else ""

    @abstractmethod
    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of a value."""


@dataclass(frozen=True)
class Answers:
    """The values of a new user for the fields of the application, and for those of features.

    Attributes:
        values: By field; an empty string for a missing value.
        asked: The fields of features.
        errors: A message for each field that is refused.
        are_telling: Whether the errors can reveal a secret of the application, such as taken
            values, so that requests must be limited.
    """

    values: dict[str, str]
    errors: dict[str, list[str]]
    are_telling: bool
    on_registered: OnRegistered | None
    asked: tuple[FeatureField, ...] = ()

    @property
    def are_passed_on(self) -> bool:
        """Whether the application has a function for them."""
        return self.on_registered is not None

    def pass_on(self, user: User) -> None:
        """Record the values for features, and call `on_registered` with those for the application.

        Call this in the transaction that creates `user`.

        Raises:
            ValidationError: It refused a value.
            ApplicationError: It failed, or ended the transaction.
        """
        for field_ in self.asked:
            field_.record(user, self.values[field_.name])
        if self.on_registered is None:
            return
        names = [each.name for each in self.asked]
        values = {name: value for name, value in self.values.items() if name not in names}
        try:
            # The inner `atomic` is a savepoint. It fails if the function has ended the transaction,
            # as any CREATE TABLE does on MariaDB, or has hidden an error after which PostgreSQL
            # turns a commit into a rollback.
            with application_code("on_registered", passes=(ValidationError,)), database.atomic():
                self.on_registered(user, values)
        except ValidationError as refusal:
            kind = TakenError if isinstance(refusal, TakenError) else ValidationError
            raise kind(_as_messages(refusal.errors)) from refusal


class Registration:
    """The fields of a site, in their order on the page, and the function for their values.

    Attributes:
        asked: The fields of features, the last ones.
    """

    asked: tuple[FeatureField, ...] = ()

    def __init__(
        self, fields: Iterable[Field] = (), on_registered: OnRegistered | None = None
    ) -> None:
        is_list = isinstance(fields, Iterable)
        self.fields: tuple[Field, ...] = tuple(fields) if is_list else ()
        if not (is_list and all(isinstance(each, Field) for each in self.fields)):
            raise ConfigurationError("registration must be a list of Field objects.")
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
            require_function(on_registered, "on_registered")
        self.on_registered: OnRegistered | None = on_registered

    def with_asked(self, asked: Iterable[FeatureField]) -> "Registration":
        """Return the same registration with the fields of features.

        Raises:
            ConfigurationError: The application has a field of one of these names.
        """
        both = copy(self)
        both.asked = tuple(asked)
        for each in both.asked:
            if each.name in self.names:
                raise ConfigurationError(
                    f"registration has a field with the name {each.name}, which is a field of"
                    " wsgiauth with the settings of this site."
                )
        both.fields = (*self.fields, *both.asked)
        both.names = tuple(each.name for each in both.fields)
        return both

    def of_application(self) -> "Registration":
        """Return the same registration without the fields of features."""
        own = self.fields[: len(self.fields) - len(self.asked)]
        return Registration(own, self.on_registered)

    def from_json(self, sent: dict[str, object]) -> dict[str, object]:
        """Return the fields of a JSON object, those of features as a form would have sent them."""
        asked = {each.name: each for each in self.asked if each.name in sent}
        return {**sent, **{name: each.from_json(sent[name]) for name, each in asked.items()}}

    def read(self, sent: Mapping[str, str]) -> Answers:
        """Return the answers in the fields of a request, or raise ApplicationError."""
        values = {each.name: each.cleaned(sent.get(each.name, "")) for each in self.fields}
        # A feature can refuse all of it, and then no function of the application is called.
        ordered = (*self.asked, *(each for each in self.fields if each not in self.asked))
        problems = {each.name: each.problem(values[each.name]) for each in ordered}
        found = ((name, problems[name]) for name in self.names)
        errors = {name: [problem] for name, problem in found if problem is not None}
        return Answers(
            {each.name: each.given(values[each.name]) for each in self.fields},
            errors,
            are_telling=any(each.check is not None for each in self.fields),
            on_registered=self.on_registered,
            asked=self.asked,
        )


NOTHING = Registration().read({})


def _as_messages(errors: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {
        str(name): [of_application(each) for each in ([found] if isinstance(found, str) else found)]
        for name, found in errors.items()
    }


def require_function(function: object, name: str) -> None:
    """Raise ConfigurationError if an argument of the application is no function, or async."""
    if not callable(function):
        raise ConfigurationError(f"{name} must be a function.")
    if inspect.iscoroutinefunction(function):
        raise ConfigurationError(f"{name} must not be asynchronous: nothing would await it.")


def _wrong(name: str, rule: str) -> ConfigurationError:
    return ConfigurationError(f"The Field {name} is wrong: {rule}.")
