"""Writes into docs/settings.md what the code declares: `make settings`."""

import re
from dataclasses import fields

from tests.docs.pages import ROOT
from wsgiauth import Settings
from wsgiauth.settings.described import described, written
from wsgiauth.settings.kinds import declarations

PAGE = ROOT / "docs/settings.md"
_FACTS = re.compile(r"^### ([A-Z_]+)\n\n(.*)\n", re.MULTILINE)
_DEFAULTS = {
    each.name: f"`{written(each.default)}`" if written(each.default) else ""
    for each in fields(Settings)
} | {"HASHING_THREADS": "the number of processors"}
_UNSAID = ("on or off", "a random string", "a non-empty string or unset")  # by the introduction


def updated(page):
    """Return the page with the declared meaning, default and range below each heading."""
    return _FACTS.sub(_facts, page)


def _facts(block):
    name, found = block.groups()
    declared = described(declarations(Settings)[name], _DEFAULTS[name], unsaid=_UNSAID)
    if found.replace("`", "") == declared.replace("`", ""):
        declared = found  # with literals in backticks, by hand
    return f"### {name}\n\n{declared}\n"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
