"""docs/settings.md: its table is that of `Settings`."""

import re
from dataclasses import MISSING, fields

from tests.docs.pages import PAGES
from wsgiauth import Settings


def test_the_table_is_that_of_settings():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGES["docs/settings.md"], re.MULTILINE)
    words = {"None": "none", "()": "none", "True": "`on`", repr(MISSING): "the processors"}
    expected = [
        (each.name, words.get(repr(each.default), f"`{each.default}`")) for each in fields(Settings)
    ]
    expected[0] = ("SECRET_KEY", "–")  # noqa: RUF001 - a dash: there is no default
    assert rows == expected
