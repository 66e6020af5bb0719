"""docs/settings.md and docs/templates.md: their tables are those of the code."""

import re
from dataclasses import fields

import pytest

from tests.docs.pages import PAGES
from tests.support.own_templates import OWN
from wsgiauth import Settings
from wsgiauth.settings.kinds import declarations

ROWS = re.findall(
    r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", PAGES["docs/settings.md"], re.MULTILINE
)
WORDS = {"None": "none", "()": "none", "True": "`on`", "False": "`off`"}
DEFAULTS = {
    each.name: WORDS.get(repr(each.default), f"`{each.default}`") for each in fields(Settings)
} | {"HASHING_THREADS": "the processors"}


def test_the_tables_have_every_setting_once_with_its_default():
    listed = [(name, default) for name, default, _, _ in ROWS]
    assert sorted(listed) == sorted(DEFAULTS.items())


@pytest.mark.parametrize(("name", "_default", "expected", "meaning"), ROWS, ids=lambda row: row)
def test_a_row_says_what_a_value_must_be_and_means(name, _default, expected, meaning):
    setting = declarations(Settings)[name]
    assert expected.replace("`", "") == setting.expected
    assert meaning.startswith(setting.meaning)


def test_the_templates_are_listed():
    listed = re.findall(r"^\| `(.*?)` \| .+ \|$", PAGES["docs/templates.md"], re.MULTILINE)
    assert sorted(listed) == sorted(OWN)
