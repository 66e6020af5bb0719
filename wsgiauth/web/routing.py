"""Finds what belongs to a path: an exact path, or a pattern such as `/admin/users/{id}`."""

import re
from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar
from wsgiref.types import WSGIEnvironment

ID = "id"  # a name in patterns for the number of a row
ROUTING_ARGS = "wsgiorg.routing_args"  # https://wsgi.readthedocs.io/en/latest/specifications/

_NUMBER = "[1-9][0-9]{0,17}"  # every such number fits into 64 bits
_WORD = "[a-z][a-z-]{0,63}"

_Target = TypeVar("_Target")


class Match(NamedTuple, Generic[_Target]):
    """What belongs to a path.

    Attributes:
        target: What the routes have for it.
        arguments: The parts of the path that the names in a pattern stand for.
    """

    target: _Target
    arguments: Mapping[str, str]


class Router(Generic[_Target]):
    """Finds the target of a path.

    A name in braces in a route stands for a part of the path: `{id}` for a positive number of at
    most 18 digits without leading zeros, any other for a word of lower-case letters and dashes. An
    exact route takes precedence over a pattern.

    Args:
        routes: Targets, by path or pattern.
    """

    def __init__(self, routes: Mapping[str, _Target]) -> None:
        self._exact = {path: each for path, each in routes.items() if "{" not in path}
        self._patterns = [
            (_compile(path), each) for path, each in routes.items() if path not in self._exact
        ]

    def find(self, path: str) -> Match[_Target] | None:
        """Return what belongs to a path, or None."""
        if path in self._exact:
            return Match(self._exact[path], {})
        for pattern, target in self._patterns:
            found = pattern.fullmatch(path)
            if found is not None:
                return Match(target, found.groupdict())
        return None


def routing_argument(environ: WSGIEnvironment, name: str) -> str:
    """Return the part of the path that a name in the pattern of this request stands for."""
    argument: str = environ[ROUTING_ARGS][1][name]
    return argument


def routing_number(environ: WSGIEnvironment) -> int:
    """Return the number in the path of this request."""
    return int(routing_argument(environ, ID))


def _compile(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern; all else in it is literal."""
    parts = re.split(r"\{(\w+)\}", pattern)
    literals = [re.escape(part) for part in parts[::2]]
    names = [f"(?P<{name}>{_NUMBER if name == ID else _WORD})" for name in parts[1::2]]
    return re.compile("".join(map("".join, zip(literals, [*names, ""], strict=True))))
