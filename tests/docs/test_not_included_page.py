"""docs/not-included.md: each entry says what to do instead."""

import re

from tests.docs.pages import PAGES

PAGE = PAGES["docs/not-included.md"]


def test_each_entry_names_an_alternative():
    entries = re.findall(r"^- .*", PAGE.partition("## What you do not need")[0], re.MULTILINE)
    assert len(entries) > 12
    assert [each for each in entries if "](" not in each and "`" not in each] == []


def test_the_first_page_and_that_of_choices_lead_to_it():
    for page in ("README.md", "docs/choose.md"):
        assert "not-included.md" in PAGES[page]
