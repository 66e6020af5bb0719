"""docs/command-line.md: its commands print what it shows, and it lists every command."""

import re
import subprocess
import sys

import pytest

from tests.docs.pages import PAGES, code, commands
from tests.support.sites import PASSWORD

COMMAND_LINE = PAGES["docs/command-line.md"]


@pytest.fixture
def two_users(run):
    for name in ("ada", "grace"):
        run(f"echo '{PASSWORD}' | wsgiauth createuser --username {name}"
            f" --email {name}@example.org --password-stdin")  # fmt: skip


def test_the_commands_print_what_is_shown_and_only_check_needs_the_key(run, two_users, environ):
    key = environ.pop("SECRET_KEY")
    (block,) = code(COMMAND_LINE, "console")
    for command, output in commands(block):
        if "check" in command:
            with pytest.raises(AssertionError, match="SECRET_KEY must be set"):
                run(command)
            command = f"SECRET_KEY={key} {command}"
        printed = run(command)
        assert not output or printed == output


def test_every_command_is_listed():
    rows = re.findall(r"^\| (`.*?) \|", COMMAND_LINE, re.MULTILINE)
    usage = subprocess.run(
        [sys.executable, "-m", "wsgiauth", "--help"], capture_output=True, text=True, check=True
    ).stdout
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == set(re.findall(r"^    (\w+)", usage, re.MULTILINE))
