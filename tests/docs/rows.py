"""Writes rows about what no row by hand describes: `make endpoints`.

A comment in a page begins such a table or list, and names what it lists. So a feature needs no row
of its own, and a row by hand takes the place of one that is made.
"""

import re

from tests.docs.pages import ROOT
from tests.support.own_templates import OWN
from wsgiauth.cli import all_commands
from wsgiauth.features.registry import page_samples

PART = re.compile(r"^<!-- made: (commands|templates) -->$.*?^<!-- end -->$", re.M | re.S)
NAMED = re.compile(r"^(?:\| (`.*?) \||- (`.*?`): )", re.MULTILINE)
FILES = [ROOT / "docs" / name for name in ("command-line.md", "templates.md")]


def _commands():
    return {name: each.help for name, each in all_commands().items()}


def _templates():
    """Return the first sentence about each template: of the class of its page, if it has one."""
    pages = {each.template: type(each).__doc__ for each in page_samples()}
    return {name: pages.get(name, "").split("\n\n")[0].rstrip(".") for name in OWN}


# The heading, the form of a row, and the described names.
PARTS = {
    "commands": (["| further commands | what they do |", "|---|---|"], "| `{}` | {} |", _commands),
    "templates": ([], "- `{}`: {}", _templates),
}


def filled(page):
    """Return a page with its made rows."""
    rows = map("".join, NAMED.findall(PART.sub("", page)))
    by_hand = {name for row in rows for name in row.split("`")[1::2]}

    def make(part):
        heading, row, described = PARTS[part[1]]
        rows = [row.format(*each) for each in described().items() if each[0] not in by_hand]
        table = [*heading, *rows, ""] if rows else []
        return "\n".join([f"<!-- made: {part[1]} -->", "", *table, "<!-- end -->"])

    return PART.sub(make, page)


if __name__ == "__main__":
    for each in FILES:
        each.write_text(filled(each.read_text(encoding="utf-8")), encoding="utf-8")
