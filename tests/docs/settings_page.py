"""Writes into docs/settings.md what the code declares: `make settings`."""

import re
from dataclasses import fields

from tests.docs.pages import ROOT
from wsgiauth import Settings
from wsgiauth.settings.kinds import declarations

PAGE = ROOT / "docs/settings.md"
_FACTS = re.compile(r"^### ([A-Z_]+)\n\n(.*)\n", re.MULTILINE)
_WORDS = {"None": "", "()": "", "True": "`on`", "False": "`off`"}
_DEFAULTS = {
    each.name: _WORDS.get(repr(each.default), f"`{each.default}`") for each in fields(Settings)
} | {"HASHING_THREADS": "the number of processors"}
_UNSAID = ("on or off", "a random string", "a non-empty string or unset")  # by the introduction


def updated(page):
    """Return the page with the declared meaning, default and range below each heading."""
    return _FACTS.sub(_facts, page)


def _facts(block):
    name, written = block.groups()
    setting = declarations(Settings)[name]
    expected = setting.expected.replace("a whole number from ", "")
    default = _DEFAULTS[name]
    word = default.strip("`")
    words = re.split(", | or ", expected)
    if word in words and setting.expected not in _UNSAID:
        expected = re.sub(r"\w+(?=, | or |$)", r"`\g<0>`", expected)
        expected, default = expected.replace(f"`{word}`", f"`{word}` (the default)"), ""
    facts = [f"Default: {default}"] if default else []
    facts += [expected] if setting.expected not in _UNSAID else []
    sentences = [setting.meaning, *filter(None, ["; ".join(facts)])]
    declared = " ".join(f"{_capitalized(each)}." for each in sentences)
    if written.replace("`", "") == declared.replace("`", ""):
        declared = written  # with literals in backticks, by hand
    return f"### {name}\n\n{declared}\n"


def _capitalized(text):
    is_word = text.split()[0].isalpha()  # and no literal
    return text[0].upper() + text[1:] if is_word else text


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
