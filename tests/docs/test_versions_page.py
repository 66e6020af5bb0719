"""docs/versions.md: its list of what is public has each kind of the record."""

import re

from tests.docs.pages import PAGES, ROOT, section

PAGE = PAGES["docs/versions.md"]


def test_each_kind_of_the_record_is_in_the_list():
    ends = re.findall(r"^- .* \((`[^()]*`)\)$", section(PAGE, "What is public"), re.MULTILINE)
    listed = re.findall(r"`(\w+)`", " ".join(ends))
    record = (ROOT / "tests/public_surface/current.txt").read_text("utf-8")
    assert sorted(listed) == sorted({*re.findall(r"^(\w+) ", record, re.MULTILINE)})
