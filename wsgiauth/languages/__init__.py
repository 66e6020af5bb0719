"""The languages of a site. Accept-Language can only choose one of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages.catalogues import files_in, key
from wsgiauth.languages.language import Language, read

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
        features: The folders of the catalogues of features, by the feature's name, which is also
            that of the file. They add no language, and change no text that the others have.

    Raises:
        ConfigurationError: A name has no catalogue, or a catalogue is wrong.
    """

    def __init__(
        self,
        names: Sequence[str] = (),
        folder: str | PathLike[str] | None = None,
        features: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        with _faults_of("TRANSLATIONS"):
            of_site = files_in(folder) if folder else {}
        with _faults_of("FEATURES"):
            of_features = _files_of(features)
        shipped = _shipped()
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
            first, last = changes.get(name, []), of_features.get(key(name), [])
            files = [*first, *shipped.get(name, ()), *last]
            self._by_name[name] = Language(name, files, SHIPPED.get(name))
            for setting, wrong in (("TRANSLATIONS", first), ("FEATURES", last)):
                with _faults_of(setting):  # reported at start
                    list(map(read, wrong))
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


def _files_of(features: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Return the catalogues of features, by the `key` of the language."""
    found: dict[str, list[Path]] = {}
    for feature, folder in features.items():
        for name, files in files_in(folder, feature).items():
            found.setdefault(key(name), []).extend(files)
    if "en" in found:  # ours is none, so it would change our texts
        raise ConfigurationError(f"{found['en'][0]}: English texts need no catalogue.")
    return found


@contextmanager
def _faults_of(setting: str) -> Iterator[None]:
    """Name the setting to which a wrong catalogue belongs."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{setting}: {error}") from None
