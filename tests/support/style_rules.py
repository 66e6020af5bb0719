"""The rules of a style sheet (CSS), as far as ours need it."""

import re
from functools import lru_cache
from typing import NamedTuple


class Rule(NamedTuple):
    around: tuple[str, ...]  # the at-rules that it is in
    selector: str
    declarations: list[tuple[str, str]]


@lru_cache(maxsize=1)  # a test looks at a style sheet as a light and as a dark page
def rules_of(css):
    """Return the rules of a style sheet; its strings are empty."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    return tuple(_rules_of(re.sub(r'"[^"]*"', '""', css), ()))


def _rules_of(css, around):
    while "{" in css:
        prelude, _, rest = css.partition("{")
        end, depth = 0, 1
        while depth:
            brace = re.compile("[{}]").search(rest, end)
            end, depth = brace.end(), depth + (1 if brace[0] == "{" else -1)
        body, css, prelude = rest[: end - 1], rest[end:], " ".join(prelude.split())
        if prelude.startswith("@"):
            yield from _rules_of(body, (*around, prelude))
        else:
            parts = [each.partition(":") for each in body.split(";") if each.strip()]
            words = [(name.strip(), " ".join(value.split())) for name, _, value in parts]
            yield Rule(around, prelude, words)
