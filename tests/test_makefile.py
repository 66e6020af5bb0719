"""The commands of the Makefile that write files which are checked in."""

import shutil
import subprocess

import pytest

from tests.conftest import require_program
from tests.docs.pages import ROOT

# It begins to write, as real tools do, and fails.
FAILING = """#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1" = --output-file ]; then echo half > "$2"; fi
  shift
done
echo half
exit 1
"""


@pytest.mark.parametrize(
    ("command", "record"),
    [
        ("surface", "tests/public_surface/current.txt"),
        ("messages", "wsgiauth/languages/locale/wsgiauth.pot"),
    ],
)
def test_a_command_that_fails_leaves_its_record(tmp_path, command, record):
    require_program("make")
    shutil.copy(ROOT / "Makefile", tmp_path)
    for tool in ("python", "pybabel"):
        (tmp_path / tool).write_text(FAILING)
        (tmp_path / tool).chmod(0o755)
    file = tmp_path / record
    file.parent.mkdir(parents=True)
    file.write_text("a record\n")
    installed = ("--assume-old", ".venv/dev", "--assume-old", ".venv/check")
    done = subprocess.run(["make", *installed, f"BIN={tmp_path}", command], cwd=tmp_path)
    assert done.returncode != 0
    assert file.read_text() == "a record\n"
