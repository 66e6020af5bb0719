"""Writes into docs/settings.md what the code declares, and its index: `make settings`."""

import re
from dataclasses import fields

from tests.docs.pages import ROOT, slug
from wsgiauth import Settings
from wsgiauth.settings.kinds import declarations

PAGE = ROOT / "docs/settings.md"
_FACTS = re.compile(r"^### (\w+)\n\n(?:.*\n\n- Default: .*\n- Must be: (.*)\n\n)?", re.MULTILINE)
_INDEX = re.compile(r"(?<=\n<!-- index -->\n).*?(?=^## )", re.MULTILINE | re.DOTALL)
_WORDS = {"None": "none", "()": "none", "True": "`on`", "False": "`off`"}
_DEFAULTS = {
    each.name: _WORDS.get(repr(each.default), f"`{each.default}`") for each in fields(Settings)
} | {"HASHING_THREADS": "the number of processors"}


def updated(page):
    """Return the page with the declared meaning, default and range below each heading."""
    return _INDEX.sub(_index(page), _FACTS.sub(_facts, page))


def _facts(block):
    name, expected = block.groups()
    setting = declarations(Settings)[name]
    if expected is None or expected.replace("`", "") != setting.expected:
        expected = setting.expected  # put its literals into backticks by hand
    meaning = setting.meaning[0].upper() + setting.meaning[1:]
    return f"### {name}\n\n{meaning}.\n\n- Default: {_DEFAULTS[name]}\n- Must be: {expected}\n\n"


def _index(page):
    groups = re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", page, re.MULTILINE)
    lines = [
        f"- [{title}](#{slug(title)}): "
        + ", ".join(f"[{name}](#{name.lower()})" for name in re.findall("### (.*)", blocks))
        for title, blocks in groups
    ]
    return "\n" + "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
