"""The Jinja2 templates of pages and emails, from the folder of a site or from wsgiauth."""

import os
import traceback
from pathlib import Path
from types import CodeType
from typing import Self, dataclass_transform

import jinja2
from jinja2.bccache import Bucket

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.languages.language import ENGLISH, Language
from wsgiauth.messages import speaking
from wsgiauth.web import translations

_PACKAGE = Path(__file__).parents[1]
# Those of the kernel, and of each feature.
FOLDERS = (_PACKAGE / "templates", *sorted(_PACKAGE.glob("features/*/templates")))
_SUFFIXES = (".html", ".txt")


class _CompiledTemplates(jinja2.BytecodeCache):
    """Keeps compiled templates in memory for further sites in the process."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key, bucket.checksum] = bucket.code


# By whether values are escaped, on which the code of a template depends.
_compiled = {autoescape: _CompiledTemplates() for autoescape in (False, True)}


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
    """Renders templates, with messages in a language.

    Args:
        folder: Its templates replace wsgiauth's own of the same name, which they can extend, as
            "wsgiauth/login.html".
        autoescape: Whether to escape every value for HTML.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, autoescape: bool) -> None:
        own = jinja2.FileSystemLoader(FOLDERS)
        folders = [] if folder is None else [jinja2.FileSystemLoader(folder)]
        self._loader = jinja2.ChoiceLoader([*folders, own, jinja2.PrefixLoader({"wsgiauth": own})])
        self._environment = jinja2.Environment(
            loader=self._loader,
            autoescape=autoescape,  # noqa: S701 - off for plain text only
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
            finalize=None if autoescape else translations.shown,  # MarkupSafe asks a message itself
            auto_reload=False,
            bytecode_cache=_compiled[autoescape],
        )
        translations.install(self._environment)

    def render(self, name: str, language: Language = ENGLISH, **values: object) -> str:
        """Render a template in a language."""
        with speaking(language):
            return self._environment.get_template(name).render(values)

    def check(self, name: str, language: Language = ENGLISH, **values: object) -> str:
        """Render an example, to find a mistake in its template at start.

        Raises:
            ConfigurationError: The template is wrong; the message names the file and the line.
        """
        try:
            return self.render(name, language, **values)
        except jinja2.TemplateSyntaxError as error:
            raise _mistake(f"{error.filename or error.name}, line {error.lineno}", error) from None
        except jinja2.TemplateNotFound as error:
            where = _line_of(error) or name
            raise ConfigurationError(f"TEMPLATES: {where}: there is no {error.name}") from None
        except Exception as error:  # a template is a program, which can raise anything
            raise _mistake(_line_of(error) or name, error) from None

    def read(self, name: str) -> str:
        """Return the source of a template, or raise a ConfigurationError."""
        try:
            return self._loader.get_source(self._environment, name)[0]
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"TEMPLATES: {name} cannot be read: {error}") from None


def _line_of(error: Exception) -> str | None:
    """Return the file and the line of the template that raised an error, or None."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    frame = next((each for each in frames if each.filename.endswith(_SUFFIXES)), None)
    return frame and f"{frame.filename}, line {frame.lineno}"


def _mistake(where: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"TEMPLATES: {where}: {error}")
