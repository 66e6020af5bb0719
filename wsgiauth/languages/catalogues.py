"""Catalogues of translations: GNU gettext's `.mo` files, as the standard library reads them.

A translation is refused if it has other placeholders or tags than the English text: otherwise it
could fail when it is shown, or change what a page does.
"""

import gettext
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from os import PathLike
from pathlib import Path

from wsgiauth.exceptions import ConfigurationError

DOMAIN = "wsgiauth"
TAG = re.compile(r"<[^<>]*>")
PERCENT_ALONE = re.compile(r"(?<!%)(?:%%)*%(?!%|\(\w+\)s)")

_CONTEXT_END = "\x04"  # between a context and its text: GNU gettext manual, section 10.3
PLACEHOLDER = re.compile(r"(?<!%)(?:%%)*%\((\w+)\)s")
_NUMBER = "num"  # the placeholder of the number that chooses a form
_NUMBERS = range(200)  # each form of a language is that of one of them


class Catalogue(gettext.GNUTranslations):
    """The translations of one file.

    Raises:
        ConfigurationError: The file cannot be read, or one of its translations is refused.
    """

    def __init__(self, file: Path) -> None:
        try:
            with file.open("rb") as opened:
                super().__init__(opened)
        except Exception as error:  # a damaged file, or its formula of plural forms, can raise any
            raise ConfigurationError(f"TRANSLATIONS: {file} cannot be read: {error}") from None
        self._texts: dict[str | tuple[str, int], str] = vars(self)["_catalog"]
        self._form_for: Callable[[int], int] = vars(self)["plural"]
        for text, translation, optional in self._pairs():
            problem = translation_problem(text, translation, optional)
            if problem is not None:
                message = f"TRANSLATIONS: {file}: the translation of {text!r} {problem}"
                raise ConfigurationError(message)

    def find(self, context: str, text: str, plural: str, number: int) -> str | None:
        """Return the translation of a text, in the form for a number if it has a plural."""
        key = f"{context}{_CONTEXT_END}{text}" if context else text
        return self._texts.get((key, self._form_for(number)) if plural else key)

    def _pairs(self) -> Iterator[tuple[str, str, frozenset[str]]]:
        """Yield each text, its translation, and which placeholders that can add or leave out."""
        uses = Counter(self._form_for(number) for number in _NUMBERS)
        for key, translation in self._texts.items():
            text, form = (key, -1) if isinstance(key, str) else key
            if not text:  # that of the header
                continue
            text = text.rpartition(_CONTEXT_END)[2]
            # The English form for one, as in "in a minute", and any form for one number alone.
            is_optional = form >= 0 and (_NUMBER not in _names_in(text) or uses[form] == 1)
            yield text, translation, frozenset([_NUMBER] if is_optional else [])


def translation_problem(
    text: str, translation: str, optional: Set[str] = frozenset()
) -> str | None:
    """Return what is wrong with a translation, as the end of a sentence about it, or None.

    Args:
        text: In English.
        translation: In the other language.
        optional: The placeholders that it can add or leave out.
    """
    if PERCENT_ALONE.search(translation):
        return 'has a percent sign alone: write "%%"'
    wanted, found = _names_in(text) | optional, _names_in(translation) | optional
    if wanted - found:
        return f"lacks %({min(wanted - found)})s"
    if found - wanted:
        return f"has %({min(found - wanted)})s, which the text lacks"
    if Counter(TAG.findall(text)) != Counter(TAG.findall(translation)):
        return "has other tags than the text"
    if text.count("\n") != translation.count("\n"):
        return "has other line breaks than the text"
    return None


def _names_in(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


def folder_problem(folder: str) -> str | None:
    """Return what is wrong with a folder of catalogues, as the end of a sentence, or None."""
    if not Path(folder).is_dir():
        return "does not exist or is not a folder"
    return None if files_in(folder) else f"has no file such as de/LC_MESSAGES/{DOMAIN}.mo"


def files_in(folder: str | PathLike[str]) -> Mapping[str, Path]:
    """Return the catalogues in a folder by the language: `pt-BR` for the folder `pt_BR`."""
    found = sorted(Path(folder).glob(f"*/LC_MESSAGES/{DOMAIN}.mo"))
    return {each.parents[1].name.replace("_", "-"): each for each in found}
