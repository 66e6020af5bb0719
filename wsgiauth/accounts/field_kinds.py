"""The kinds of fields that the application adds to the creation of an account."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from wsgiauth.accounts import names
from wsgiauth.messages import _
from wsgiauth.storage.models import utc_now, utc_text

KindName = Literal["text", "email", "tel", "url", "number", "checkbox", "select", "textarea"]

TICKED, UNTICKED = "on", "off"  # the former is what browsers send of a checkbox
_MOMENT = "2026-11-02T09:05:00Z"

# Controls (NUL is in no string of PostgreSQL), surrogates, and what ends a line.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Unicode's explicit directional formatting, which can make a value look like another.
_REORDERING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})

_PHONE = re.compile(r"[\d\s+()./#*,;\u2010-\u2015-]+((x|ext\.?)\s?\d+)?", re.IGNORECASE)
_FEWEST_DIGITS = 3  # of a phone number, as of an internal one
_DECIMAL = re.compile(r"-?([0-9]+(\.[0-9]+)?|\.[0-9]+)")  # HTML also permits an exponent


def is_refused(text: str, *, can_break: bool = False) -> bool:
    """Return whether a string has characters that no value can have, such as a control character.

    Args:
        text: The string.
        can_break: Whether it can have line breaks (`\\n`) and tabs.
    """
    return any(
        (unicodedata.category(each) in _REFUSED_CATEGORIES and not (can_break and each in "\n\t"))
        or unicodedata.bidirectional(each) in _REORDERING
        for each in text
    )


def is_blank(text: str) -> bool:
    """Return whether all characters are invisible."""
    return all(map(names.is_invisible, text))


def read_options(
    kind: str, options: Iterable[str | tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return the values of a "select" and their labels, in their order.

    Raises:
        ValueError: They are wrong, or another kind has options. The message ends a sentence.
    """
    given = [options] if isinstance(options, str) else list(options)
    if kind != "select":
        if given:
            raise ValueError(f"only a select has options, and it is a {kind}")
        return ()
    if not given or isinstance(options, str):
        raise ValueError("a select needs options, a list of strings or of pairs")
    pairs = [(each, each) if isinstance(each, str) else each for each in given]
    for each in pairs:
        if not (isinstance(each, tuple | list) and len(each) == 2 and all(map(_is_text, each))):
            raise ValueError(
                f"the option {each!r} must be a string of one line, without spaces around it, or a"
                " pair of such strings, the value and its label"
            )
    if len(dict(pairs)) < len(pairs):
        raise ValueError("two options have the same value")
    return tuple(pairs)


def _is_text(text: object) -> bool:
    if not isinstance(text, str):
        return False
    return text == text.strip() and not is_blank(text) and not is_refused(text)


def _line(value: str) -> str:
    """Return a value without white space around it; an empty string if all of it is invisible."""
    return "" if is_blank(value) and not is_refused(value) else value.strip()


def _lines(value: str) -> str:
    """Return `_line` of several lines, each of which ends with one character."""
    broken = "\n".join(value.splitlines())
    visible = broken.replace("\n", "").replace("\t", "")
    return broken.strip() if _line(visible) else ""


def _email_problem(value: str) -> str | None:
    return names.email_problem(value)


def _phone_problem(value: str) -> str | None:
    digits = sum(map(str.isdecimal, value))
    if digits >= _FEWEST_DIGITS and _PHONE.fullmatch(value):
        return None
    return _("Enter a phone number such as +49 30 1234567.")


def _url_problem(value: str) -> str | None:
    """Refuse what is no link, and a link that names another host than the one to which it leads."""
    message = _("Enter a web address such as https://example.org.")
    if names.is_invisible(value) or "\\" in value:
        return message
    try:
        parts = urlsplit(value)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return message
    is_link = parts.scheme in ("http", "https") and host and "@" not in parts.netloc
    return None if is_link else message


def _number_problem(value: str) -> str | None:
    return None if _DECIMAL.fullmatch(value) else _("Enter a number in digits, such as 12.")


def _checkbox_problem(value: str) -> str | None:
    if value == TICKED:
        return None
    message: str = _("This field must be %(on)s or %(off)s.", on=TICKED, off=UNTICKED)
    return message


def _moment(_ticked: str) -> str:
    return utc_text(utc_now())


def _same(value: str) -> str:
    return value


@dataclass(frozen=True)
class Kind:
    """How the values of a field are read, and how a page asks for them.

    Attributes:
        type: Of the input, or the name of another element.
        attributes: Further attributes of the element.
        format: Of the string, in the OpenAPI document.
        clean: Returns a value without what a form or a keyboard adds to it.
        problem: Returns why a value that is not empty is refused, for people, or None.
        given: Returns the string for the application, of a valid value.
        length: Of the longest string for the application, if the kind knows it.
        has_length: Whether the element has the attribute `maxlength`.
        can_break: Whether a value can have line breaks and tabs.
    """

    type: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    format: str = ""
    clean: Callable[[str], str] = _line
    problem: Callable[[str], str | None] = lambda _value: None
    given: Callable[[str], str] = _same
    length: int = 0
    has_length: bool = True
    can_break: bool = False


_NO_WORDS = {"autocapitalize": "none", "spellcheck": "false"}

KINDS: Mapping[str, Kind] = {
    "text": Kind("text", {"dir": "auto"}),
    # With the type "email", browsers refuse or change international addresses.
    "email": Kind(
        "text",
        {"inputmode": "email", "autocomplete": "email", **_NO_WORDS},
        format="idn-email",
        clean=names.typed,
        problem=_email_problem,
    ),
    "tel": Kind(
        "tel", {"dir": "auto", "autocomplete": "tel"}, clean=names.typed, problem=_phone_problem
    ),
    "url": Kind(
        "url",
        {"autocomplete": "url", **_NO_WORDS},
        format="iri",
        clean=names.typed,
        problem=_url_problem,
    ),
    # A browser shows and reads it in the reader's notation. No inputmode: the decimal keypad of an
    # iPhone has no minus.
    "number": Kind(
        "number",
        {"step": "any"},
        format="decimal",
        clean=names.typed,
        problem=_number_problem,
        has_length=False,
    ),
    "checkbox": Kind(
        "checkbox",
        clean=lambda value: "" if _line(value) == UNTICKED else _line(value),
        problem=_checkbox_problem,
        given=_moment,
        length=len(_MOMENT),
        has_length=False,
    ),
    "select": Kind("select", has_length=False),
    "textarea": Kind("textarea", {"dir": "auto", "rows": "4"}, clean=_lines, can_break=True),
}
