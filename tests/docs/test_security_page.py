"""docs/security.md: the threats name promises that exist, and each theme has its risks."""

import re

from tests.docs.pages import PAGES, section

PAGE = PAGES["docs/security.md"]
PROMISED = re.findall(r"^(\d+)\. ", PAGES["docs/promises.md"], re.MULTILINE)
DEFENDED = section(PAGE, "What is defended, and how")
NOT_DEFENDED = section(PAGE, "What is not defended")


def test_the_promises_that_are_named_exist():
    lists = re.findall(r"\((\d+(?:, \d+)*)(?:\)|; )", DEFENDED)
    assert len(lists) > 25
    assert {number for each in lists for number in each.split(", ")} <= {*PROMISED}


def test_the_risks_that_are_not_defended_are_named_by_theme():
    themes = re.split(r"^### ", NOT_DEFENDED, flags=re.MULTILINE)[1:]
    assert len(themes) == 8
    assert [each.partition("\n")[0] for each in themes if each.count("\n- ") < 8] == []
