"""Catalogues of translations: GNU gettext's `.mo` files, as the standard library reads them.

A translation with other placeholders or tags than the English text is refused: it could fail when
it is shown, or change what a page does.
"""

import gettext
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from os import PathLike
from pathlib import Path
from unicodedata import category

from wsgiauth.exceptions import ConfigurationError

_FILES = "wsgiauth*"  # without .mo: a site can have several for a language
# A language, its script, its region and its variants; the longest is shorter than the column.
_LANGUAGE = re.compile(
    r"[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-[A-Za-z0-9]{5,8}){0,2}"
)
TAG = re.compile(r"<[^<>]*>")
PERCENT_ALONE = re.compile(r"(?<!%)(?:%%)*%(?!%|\(\w+\)s)")

_REFUSED_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))  # Unicode: controls, line separators
_CONTEXT_END = "\x04"  # between a context and its text: GNU gettext manual, section 10.3
PLACEHOLDER = re.compile(r"(?<!%)(?:%%)*%\((\w+)\)s")
_NUMBER = "num"  # the placeholder of the number that chooses a form
# Every plural form of a language is the form of one of these numbers.
_NUMBERS = (*range(1001), 10_000, 100_000, 1_000_000)


class Catalogue(gettext.GNUTranslations):
    """The translations of one file.

    Raises:
        ConfigurationError: The file cannot be read, or one of its translations is refused.
    """

    def __init__(self, file: Path) -> None:
        try:
            with file.open("rb") as opened:
                super().__init__(opened)
            self._texts: dict[str | tuple[str, int], str] = vars(self)["_catalog"]
            self._texts.pop("", None)  # the header
            self._form_for: Callable[[int], int] = vars(self)["plural"]
            self._uses = Counter(map(self._form_for, _NUMBERS))
        except Exception as error:  # a damaged file, or its formula for plurals, can raise any
            message = f"{file} is not a compiled catalogue: {error}"
            raise ConfigurationError(message) from None
        for text, translation, optional in self._pairs():
            problem = translation_problem(text, translation, optional)
            if problem is not None:
                where = f"{file}: the translation of {text!r}"
                raise ConfigurationError(f"{where}, {translation!r}, {problem}.")

    def find(self, context: str, text: str, plural: str, number: int) -> str | None:
        """Return the translation, or None; with a plural, in the form for the number."""
        key = f"{context}{_CONTEXT_END}{text}" if context else text
        return self._texts.get((key, self._form_for(number)) if plural else key)

    def _pairs(self) -> Iterator[tuple[str, str, frozenset[str]]]:
        """Yield each text, its translation, and the placeholders that only one of them can have."""
        for key, translation in self._texts.items():
            text, form = (key, -1) if isinstance(key, str) else key
            text = text.rpartition(_CONTEXT_END)[2]
            # The English form for one, as in "in a minute", and any form for one number alone.
            is_optional = form >= 0 and (_NUMBER not in _names_in(text) or self._uses[form] == 1)
            yield text, translation, frozenset([_NUMBER] if is_optional else [])


def translation_problem(text: str, translation: str, optional: Set[str]) -> str | None:
    """Return the fault of a translation, as the end of a sentence about it, or None.

    `optional` are the placeholders that only one of both can have.
    """
    if PERCENT_ALONE.search(translation):
        return 'has a percent sign alone: write "%%"'
    wanted, found = _names_in(text) | optional, _names_in(translation) | optional
    if wanted - found:
        return f"lacks %({min(wanted - found)})s"
    if found - wanted:
        return f"has %({min(found - wanted)})s, which the text lacks"
    tags, wanted_tags = TAG.findall(translation), TAG.findall(text)
    if Counter(tags) != Counter(wanted_tags):
        return "has other tags than the text"
    if _are_nested(wanted_tags) and not _are_nested(tags):  # <app>.<action> is no HTML
        return "has its tags in an order that does not nest"
    if text.count("\n") != translation.count("\n"):
        return "has other line breaks than the text"
    if any(category(each) in _REFUSED_CATEGORIES and each != "\n" for each in translation):
        return "has a control character"
    return None


def _are_nested(tags: list[str]) -> bool:
    """Return whether the tags are closed in the order of HTML; our texts have no void elements."""
    opened: list[str] = []
    for tag in tags:
        name = re.split(r"[\s>]", tag.strip("</"))[0]
        if not tag.startswith("</"):
            opened.append(name)
        elif not opened or opened.pop() != name:
            return False
    return not opened


def _names_in(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


def folder_problem(folder: str) -> str | None:
    """Return the fault of a folder of catalogues, as the end of a sentence, or None."""
    if not Path(folder).is_dir():
        return "does not exist or is not a folder"
    has_any = any(_found(Path(folder), _FILES))
    return None if has_any else "has no compiled catalogue such as de/LC_MESSAGES/wsgiauth.mo"


def files_in(folder: str | PathLike[str], names: str = _FILES) -> Mapping[str, list[Path]]:
    """Return the catalogues in a folder by the language: `pt-BR` for the folder `pt_BR`.

    Args:
        names: A pattern of their names, without `.mo`. A language of a site can have several, such
            as `wsgiauth-site.mo` beside `wsgiauth.mo`.

    Raises:
        ConfigurationError: A folder with a catalogue is not named after a language.
    """
    files: dict[str, list[Path]] = {}
    for each in sorted(_found(Path(folder), names)):
        name = each.parents[1].name
        if not is_language(name):
            raise ConfigurationError(
                f"{each}: {name!r} is not the name of a language, such as de or pt_BR."
            )
        files.setdefault(name.replace("_", "-"), []).append(each)
    return files


def _found(folder: Path, names: str) -> Iterator[Path]:
    return folder.glob(f"*/LC_MESSAGES/{names}.mo")


def is_language(name: str) -> bool:
    """Return whether a name is a language tag (RFC 5646), also with gettext's `_` for `-`."""
    return _LANGUAGE.fullmatch(name.replace("_", "-")) is not None


def key(name: str) -> str:
    """Return the form in which the names of languages are compared."""
    return name.replace("_", "-").lower()
