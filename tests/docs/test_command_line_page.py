"""docs/command-line.md: its commands print what it shows, and it lists every command."""

import re
import shlex
import subprocess
import sys

import pytest

from tests.docs.pages import PAGES, code, commands
from tests.docs.rows import filled
from tests.support.sites import serving
from wsgiauth import storage
from wsgiauth.cli import main
from wsgiauth.testing import make_user

COMMAND_LINE = PAGES["docs/command-line.md"]


@pytest.fixture
def two_users(accounts):
    for name in ("ada", "grace"):
        make_user(accounts.app, name)


@pytest.fixture
def run_here(folder, environ, monkeypatch, capsys):
    """Return a function that runs a command in this process, and returns what it prints."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("BCRYPT_ROUNDS", environ["BCRYPT_ROUNDS"])

    def run_command(command):
        program, *arguments = shlex.split(command.removeprefix("python -m "))
        assert program == "wsgiauth"
        status = main(arguments)
        storage.discard_connection(storage.current())
        printed, errors = capsys.readouterr()
        assert status == 0, errors
        return printed

    return run_command


def test_the_commands_print_what_is_shown_and_only_check_needs_the_key(
    run, run_here, accounts, two_users, environ
):
    key = environ.pop("SECRET_KEY")
    blocks = code(COMMAND_LINE, "console")
    for command, output in [each for block in blocks for each in commands(block)]:
        if "--url" in command:
            with serving(accounts.app) as address:
                printed = run_here(command.replace("https://www.example.org", address))
            assert printed.endswith("The site answers as it should.\n")
        elif "check" in command or "--app" in command:
            with pytest.raises(AssertionError, match="SECRET_KEY must be set"):
                run(command)
            printed = run(f"SECRET_KEY={key} {command}")
        else:
            printed = run_here(command)
        assert not output or printed == output


def test_every_command_is_listed():
    rows = re.findall(r"^\| (`.*?) \|", COMMAND_LINE.partition("\n## ")[0], re.MULTILINE)
    usage = subprocess.run(
        [sys.executable, "-m", "wsgiauth", "--help"], capture_output=True, text=True, check=True
    ).stdout
    listed = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert listed == set(re.findall(r"^    ([\w-]+)", usage, re.MULTILINE)), "run `make endpoints`"


def test_the_rows_that_no_one_writes_are_made():
    for page in ("docs/command-line.md", "docs/templates.md"):
        assert filled(PAGES[page]) == PAGES[page], "run `make endpoints`"
