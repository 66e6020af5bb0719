"""The kinds of settings: each function declares one setting, with its parser and its check.

To a type checker, a declaration such as `whole_number(60, 1, 90, "…")` is the default of its field.
At run time it is a `dataclasses.field` that holds a `Setting`.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from wsgiauth.exceptions import ConfigurationError

_BOOLS = {"on": True, "true": True, "yes": True, "1": True}
_BOOLS |= {"off": False, "false": False, "no": False, "0": False}

_Value = TypeVar("_Value")
_String = TypeVar("_String", str, str | None)
_Parser = Callable[[Any], Any]
_Finding = Callable[[Any], str | None]


def _unchanged(value: Any) -> Any:
    return value


def _nothing(_value: Any) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How a setting is parsed and checked, and what it means.

    Attributes:
        meaning: What it is for. Its row in docs/settings.md begins with this.
        expected: What a value must be, as the end of the sentence "NAME must be …".
        is_valid: Whether a value is of that form.
        problem: Returns what is wrong with the file that a value names, or None.
        risk: Returns the risk of a valid value, as the end of a sentence that begins with the
            setting's name, or None.
        parse: Returns the value that a string stands for. Other values, and strings that it cannot
            parse, are returned unchanged, for `is_valid` to refuse.
        convert: Returns the value to keep for one of a similar type: a tuple for a list.
    """

    meaning: str
    expected: str
    is_valid: Callable[[Any], bool]
    problem: _Finding = _nothing
    risk: _Finding = _nothing
    parse: _Parser = _unchanged
    convert: _Parser = _unchanged

    def checked(self, name: str, value: object) -> object:
        """Return the value to keep.

        Raises:
            ConfigurationError: The value is invalid.
        """
        kept = self.convert(value)
        if not self.is_valid(kept):
            raise wrong_setting(name, f"{self.expected}{self._instead_of(kept)}")
        problem = self.problem(kept)
        if problem is not None:
            raise wrong_setting(name, f"{self.expected}; {kept!r} {problem}")
        return kept

    def _instead_of(self, value: object) -> str:
        """Return what to write for a string that only an environment can have; else nothing."""
        meant = self.parse(value)
        if isinstance(value, str) and isinstance(meant, int) and self.is_valid(meant):
            return f"; in code, write {meant}, not {value!r}"
        return ""


def declarations(settings: Any) -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by name and in their order."""
    return {each.name: each.metadata["setting"] for each in fields(settings)}


def wrong_setting(name: str, expected: str) -> ConfigurationError:
    """Return the error for an invalid setting. `expected` must not contain a secret."""
    return ConfigurationError(f"{name} must be {expected}.")


def whole_number(
    default: int, lowest: int, highest: int, meaning: str, *, risk: _Finding = _nothing
) -> int:
    """Declare a whole number in a range."""
    setting = Setting(
        meaning=meaning,
        expected=f"a whole number from {lowest} to {highest}",
        is_valid=lambda value: type(value) is int and lowest <= value <= highest,  # True is an int
        risk=risk,
        parse=_parse_whole_number,
    )
    return _declare(default, setting)


def switch(default: bool, meaning: str) -> bool:
    """Declare a boolean."""
    setting = Setting(
        meaning=meaning,
        expected="on or off",
        is_valid=lambda value: isinstance(value, bool),
        parse=parse_bool,
    )
    return _declare(default, setting)


def choice(choices: tuple[str, ...], meaning: str, *, parse: _Parser = _unchanged) -> str:
    """Declare one of several words, of which the first is the default."""
    *others, last = choices
    setting = Setting(
        meaning=meaning,
        expected=f"{', '.join(others)} or {last}",
        is_valid=lambda value: value in choices,
        parse=parse,
    )
    return _declare(choices[0], setting)


def string(
    default: _String,
    meaning: str,
    *,
    expected: str = "a non-empty string or unset",
    is_valid: Callable[[str], bool] = bool,
    is_secret: bool = False,
    risk: _Finding = _nothing,
) -> _String:
    """Declare a string, which can be unset if its default is None."""
    setting = Setting(
        meaning=meaning,
        expected=expected,
        is_valid=lambda value: value is default or (isinstance(value, str) and is_valid(value)),
        risk=risk,
    )
    return _declare(default, setting, is_secret=is_secret)


def words(
    meaning: str,
    *,
    expected: str,
    is_valid: Callable[[str], bool],
    risk: _Finding = _nothing,
) -> tuple[str, ...]:
    """Declare a list of strings. In one string, spaces or commas separate them."""
    setting = Setting(
        meaning=meaning,
        expected=expected,
        is_valid=lambda value: _has_strings(value) and all(map(is_valid, value)),
        risk=risk,
        parse=_split_at_commas,
        convert=_tuple,
    )
    return _declare((), setting)


def path(
    meaning: str, *, expected: str, problem: Callable[[str], str | None]
) -> str | os.PathLike[str] | None:
    """Declare the path of a file or folder, which can be unset."""
    setting = Setting(
        meaning=meaning,
        expected=expected,
        is_valid=lambda value: value is None or (isinstance(value, str) and value != ""),
        problem=lambda value: None if value is None else problem(value),
        convert=lambda value: os.fspath(value) if isinstance(value, os.PathLike) else value,
    )
    return _declare(None, setting)


def key(meaning: str) -> str | None:
    """Declare a secret key, which can be unset; `secret_keys` checks its strength."""
    return string(
        None,
        meaning,
        expected="a random string",
        is_valid=lambda _key: True,
        is_secret=True,
    )


def keys(meaning: str) -> tuple[str, ...]:
    """Declare a list of secret keys. In one string, spaces separate them."""
    setting = Setting(
        meaning=meaning,
        expected="a list of random strings",
        is_valid=_has_strings,
        parse=_split,
        convert=_tuple,
    )
    return _declare((), setting, is_secret=True)


def parse_bool(value: Any) -> Any:
    """Return True or False for a string that means one of them, and any other value unchanged."""
    return _BOOLS.get(value.strip().lower(), value) if isinstance(value, str) else value


def parse_auto_or_on(value: Any) -> Any:
    """Return `auto` or `on` for a string or a boolean that means it; other values unchanged."""
    if parse_bool(value) is True:
        return "on"
    return value.strip().lower() if isinstance(value, str) else value


def _declare(default: _Value, setting: Setting, *, is_secret: bool = False) -> _Value:
    return field(default=default, repr=not is_secret, metadata={"setting": setting})


def _parse_whole_number(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return int(value)
    return value


def _split(value: Any) -> Any:
    return tuple(value.split()) if isinstance(value, str) else value


def _split_at_commas(value: Any) -> Any:
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _has_strings(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)
