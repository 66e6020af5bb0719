"""Each change of what applications can rely on is recorded, and described in the changelog."""

import difflib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import require
from tests.docs.pages import ROOT
from tests.public_surface.changes import undescribed
from tests.support.tables import row_by_row

FOLDER = Path(__file__).parent
CURRENT = (FOLDER / "current.txt").read_text("utf-8").splitlines()
RELEASED = (FOLDER / "released.txt").read_text("utf-8").splitlines()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
UNRELEASED = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1]


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


def test_the_changelog_names_each_change_since_the_last_release():
    missing = undescribed(RELEASED, CURRENT, UNRELEASED)
    assert not missing, "\n".join(["CHANGELOG.md must name the last word of each:", *missing])


LINES = [
    "code 409 taken",
    "path POST /auth/login",
    "path POST /auth/login | request password",
    "python wsgiauth.User",
    "python wsgiauth.User | join(group: Group | str) -> bool",
    "python wsgiauth.create_user",
    "python wsgiauth.create_user | (username: str) -> User",
    "setting SESSION_HOURS: a whole number from 1 to 87600; default 12",
    "template login.html",
    "template login.html | page.next",
]


@row_by_row(
    ("line", "name"),
    [
        ("setting SESSION_DAYS: a whole number; default 1", "SESSION_DAYS"),
        ("path POST /auth/login | request pin", "pin"),
        ("path POST /auth/log", "/auth/log"),
        ("python wsgiauth.User | leave(group: Group | str) -> bool", "leave"),
        ("python wsgiauth.find_user", "find_user"),
        ("python wsgiauth.create_user | (username: str, email: str) -> User", "create_user"),
        ("template login.html | page.hint", "page.hint"),
        ("code 409 in_use", "in_use"),
        ("event login | pwd trusted", "trusted"),
    ],
)
def test_a_change_needs_its_name_in_the_changelog(line, name):
    others = f"`{name}-x`, x{name}, {name}/x"
    for before, after in ((LINES, [*LINES, line]), ([*LINES, line], LINES)):
        assert undescribed(before, after, others) == [line]
        assert undescribed(before, after, f"`{name}`: new.") == []


def test_a_changed_line_needs_its_name_once():
    after = [line.replace("default 12", "default 24") for line in LINES]
    assert len(undescribed(LINES, after, "")) == 2
    assert undescribed(LINES, after, "`SESSION_HOURS` is 24.") == []


def test_a_new_line_describes_its_parts():
    after = [*LINES, "path GET /auth/new", "path GET /auth/new | query next"]
    assert undescribed(LINES, after, "") == ["path GET /auth/new"]
