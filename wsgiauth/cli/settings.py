"""The command that lists the settings, also those of FEATURES."""

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, fields
from difflib import get_close_matches
from textwrap import wrap
from typing import Any, NamedTuple

from wsgiauth.console.command import Arguments, UsageError, environment
from wsgiauth.console.output import print_line, print_list
from wsgiauth.console.parser import Parser
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings, class_for
from wsgiauth.settings.described import described, written
from wsgiauth.settings.features import Declaration, load, valid
from wsgiauth.settings.kinds import Setting, declarations

_MAX_WIDTH = 100  # characters of a line
# A username, a password or another secret in a URL, perhaps of a setting that should have none.
_SECRET_IN_URL = re.compile(
    r"://\S*@|[?&#;][^=&\s]*(pass|pwd|secret|token|key|sig|auth|cred|code)[^=&\s]*=", re.IGNORECASE
)


class _Listed(NamedTuple):
    """A setting and its value, as the environment has it; an empty one is not set."""

    field: "Field[Any]"
    feature: str | None
    value: str
    problem: str | None = None

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def setting(self) -> Setting:
        declared: Setting = self.field.metadata["setting"]
        return declared

    @property
    def is_secret(self) -> bool:
        return not self.field.repr or _SECRET_IN_URL.search(self.value) is not None

    def document(self) -> dict[str, object]:
        """Return the object of `--json`."""
        return {
            "name": self.name,
            "feature": self.feature,
            "meaning": self.setting.meaning,
            "default": written(self.field.default) or None,
            "expected": self.setting.expected,
            "needs": self.setting.needs or None,
            "is_secret": self.is_secret,
            "is_set": self.value != "",
            "value": None if self.is_secret else self.value or None,
            "problem": self.problem,
        }

    def paragraph(self, width: int) -> Iterator[str]:
        """Yield the lines for people."""
        if not self.value:
            yield f"{self.name} (not set)"
        else:
            shown = " (set)" if self.is_secret else f"={shlex.quote(self.value)}"
            yield f"{self.name}{shown}"
        default = written(self.field.default)
        sentences = [described(self.setting, f"`{default}`" if default else "")]
        if self.setting.needs:
            sentences.append(f"Needs {self.setting.needs}.")
        if self.feature is not None:
            sentences.append(f"Of the feature {self.feature}.")
        if self.problem is not None:
            sentences.append(f"Wrong: {self.problem}")
        text = " ".join(sentences)
        for line in wrap(text, width - 2, break_long_words=False, break_on_hyphens=False):
            yield f"  {line}"


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    added = parser.command(
        "settings",
        print_settings,
        "--json",
        examples=("", "MAIL_URL MAIL_FROM"),
        details="The values are those of the process environment; secrets are not shown.",
    )
    added.add_argument("names", metavar="NAME", nargs="*", help="list only these settings")


def print_settings(arguments: Arguments) -> None:
    """Print what each setting means and accepts, and its value, also if some are wrong."""
    environ = environment(arguments)
    features, unusable = _features(environ)
    problems = [*unusable, *_problems({**environ, "FEATURES": ""} if unusable else environ)]
    kinds = [(None, Settings), *((each.name, each.settings) for each in features)]
    listed = [
        _Listed(each, name, environ.get(each.name, ""), _about(each.name, problems))
        for name, kind in kinds
        if kind is not None
        for each in fields(kind)
        if "setting" in each.metadata  # else FEATURES is wrong
    ]
    chosen = _chosen(listed, arguments.names, unusable) if arguments.names else listed
    if arguments.json:
        print_list([[each.document() for each in chosen]], {}, as_json=True)
    else:
        width = min(shutil.get_terminal_size().columns, _MAX_WIDTH)
        for line in "\n\n".join("\n".join(each.paragraph(width)) for each in chosen).split("\n"):
            print_line(line)
    if unusable:
        raise ConfigurationError(*unusable)


def _features(environ: Mapping[str, str]) -> tuple[list[Declaration], Sequence[str]]:
    """Return the features that can be imported, and why FEATURES cannot be used."""
    features: list[Declaration] = []
    unusable: list[str] = []
    setting = declarations(Settings)["FEATURES"]
    entries = setting.parse(environ.get("FEATURES", ""))
    for each in valid(entries):
        try:
            features += load([each])
        except ConfigurationError as error:
            unusable += error.problems
    try:
        setting.checked("FEATURES", entries)
        class_for(environ, Settings)
    except ConfigurationError as error:  # perhaps of several features together
        unusable = unusable or [*error.problems]
    return features, unusable


def _problems(environ: Mapping[str, str]) -> Sequence[str]:
    try:
        Settings.for_server(environ)
    except ConfigurationError as error:
        return error.problems
    return ()


def _about(name: str, problems: Sequence[str]) -> str | None:
    return next((each for each in problems if each.startswith(f"{name} ")), None)


def _chosen(
    listed: Sequence[_Listed], names: Sequence[str], unusable: Sequence[str]
) -> Sequence[_Listed]:
    """Return the settings of these names."""
    by_name = {each.name: each for each in listed}
    for name in names:
        if name.upper() not in by_name:
            typed = name.partition("=")[0]  # without a value, which can be a secret
            similar = get_close_matches(typed.upper(), by_name, 1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            raise UsageError("; ".join([f"there is no setting {typed!r}{hint}", *unusable]))
    return [by_name[each.upper()] for each in names]
