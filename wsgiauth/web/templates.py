"""The Jinja2 templates of pages and emails, from the folder of a site or from wsgiauth."""

import os
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, dataclass_transform

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages.language import ENGLISH, Language
from wsgiauth.messages import speaking

if TYPE_CHECKING:
    import jinja2

_PACKAGE = Path(__file__).parents[1]
# Those of the kernel, and of each feature.
FOLDERS = (_PACKAGE / "templates", *sorted(_PACKAGE.glob("features/*/templates")))
_SUFFIXES = (".html", ".txt")
_FILES = (*_SUFFIXES, ".css", ".js", ".svg")
NO_FOLDERS: Mapping[str, Path] = MappingProxyType({})


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Content:
    """The content of a template: keyword arguments become attributes.

    Type checkers treat subclasses as frozen dataclasses. They are plain classes, because forty
    dataclasses would take a fifth of the time of `import wsgiauth`.
    """

    def __init__(self, **values: object) -> None:
        vars(self).update(values)

    def replaced(self, **values: object) -> Self:
        """Return a copy with other values."""
        return type(self)(**{**vars(self), **values})


class Templates:
    """Renders templates, with messages in a language; the first one imports Jinja2.

    Args:
        folder: Its templates replace those of wsgiauth and of features with the same name. They can
            extend these as "wsgiauth/login.html" and "FEATURE/name.html".
        features: The folders of the features that are not wsgiauth's own, by the feature's name.
        autoescape: Whether to escape every value for HTML.

    Raises:
        ConfigurationError: A feature has a template of the same name as wsgiauth or another one.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        features: Mapping[str, Path] = NO_FOLDERS,
        *,
        autoescape: bool,
    ) -> None:
        self._folder, self._features, self._autoescape = folder, features, autoescape
        _refuse_same_names(features)

    @cached_property
    def _environment(self) -> "jinja2.Environment":
        from wsgiauth.web.environments import make_environment

        return make_environment(self._folder, FOLDERS, self._features, autoescape=self._autoescape)

    def render(self, name: str, language: Language = ENGLISH, **values: object) -> str:
        """Render a template in a language."""
        with speaking(language):
            return self._environment.get_template(name).render(values)

    def check(
        self, name: str, language: Language = ENGLISH, feature: str = "", /, **values: object
    ) -> str:
        """Render an example, to find a mistake in its template at start.

        Args:
            feature: The feature of others that has the template.

        Raises:
            ConfigurationError: The template is wrong; the message names the file and the line.
        """
        import jinja2

        try:
            return self.render(name, language, **values)
        except jinja2.TemplateSyntaxError as error:
            file, reason = error.filename or error.name or name, f", line {error.lineno}: {error}"
        except jinja2.TemplateNotFound as error:
            file, line = _line_of(error, name)
            if feature and not line:
                raise self._missing(name, feature) from None
            reason = f"{line}: there is no {error.name}"
        except Exception as error:  # a template is a program, which can raise anything
            file, line = _line_of(error, name)
            reason = f"{line}: {error}"
        raise self.mistake(file, reason)

    def read(self, name: str) -> str:
        """Return the source of a template, or raise a ConfigurationError."""
        try:
            return self._path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self.mistake(name, f" cannot be read: {error}") from None

    def mistake(self, file: str, reason: str) -> ConfigurationError:
        """Return the error about a file; `reason` follows its name. It names the file's feature."""
        owner = "TEMPLATES"
        with suppress(OSError):  # of the folder of the site
            path = self._path(file)
            for name, folder in self._features.items():
                if path.is_relative_to(folder):
                    owner = f"The feature {name}"
        return ConfigurationError(f"{owner}: {file}{reason}")

    def _missing(self, name: str, feature: str) -> ConfigurationError:
        folder = self._features.get(feature)
        return ConfigurationError(
            f"The feature {feature} has no template {name}{f' in {folder}' if folder else ''}:"
            " check that its declaration has `folder`, and its package the template."
        )

    def is_ours(self, name: str) -> bool:
        """Return whether a template is one of wsgiauth's own, which the folder does not replace."""
        return self._path(name).is_relative_to(_PACKAGE)

    def _path(self, name: str) -> Path:
        folders = [*FOLDERS, *self._features.values()]
        if self._folder is not None:
            folders.insert(0, Path(self._folder))
        return next((path for each in folders if (path := each / name).is_file()), Path(name))


def _refuse_same_names(features: Mapping[str, Path]) -> None:
    for number, (feature, folder) in enumerate(features.items()):
        for prefix in {"wsgiauth", *features} - {feature}:
            if (folder / prefix).exists():  # "wsgiauth/login.html" is the name of ours
                raise ConfigurationError(
                    f"The feature {feature} cannot have templates in {folder / prefix}: the names"
                    f" of those of {prefix} begin with it."
                )
        others = [*FOLDERS, *list(features.values())[:number]]
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            other = next((each / name for each in others if (each / name).is_file()), None)
            if other is not None and path.suffix in _FILES:
                raise ConfigurationError(
                    f"The feature {feature} cannot replace the template {name.as_posix()}: {path}"
                    f" has the name of {other}. Only TEMPLATES replaces templates."
                )


def _line_of(error: Exception, name: str) -> tuple[str, str]:
    """Return the file of the template that raised an error, and its line; `name` if unknown."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    frame = next((each for each in frames if each.filename.endswith(_SUFFIXES)), None)
    return (name, "") if frame is None else (frame.filename, f", line {frame.lineno}")
