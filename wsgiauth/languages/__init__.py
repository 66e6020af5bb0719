"""The languages of a site. Accept-Language can only choose one of them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from os import PathLike
from pathlib import Path

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages.catalogues import files_in, key
from wsgiauth.languages.language import Language

# The shipped languages, with their names, so that the list on every page loads no catalogue.
SHIPPED = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "ja": "日本語",
    "ar": "العربية",
}

_CATALOGUES = Path(__file__).with_name("locale")
_MAX_HEADER = 1000  # characters of Accept-Language


@cache
def _shipped() -> Mapping[str, list[Path]]:
    return files_in(_CATALOGUES)


class Languages:
    """The languages of a site, in their order.

    Args:
        names: The setting LANGUAGES; the first one is the default. Empty: all shipped languages,
            and all in the folder.
        folder: The setting TRANSLATIONS: further catalogues, and changes of the shipped ones.

    Raises:
        ConfigurationError: A name has no catalogue, or a catalogue in the folder is wrong.
    """

    def __init__(
        self, names: Sequence[str] = (), folder: str | PathLike[str] | None = None
    ) -> None:
        shipped, of_site = _shipped(), files_in(folder) if folder else {}
        # In the order of the shipped languages, and spelled as they are.
        spelled = {key(name): name for name in (*SHIPPED, *of_site, *SHIPPED)}
        changes = {spelled[key(name)]: files for name, files in of_site.items()}
        for name in names:
            if key(name) not in spelled:
                raise ConfigurationError(
                    f"LANGUAGES names {name!r}, for which there is no catalogue. There are"
                    f" {', '.join(spelled.values())}."
                )
        self._by_name: dict[str, Language] = {}
        for name in [spelled[key(each)] for each in names] or spelled.values():
            files = [*changes.get(name, ()), *shipped.get(name, ())]
            self._by_name[name] = Language(name, files, SHIPPED.get(name))
            if name in changes:
                _ = self._by_name[name].catalogues  # report a mistake in them at start
        self.default: Language = next(iter(self))

    def __iter__(self) -> Iterator[Language]:
        """Return the languages, in their order."""
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def find(self, name: str) -> Language | None:
        """Return the language of this name, spelled exactly so, or None."""
        return self._by_name.get(name)

    def accepted(self, header: str) -> Language | None:
        """Return the language for Accept-Language, by RFC 4647 section 3.4, or None."""
        if not header or len(header) > _MAX_HEADER:
            return None
        from webob.acceptparse import create_accept_language_header  # as in `web.request`

        accept = create_accept_language_header(header)
        return self.find(str(accept.lookup(list(self._by_name), default="")))
