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
VERDICTS = {"with a setting", "in part", "the site", "does not apply"}  # the others are met


def met(text):
    """Return the level, the number and the reason of each requirement in the lists of a text."""
    found = re.findall(r"^- (\*\*)?(\d+\.\d+\.\d+)(?:\*\*)? (.*)$", text, re.MULTILINE)
    return [(level(bold), number, reason) for bold, number, reason in found]


def others(text):
    """Return the level and the cells of each requirement in the tables of a text."""
    lines = re.findall(r"^\| (\*\*)?(\d+\.\d+\.\d+)(?:\*\*)? \|(.*)\|$", text, re.MULTILINE)
    return [
        (level(bold), number, *map(str.strip, cells.split("|"))) for bold, number, cells in lines
    ]


def level(bold):
    """Return the level of a requirement; those of level 1 are bold."""
    return 1 if bold else 2


def key(number):
    """Return the key that sorts the numbers of requirements."""
    return [int(each) for each in number.split(".")]


def promises(text):
    """Return the numbers of the promises that a text names."""
    named = re.findall(r"promises? (\d+(?:, \d+)*)", text, re.IGNORECASE)
    return {int(number) for each in named for number in each.split(", ")}


def first_promises(reason):
    """Return the numbers of promises with which the reason of a list begins or that it brackets."""
    named = re.findall(r"^\d+(?:, \d+)*(?=$|[:;,])|(?<=\()\d+(?=\))", reason)
    return {int(number) for each in named for number in each.split(", ")}


MET, OTHERS = met(PAGE), others(PAGE)


def test_every_requirement_is_judged_once():
    judged = [row[1] for row in (*MET, *OTHERS)]
    assert sorted(judged, key=key) == sorted((*LEVEL_1, *LEVEL_2), key=key)


def test_each_list_and_table_is_in_order_and_in_its_chapter():
    for each in CHAPTERS:
        for rows in (met(section(PAGE, each)), others(section(PAGE, each))):
            numbers = [row[1] for row in rows]
            assert numbers == sorted(numbers, key=key)
            (chapter,) = {number.partition(".")[0] for number in numbers}
            assert each.startswith(f"V{chapter} ")


def test_the_requirements_of_level_1_are_bold():
    for row in (*MET, *OTHERS):
        assert row[0] == (1 if row[1] in LEVEL_1 else 2), row[1]


def test_a_requirement_that_is_not_met_has_its_words_a_verdict_and_a_reason():
    for _, number, requirement, verdict, reason in OTHERS:
        assert verdict in VERDICTS, number
        assert requirement, number
        assert reason, number


def test_the_verdicts_that_are_used_are_explained():
    explained = re.findall(r"^- ([a-z ]+): ", PAGE.partition("\n## ")[0], re.MULTILINE)
    assert {row[3] for row in OTHERS} == {*explained}


def test_the_promises_that_are_named_exist():
    promised = {
        int(each) for each in re.findall(r"^(\d+)\. ", PAGES["docs/promises.md"], re.MULTILINE)
    }
    named = promises(PAGE).union(*(first_promises(reason) for *_, reason in MET))
    assert len(named) > 40
    assert named <= promised


def test_the_security_page_links_to_it():
    assert "](asvs.md)" in PAGES["docs/security.md"]
