"""docs/asvs.md: each requirement of levels 1 and 2 is judged, by promises that exist."""

import re

from tests.docs.pages import PAGES, section

PAGE = PAGES["docs/asvs.md"]

# OWASP ASVS 5.0.0: the requirements of level 1 and of level 2, by chapter.
FIRST = """
    6.1.1 6.2.1 6.2.2 6.2.3 6.2.4 6.2.5 6.2.6 6.2.7 6.2.8 6.3.1 6.3.2 6.4.1 6.4.2
    7.2.1 7.2.2 7.2.3 7.2.4 7.4.1 7.4.2
    8.1.1 8.2.1 8.2.2 8.3.1
    9.1.1 9.1.2 9.1.3 9.2.1
    10.4.1 10.4.2 10.4.3 10.4.4 10.4.5
"""
SECOND = """
    6.1.2 6.1.3 6.2.9 6.2.10 6.2.11 6.2.12 6.3.3 6.3.4 6.4.3 6.4.4 6.5.1 6.5.2 6.5.3 6.5.4 6.5.5
    6.6.1 6.6.2 6.6.3 6.8.1 6.8.2 6.8.3 6.8.4
    7.1.1 7.1.2 7.1.3 7.3.1 7.3.2 7.4.3 7.4.4 7.4.5 7.5.1 7.5.2 7.6.1 7.6.2
    8.1.2 8.2.3 8.4.1
    9.2.2 9.2.3 9.2.4
    10.1.1 10.1.2 10.2.1 10.2.2 10.3.1 10.3.2 10.3.3 10.3.4 10.4.6 10.4.7 10.4.8 10.4.9 10.4.10
    10.4.11 10.5.1 10.5.2 10.5.3 10.5.4 10.5.5 10.6.1 10.6.2 10.7.1 10.7.2 10.7.3
"""
LEVEL_1, LEVEL_2 = FIRST.split(), SECOND.split()
CHAPTERS = (
    "V6 Authentication",
    "V7 Session Management",
    "V8 Authorization",
    "V9 Self-contained Tokens",
    "V10 OAuth and OIDC",
)
VERDICTS = {"met", "with a setting", "in part", "not met", "the site", "does not apply"}


def rows(text):
    """Return the cells of the rows that begin with the number of a requirement."""
    lines = re.findall(r"^\| \d.*\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def promises(text):
    """Return the numbers of promises that a text names."""
    named = re.findall(r"promises? (\d+(?:, \d+)*)", text, re.IGNORECASE)
    return {int(number) for each in named for number in each.split(", ")}


ROWS = rows(PAGE)


def test_every_requirement_has_a_row_in_order():
    listed = sorted((*LEVEL_1, *LEVEL_2), key=lambda each: [*map(int, each.split("."))])
    assert [row[0] for row in ROWS] == listed


def test_a_row_is_in_its_chapter():
    for each in CHAPTERS:
        (chapter,) = {row[0].partition(".")[0] for row in rows(section(PAGE, each))}
        assert each.startswith(f"V{chapter} ")


def test_a_row_has_its_level_a_verdict_and_a_reason():
    for number, level, requirement, verdict, reason in ROWS:
        assert level == ("1" if number in LEVEL_1 else "2"), number
        assert verdict in VERDICTS, number
        assert requirement, number
        assert reason, number


def test_the_verdicts_that_are_used_are_explained():
    explained = re.findall(r"^\| ([a-z ]+) \| ", PAGE.partition("\n## ")[0], re.MULTILINE)
    assert {row[3] for row in ROWS} == {*explained} - {"verdict"}


def test_the_promises_that_are_named_exist():
    promised = {
        int(each) for each in re.findall(r"^(\d+)\. ", PAGES["docs/promises.md"], re.MULTILINE)
    }
    assert promises(PAGE)
    assert promises(PAGE) <= promised


def test_the_security_page_links_to_it():
    assert "](asvs.md)" in PAGES["docs/security.md"]
