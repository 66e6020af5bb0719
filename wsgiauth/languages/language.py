"""One language: it shows messages, the texts of templates, numbers, and documents for JSON."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from unicodedata import bidirectional

from markupsafe import Markup, escape

from wsgiauth.languages.catalogues import PERCENT_ALONE, PLACEHOLDER, TAG, Catalogue
from wsgiauth.messages import Joined, Message, Wait, _, filled, pgettext

# ISO 639 and ISO 15924: languages and scripts that are written from right to left.
_RIGHT_TO_LEFT = frozenset(("ar", "arab", "ckb", "dv", "fa", "he", "hebr", "ps", "sd", "ug", "ur"))
# First strong isolate, pop directional isolate: so a value such as an IP address keeps its own
# direction in a sentence from right to left.
_ISOLATED = "\u2068\\g<0>\u2069"
_BDI = Markup("<bdi>%s</bdi>")
_REFERENCE = re.compile(r"(&(?:#[0-9]+|[A-Za-z]+);)")

_NAME = pgettext("the name of this language, in this language", "English")
_WAIT = Markup('<span data-wait="%d" data-again="%s" data-over="%s">%s</span>')  # see `page.js`
_TRY_AGAIN = _("Try again %(when)s.", when="{}")  # such as "in 37 seconds"
_WAIT_OVER = _("You can try again now.")
_THOUSAND = pgettext("how the digits of a number are grouped", "1,000")


class Language:
    """A language of the site. English texts need no catalogue.

    Args:
        name: A tag of BCP 47, such as `de` or `pt-BR`.
        files: The catalogues; an earlier one takes precedence.
        title: The name of the language in the language itself; None: a catalogue has it.
    """

    def __init__(self, name: str, files: Sequence[Path] = (), title: str | None = None) -> None:
        self.name = name
        self._files = files
        self._title = title
        # The key is a text and its context, or a translated text with a number and None.
        self._markups: dict[tuple[str, str | None], Markup] = {}

    @cached_property
    def catalogues(self) -> tuple[Catalogue, ...]:
        """The catalogues, which are read at the first use."""
        return tuple(map(read, self._files))

    @cached_property
    def direction(self) -> str:
        """`rtl` if the language is written from right to left, otherwise `ltr`."""
        parts = self.name.lower().split("-")
        return "ltr" if _RIGHT_TO_LEFT.isdisjoint(parts) else "rtl"

    @cached_property
    def title(self) -> str:
        """The name in the language itself, such as "Deutsch"; the tag if no catalogue has it."""
        return self._title or self._translation(_NAME.text, context=_NAME.context) or self.name

    def say(self, text: str) -> str:
        """Return a message in this language, and any other string as it is."""
        if not isinstance(text, Message):
            return text
        if isinstance(text, Joined):
            return "".join(map(self.say, text.parts))
        said = self._chosen(text.text, text.plural, text.number, text.context)
        return filled(said, text.values, self._written)

    def html(self, text: str) -> Markup:
        """Return the HTML of a message in this language, or of any other string.

        A string in a message, such as a name, keeps its own direction.
        """
        if not isinstance(text, Message):
            return escape(text)
        if isinstance(text, Joined):
            joined = Markup().join(map(self.html, text.parts))
            if not isinstance(text, Wait):
                return joined
            again, over = map(self.say, (_TRY_AGAIN, _WAIT_OVER))
            return _WAIT % (text.seconds, again, over, joined)
        said = self._chosen(text.text, text.plural, text.number, text.context)
        return Markup(filled(escape(said), text.values, self._isolated))  # noqa: S704

    def markup(
        self,
        text: str,
        values: Mapping[str, object],
        *,
        plural: str = "",
        number: int = 1,
        context: str = "",
    ) -> Markup:
        """Return the HTML of a literal in a template; the values in it are escaped.

        Raises:
            KeyError, TypeError, ValueError: The values do not fit the text.
        """
        key = (text, context) if not plural else (self._chosen(text, plural, number, context), None)
        markup = self._markups.get(key)
        if markup is None:
            chosen = self._chosen(text, plural, number, context)
            if PERCENT_ALONE.search(chosen):
                raise ValueError("there is a percent sign alone")
            is_own = chosen in (text, plural)
            markup = Markup(chosen) if is_own else self._with_safe_text(chosen)  # noqa: S704
            self._markups[key] = markup
        if "%" not in markup:
            return markup
        return markup % {name: self._written(value) for name, value in values.items()}

    def number(self, value: int) -> str:
        """Return a number with the separators of this language."""
        return f"{value:,}".replace(",", self.say(_THOUSAND).strip("10"))

    def _chosen(self, text: str, plural: str, number: int, context: str) -> str:
        translation = self._translation(text, plural, number, context)
        if translation is not None:
            return translation
        return plural if plural and number != 1 else text

    def _translation(
        self, text: str, plural: str = "", number: int = 1, context: str = ""
    ) -> str | None:
        found = (each.find(context, text, plural, number) for each in self.catalogues)
        return next((each for each in found if each is not None), None)

    def _written(self, value: object) -> object:
        if type(value) is int:
            return self.number(value)
        return self.say(value) if isinstance(value, Message) else value

    def _isolated(self, value: object) -> object:
        if isinstance(value, Message):
            return self.html(value)
        if not isinstance(value, str):
            return self._written(value)
        others = ("L",) if self.direction == "rtl" else ("R", "AL")  # bidirectional classes
        is_mixed = any(bidirectional(each) in others for each in value)
        return _BDI % value if is_mixed else value

    def _with_safe_text(self, translation: str) -> Markup:
        """Return a translation, escaped except for character references and its tags.

        `catalogues` has checked that the tags are the same as in the text.
        """
        tags = TAG.findall(translation)
        texts = map(self._safe, TAG.split(translation))
        pairs = zip(texts, (*tags, ""), strict=True)
        return Markup("".join(chain.from_iterable(pairs)))  # noqa: S704 - escaped, but for the tags

    def _safe(self, text: str) -> str:
        parts = _REFERENCE.split(text)
        safe = "".join(each if number % 2 else escape(each) for number, each in enumerate(parts))
        # Not alone in an element: there, a value has one direction anyway, and people copy it.
        is_mixed = self.direction == "rtl" and not PLACEHOLDER.fullmatch(text)
        return PLACEHOLDER.sub(_ISOLATED, safe) if is_mixed else safe


read = cache(Catalogue)  # once in a process, for pages and emails

ENGLISH = Language("en")  # without catalogues


def has_message(value: object) -> bool:
    """Return whether a document has a message."""
    if isinstance(value, Mapping):
        return any(map(has_message, value.values()))
    return any(map(has_message, value)) if isinstance(value, list) else isinstance(value, Message)


def translated(value: object, language: Language) -> object:
    """Return a document with its messages in a language."""
    if isinstance(value, Mapping):
        return {name: translated(each, language) for name, each in value.items()}
    if isinstance(value, list):
        return [translated(each, language) for each in value]
    return language.say(value) if isinstance(value, Message) else value
