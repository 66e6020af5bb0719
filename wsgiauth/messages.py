"""Sentences for people: English strings that a response can show in the language of its reader.

`_`, `ngettext` and `pgettext` mark a sentence for translation, but do not translate it: logs,
commands and exceptions are in English, and `languages` translates.

A sentence is whole, because other languages order its parts in another way. It has a named
placeholder, such as `%(name)s`, for each value, and `%%` for a percent sign.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Self

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from wsgiauth.languages.language import Language

# The language of the page or the email that is being rendered. The macros that a template imports
# cannot pass it on, because they do not know the template's values.
_speaker: "ContextVar[Language]" = ContextVar("wsgiauth_speaker")


class Message(str):
    """A sentence in English that knows its parts.

    Attributes:
        text: The sentence with its placeholders; with a number, the form for one.
        values: By placeholder. A language formats numbers, and translates messages.
        plural: The form for several; empty without a number.
        number: The number that chooses the form.
        context: Distinguishes texts that are the same in English.

    Example:
        title: Message = _("Badges of %(name)s", name="ada")
    """

    __slots__ = ("context", "number", "plural", "text", "values")

    text: str
    values: Mapping[str, object]
    plural: str
    number: int
    context: str

    def __new__(
        cls,
        text: str,
        values: Mapping[str, object],
        *,
        plural: str = "",
        number: int = 1,
        context: str = "",
    ) -> Self:
        """Return the message, which is the English string."""
        chosen = plural if plural and number != 1 else text
        message = super().__new__(cls, filled(chosen, values, written))
        message.text, message.values = text, values
        message.plural, message.number, message.context = plural, number, context
        return message

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Pickle and copy the message as a plain string."""
        return str, (str(self),)

    def __html__(self) -> Markup:
        """Return the message for a page, in the page's language; see MarkupSafe."""
        language = _speaker.get(None)
        return escape(str(self)) if language is None else language.html(self)


class Joined(Message):
    """Several messages or strings, one after the other: `parts` also has the separators."""

    __slots__ = ("parts",)

    parts: tuple[str, ...]

    def __new__(cls, parts: Iterable[str], separator: str = " ") -> Self:
        """Return the parts with a separator, which can be a message, too."""
        pairs = [each for part in parts for each in (separator, part)]
        joined = str.__new__(cls, "".join(pairs[1:]))
        joined.parts = tuple(pairs[1:])
        return joined


class Wait(Joined):
    """A sentence that says how long to wait, which the script of a page counts down."""

    __slots__ = ("seconds",)

    seconds: int

    def __new__(cls, text: str, seconds: int) -> Self:
        """Return the sentence."""
        wait = super().__new__(cls, [text])
        wait.seconds = seconds
        return wait


def _(text: str, /, **values: object) -> Message:
    """Return a sentence with its values.

    Example:
        title = _("Badges of %(name)s", name="ada")
    """
    return Message(text, values)


def ngettext(one: str, several: str, num: int, /, **values: object) -> Message:
    """Return the form of a sentence for a number, which is the value of `%(num)s` in it.

    Example:
        text = ngettext("One badge", "%(num)s badges", 3)
    """
    return Message(one, {"num": num, **values}, plural=several, number=num)


def pgettext(context: str, text: str, /, **values: object) -> Message:
    """Return a sentence that can have another translation in another context.

    Example:
        text = pgettext("of a badge", "Early")
    """
    return Message(text, values, context=context)


def list_of(items: Iterable[str]) -> Message:
    """Return items with commas, or with the separator of a language.

    Example:
        text = _("Badges: %(names)s", names=list_of(["early", "kind"]))
    """
    return Joined(items, pgettext("between the items of a list", ", "))


def of_application(text: str) -> Message:
    """Return a string of the application as a message, which its catalogues can translate.

    Markup becomes plain text, so that a page escapes it.
    """
    return text if isinstance(text, Message) else Message(str(text).replace("%", "%%"), {})


def filled(text: str, values: Mapping[str, object], write: Callable[[object], object]) -> str:
    """Return a sentence with its values, each as `write` returns it."""
    return text % {name: write(value) for name, value in values.items()}


def written(value: object) -> object:
    """Return a number in the English format, and any other value as it is."""
    return f"{value:,}" if type(value) is int else value


def said(text: str) -> str:
    """Return a message in the language that is being rendered, or in English."""
    language = _speaker.get(None)
    return str(text) if language is None else language.say(text)


def speaker() -> "Language":
    """Return the language that is being rendered."""
    return _speaker.get()


@contextmanager
def speaking(language: "Language") -> Iterator[None]:
    """Render in a language in a `with` block."""
    token = _speaker.set(language)
    try:
        yield
    finally:
        _speaker.reset(token)


def counted(number: int, noun: str) -> str:
    """Return a number with its English noun, for operators; add an `s` if it is not 1.

    Example:
        counted(2, "badge") == "2 badges"
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
