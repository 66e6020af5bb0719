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
from tests.support.tables import row_by_row
from wsgiauth import Settings

PAGE = PAGES["docs/settings.md"]
EXAMPLES = "".join(code(PAGE, "sh"))
NAMES = [each.name for each in fields(Settings)]


def test_the_page_says_what_is_declared():
    assert updated(PAGE) == PAGE


@row_by_row("found", [r"^### (.*)", r"^export (\w+)="], ids=["block", "example"])
def test_each_setting_has_one(found):
    different = {*re.findall(found, PAGE, re.MULTILINE)} ^ {*NAMES}
    assert not different, f"docs/settings.md has no block of {different}, or one too many"


def test_a_block_gets_what_is_declared():
    page = "## Mail\n\n### LINK_MINUTES\n\nMore.\n"
    declared = "How long the link in an email can be used.\n\n- Default: `60`\n- Must be: a whole"
    assert updated(page).startswith(f"## Mail\n\n### LINK_MINUTES\n\n{declared}")
    assert updated(updated(page)) == updated(page)


def test_the_examples_are_valid_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("secret.key", "former.key", "factor.key", "former-factor.key"):
        (tmp_path / name).write_text(token_hex(32), "utf-8")
    (tmp_path / "former-pepper.txt").write_text("pepper\n", "utf-8")
    (tmp_path / "breached-passwords.txt").write_text(f"{'0' * 40}:1\n", "utf-8")
    (tmp_path / "templates").mkdir()
    (tmp_path / "translations/de/LC_MESSAGES").mkdir(parents=True)
    (tmp_path / "translations/de/LC_MESSAGES/wsgiauth.mo").touch()
    listing = f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    done = subprocess.check_output(["bash", "-euc", EXAMPLES + listing], text=True, env={})
    Settings.from_mapping(json.loads(done))


def test_the_templates_are_listed():
    listed = re.findall(r"^\| `(.*?)` \| .+ \|$", PAGES["docs/templates.md"], re.MULTILINE)
    assert sorted(listed) == sorted(OWN), "run `make endpoints`"
