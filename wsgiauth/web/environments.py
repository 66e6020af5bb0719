"""Jinja2's environments, in a module of their own, because most programs show no page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType

import jinja2
from jinja2.bccache import Bucket

from wsgiauth.web import translations


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


def make_environment(
    folder: str | os.PathLike[str] | None,
    own_folders: Sequence[Path],
    features: Mapping[str, Path],
    *,
    autoescape: bool,
) -> jinja2.Environment:
    """Return the environment of `Templates`; see there for the arguments."""
    own = jinja2.FileSystemLoader(own_folders)
    further = {name: jinja2.FileSystemLoader(each) for name, each in features.items()}
    of_site = [] if folder is None else [jinja2.FileSystemLoader(folder)]
    named = jinja2.PrefixLoader({**further, "wsgiauth": own})
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([*of_site, own, *further.values(), named]),
        autoescape=autoescape,  # noqa: S701 - off for plain text only
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
        finalize=None if autoescape else translations.shown,  # MarkupSafe asks a message itself
        auto_reload=False,
        bytecode_cache=_compiled[autoescape],
    )
    translations.install(environment)
    return environment
