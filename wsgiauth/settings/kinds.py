"""The kinds of settings: each function declares one setting, with its parser and its check.

To a type checker, a declaration such as `whole_number(60, 1, 90, "…")` is the default of its field.
At run time it is a `dataclasses.field` that holds a `Setting`.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from wsgiauth.exceptions import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_BOOLS = {"on": True, "true": True, "yes": True, "1": True}
_BOOLS |= {"off": False, "false": False, "no": False, "0": False}

_Value = TypeVar("_Value")
_String = TypeVar("_String", str, str | None)
_Parser = Callable[[object], object]
# Returns the rest of a sentence about a value, or None.
_Finding = Callable[[Any], str | None]


def _unchanged(value: object) -> object:
    return value


def _nothing(_value: object) -> None:
    return None


def as_tuple(value: object) -> object:
    """Return a tuple for a list, and any other value unchanged."""
    return tuple(value) if isinstance(value, list) else value


class Setting(NamedTuple):
    """How a setting is parsed and checked, and what it means."""

    meaning: str  # `make settings` writes it into docs/settings.md
    expected: str  # the end of the sentence "NAME must be …"
    is_valid: Callable[[Any], bool]
    risk: _Finding = _nothing  # of a valid value; the sentence begins with the setting's name
    problem: _Finding = _nothing  # of the file that a value names
    parse: _Parser = _unchanged  # a string into a value; others stay, for `is_valid` to refuse
    convert: _Parser = _unchanged  # a value of a similar type, such as a list for a tuple
    needs: str = ""  # the name of another setting, which must be set if this one is

    def checked(self, name: str, value: object) -> object:
        """Return the value to keep; an invalid one is a ConfigurationError."""
        try:
            return self._checked(name, value)
        except ConfigurationError:
            raise
        except (Exception, SystemExit) as error:  # of a feature
            reason = f"{self.expected}; its check fails ({type(error).__name__})"
            raise wrong_setting(name, reason) from None  # the message can show a secret

    def risk_of(self, value: object) -> str | None:
        """Return the risk of a valid value, as `risk` does."""
        try:
            return self.risk(value)
        except (Exception, SystemExit) as error:  # of a feature
            return f"cannot be checked for risks ({type(error).__name__})."

    def _checked(self, name: str, value: object) -> object:
        kept = self.convert(value)
        if not self.is_valid(kept):
            raise wrong_setting(name, f"{self.expected}{self._instead_of(kept)}")
        problem = self.problem(kept)
        if problem is not None:
            raise wrong_setting(name, f"{self.expected}; {kept!r} {problem}")
        return kept

    def _instead_of(self, value: object) -> str:
        """Return the value to write instead of a string that only an environment can have."""
        meant = self.parse(value)
        if isinstance(value, str) and isinstance(meant, int) and self.is_valid(meant):
            return f"; in code, write {meant}, not {value!r}"
        return ""


@dataclass(frozen=True, kw_only=True)
class FeatureSettings:
    """The base class of the settings of a feature: a frozen dataclass, keyword-only.

    Its fields are declared by the functions of this module. The name of each begins with the name
    of the feature, in upper case. The settings of a site that has the feature are an object of this
    class, too. So a further method or property must have a name that no other class of settings
    has, and `__post_init__` is not allowed.

    Example:
        @dataclass(frozen=True, kw_only=True)
        class BadgeSettings(FeatureSettings):
            BADGES_COLOURS: int = whole_number(3, 1, 9, "how many colours there are")
    """

    @classmethod
    def of(cls, settings: object) -> Self:
        """Return the settings of a site as an object of this class.

        Args:
            settings: The `Settings` of a site with the feature.

        Raises:
            TypeError: The site does not have the feature.
        """
        if not isinstance(settings, cls):
            raise TypeError(
                f"FEATURES has no feature with the settings {cls.__name__}: add the feature, or"
                f" `settings={cls.__name__}` to its declaration"
            )
        return settings

    def contradictions(self) -> Iterable[tuple[str, str]]:
        """Yield the settings that do not fit others: the name, and the end of "NAME must be …"."""
        return ()


def declarations(settings: "DataclassInstance | type[DataclassInstance]") -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by name and in their order."""
    return {each.name: each.metadata["setting"] for each in fields(settings)}


def wrong_setting(name: str, expected: str) -> ConfigurationError:
    """Return the error for an invalid setting. `expected` must not contain a secret."""
    return ConfigurationError(f"{name} must be {expected}.")


def missing_package(name: str, package: str, extra: str) -> ConfigurationError:
    """Return the error for a setting that needs a package, which an extra of wsgiauth installs."""
    is_checkout = (Path(__file__).parents[2] / "setup.py").exists()
    distribution = "." if is_checkout else "wsgi-accounts"
    return ConfigurationError(
        f"{name} needs the package {package}, which is not installed:"
        f" `pip install '{distribution}[{extra}]'` installs it."
    )


def whole_number(
    default: int, lowest: int, highest: int, meaning: str, *, risk: _Finding = _nothing
) -> int:
    """Declare a whole number in a range.

    Example:
        colours = whole_number(3, 1, 9, "how many colours there are")
    """
    return _declare(
        default,
        meaning,
        f"a whole number from {lowest} to {highest}",
        lambda value: type(value) is int and lowest <= value <= highest,  # True is an int
        risk=risk,
        parse=_parse_whole_number,
    )


def limit(default: int, highest: int, meaning: str, *, risk: _Finding = _nothing) -> int:
    """Declare a limit, which 0 turns off.

    Example:
        BADGES_MOST: int = limit(20, 1000, "how many badges a user can have")
    """
    return whole_number(default, 0, highest, f"{meaning}; `0`: no limit", risk=risk)


def switch(default: bool, meaning: str, *, needs: str = "") -> bool:
    """Declare a boolean.

    Example:
        BADGES_PUBLIC: bool = switch(False, "whether everyone sees the badges of a user")
    """
    return _declare(
        default,
        meaning,
        "on or off",
        lambda value: isinstance(value, bool),
        parse=parse_bool,
        needs=needs,
    )


def choice(choices: tuple[str, ...], meaning: str, *, parse: _Parser = _unchanged) -> str:
    """Declare one of several words, of which the first is the default.

    Example:
        BADGES_SHAPE: str = choice(("round", "square"), "the shape of a badge")
    """
    *others, last = choices
    expected = f"{', '.join(others)} or {last}"
    return _declare(choices[0], meaning, expected, lambda value: value in choices, parse=parse)


def string(
    default: _String,
    meaning: str,
    *,
    expected: str = "a non-empty string or unset",
    is_valid: Callable[[str], bool] = bool,
    is_secret: bool = False,
    risk: _Finding = _nothing,
    needs: str = "",
) -> _String:
    """Declare a string, which can be unset if its default is None.

    Example:
        BADGES_ISSUER: str | None = string(None, "who issues the badges", needs="PUBLIC_URL")
    """
    return _declare(
        default,
        meaning,
        expected,
        lambda value: value is default or (isinstance(value, str) and is_valid(value)),
        is_secret=is_secret,
        risk=risk,
        needs=needs,
    )


def words(
    meaning: str,
    *,
    expected: str,
    is_valid: Callable[[str], bool] = lambda _: True,
    separator: str = ",",
    is_secret: bool = False,
    risk: _Finding = _nothing,
    default: tuple[str, ...] = (),
    needs: str = "",
    convert: _Parser = as_tuple,
) -> tuple[str, ...]:
    """Declare a list of strings, separated by spaces or the separator.

    Without `is_valid`, `contradictions` checks them. `convert` makes a tuple of a list.

    Example:
        BADGES_NAMES: tuple[str, ...] = words(
            "the badges that users can get", expected="words", is_valid=str.isalpha
        )
    """
    return objects(
        meaning,
        expected=expected,
        is_valid=lambda each: isinstance(each, str) and is_valid(each),
        separator=separator,
        is_secret=is_secret,
        risk=risk,
        default=default,
        needs=needs,
        convert=convert,
    )


def objects(
    meaning: str,
    *,
    expected: str,
    is_valid: Callable[[Any], bool],
    separator: str = " ",
    is_secret: bool = False,
    risk: _Finding = _nothing,
    default: tuple[Any, ...] = (),
    needs: str = "",
    convert: _Parser = as_tuple,
) -> tuple[Any, ...]:
    """Declare a list of strings as `words` does, whose entries can be other objects in code."""
    return _declare(
        default,
        meaning,
        expected,
        lambda value: isinstance(value, tuple) and all(map(is_valid, value)),
        is_secret=is_secret,
        needs=needs,
        risk=risk,
        parse=lambda value: (
            tuple(value.replace(separator, " ").split()) if isinstance(value, str) else value
        ),
        convert=convert,
    )


def path(
    meaning: str,
    *,
    expected: str,
    problem: Callable[[str], str | None] = _nothing,
    risk: Callable[[str], str | None] = _nothing,
) -> str | os.PathLike[str] | None:
    """Declare the path of a file or folder, which can be unset.

    Example:
        BADGES_IMAGES: str | os.PathLike[str] | None = path(
            "the folder of the images", expected="the path of a folder"
        )
    """
    return _declare(
        None,
        meaning,
        expected,
        lambda value: value is None or (isinstance(value, str) and value != ""),
        risk=lambda value: None if value is None else risk(value),
        problem=lambda value: None if value is None else problem(value),
        convert=lambda value: os.fspath(value) if isinstance(value, os.PathLike) else value,
    )


def key(meaning: str) -> str | None:
    """Declare a secret key, which can be unset; `contradictions` checks its strength.

    Example:
        BADGES_KEY: str | None = key("signs the badges")
    """
    return string(
        None, meaning, expected="a random string", is_valid=lambda _: True, is_secret=True
    )


def parse_bool(value: object) -> object:
    """Return True or False for a string that means one of them, and any other value unchanged."""
    return _BOOLS.get(value.strip().lower(), value) if isinstance(value, str) else value


def parse_word(meant: bool, word: str) -> _Parser:
    """Return a parser of words in any letter case, with `word` for a string that means `meant`."""

    def parse(value: object) -> object:
        if parse_bool(value) is meant:
            return word
        return value.strip().lower() if isinstance(value, str) else value

    return parse


def _declare(
    default: _Value,
    meaning: str,
    expected: str,
    is_valid: Callable[[Any], bool],
    *,
    is_secret: bool = False,
    needs: str = "",
    **functions: Callable[..., Any],
) -> _Value:
    setting = Setting(meaning, expected, is_valid, needs=needs, **functions)
    return field(default=default, repr=not is_secret, metadata={"setting": setting})


def _parse_whole_number(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return int(value)
    return value
