"""Each change of what applications can rely on is recorded."""

import difflib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import require
from tests.docs.pages import ROOT

FOLDER = Path(__file__).parent
CURRENT = (FOLDER / "current.txt").read_text("utf-8").splitlines()


@pytest.mark.slow
def test_the_surface_is_the_recorded_one(unmeasured):
    require("flask", "django", "pyramid", "rest_framework")
    command = [sys.executable, "-Wignore", "-m", "tests.public_surface"]
    now = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    changed = [
        line
        for line in difflib.unified_diff(CURRENT, now.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    advice = "record it by `make surface`, and describe it in CHANGELOG.md:"
    assert not changed, "\n".join([advice, *changed])
