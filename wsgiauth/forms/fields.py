"""The fields of a form, and how the OpenAPI document describes them."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from wsgiauth.openapi.schemas import Schema
from wsgiauth.settings import Settings

# Of all forms: no page repeats the values of these fields.
SECRETS = frozenset(
    (
        *("password", "current_password", "new_password", "code", "user_code"),
        *("credential", "token", "request", "second"),
    )
)


class Input:
    """A field of a form, and the member of that name in JSON.

    Args:
        name: The name of the field.
        about: What it is, for the OpenAPI document, or a schema that says so; None: only pages
            send it.
        required: Whether JSON needs it.
        needs: The name of a setting; if it is off, the form has no such field, and ignores one.
        keywords: Further keywords of its JSON Schema, such as the bounds that `Form.act` checks.

    Example:
        fields: tuple[Input, ...] = (Text("name", "The badge."), Flag("is_public", "For everyone."))
    """

    type: ClassVar[str]
    default: ClassVar[object]
    least: ClassVar[str] = ""  # the keyword by which a required value is not empty

    def __init__(
        self,
        name: str,
        about: str | Schema | None,
        *,
        required: bool = False,
        needs: str = "",
        **keywords: Any,
    ) -> None:
        self.name = name
        self.required = required
        self.needs = needs
        self._about = about
        self._keywords = keywords

    @property
    def is_described(self) -> bool:
        """Whether programs can send it."""
        return self._about is not None

    @property
    def schema(self) -> Schema:
        """The JSON Schema of a value."""
        if isinstance(self._about, Mapping):
            return self._about
        described: dict[str, Any] = {"type": self.type, "description": self._about}
        if not self.required:
            described["default"] = self.default
        elif self.least and "enum" not in self._keywords:
            described[self.least] = 1
        return described | self._keywords


class Text(Input):
    """A string; empty if it is missing.

    Example:
        name = Text("name", "The badge.", required=True, maxLength=50)
    """

    type = "string"
    default: ClassVar[str] = ""
    least = "minLength"


class Number(Input):
    """A whole number.

    Example:
        colour = Number("colour", "The number of the colour.", minimum=1)
    """

    type = "integer"
    default: ClassVar[None] = None


class Texts(Input):
    """A list of strings.

    Example:
        names = Texts("names", "The badges.", items={"type": "string"})
    """

    type = "array"
    default: ClassVar[list[str]] = []


class Numbers(Input):
    """A list of whole numbers.

    Example:
        colours = Numbers("colours", "The numbers of the colours.", items={"type": "integer"})
    """

    type = "array"
    default: ClassVar[list[int]] = []
    least = "minItems"


class Flag(Input):
    """A checkbox, and true or false in JSON.

    Example:
        is_public = Flag("is_public", "Whether everyone sees it.")
    """

    type = "boolean"
    default: ClassVar[bool] = False


def offered(fields: Iterable[Input], settings: Settings | None) -> tuple[Input, ...]:
    """Return the fields that a form has on a site with these settings; None: all of them."""
    return tuple(
        each
        for each in fields
        if settings is None or not each.needs or getattr(settings, each.needs)
    )


def named(fields: Iterable[Input], kind: type[Input]) -> tuple[str, ...]:
    """Return the names of the fields of a kind."""
    return tuple(each.name for each in fields if isinstance(each, kind))
