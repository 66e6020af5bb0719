"""docs/settings.md and docs/templates.md: what they list is what the code has."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from secrets import token_hex

from tests.docs.pages import PAGES, code
from tests.docs.settings_page import updated
from tests.support.own_templates import OWN
from wsgiauth import Settings

PAGE = PAGES["docs/settings.md"]
(EXAMPLE,) = code(PAGE, "sh")
NAMES = [each.name for each in fields(Settings)]


def test_the_page_says_what_is_declared():
    assert updated(PAGE) == PAGE


def test_each_setting_has_a_section():
    different = {*re.findall("^### (.*)", PAGE, re.MULTILINE)} ^ {*NAMES}
    assert not different, f"docs/settings.md has no section of {different}, or one too many"


def test_a_block_gets_what_is_declared():
    page = "## Mail\n\n### LINK_MINUTES\n\n.\n\nMore.\n"
    declared = "How long the link in an email can be used. Default: `60`; 5 to 1440."
    assert updated(page) == page.replace("\n.\n", f"\n{declared}\n")
    assert updated(updated(page)) == updated(page)


def test_the_example_is_valid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("secret.key", "factor.key"):
        (tmp_path / name).write_text(token_hex(32), "utf-8")
    listing = f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    done = subprocess.check_output(["bash", "-euc", EXAMPLE + listing], text=True, env={})
    Settings.from_mapping(json.loads(done))


def test_the_templates_are_listed():
    rows = re.findall(r"^- (`.*?`): .+$", PAGES["docs/templates.md"], re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`([\w/]+\.\w+)`", row)]
    assert sorted(listed) == sorted(OWN), "run `make endpoints`"
