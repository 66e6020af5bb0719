"""The commands of the Makefile: their help, measurements, and files that are checked in."""

import re
import shutil
import subprocess

import pytest

from tests.conftest import require_program
from tests.docs.pages import ROOT
from tests.load import __main__ as measure
from tests.load.__main__ import MEASUREMENTS

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
IN_HELP = [
    *("install", "run", "example", "test", "check", "programs", "browsers", "databases"),
    *("format", "docs"),
]

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


def run_make(*arguments):
    require_program("make")
    return subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=ROOT, capture_output=True, text=True
    )


def test_help_lists_the_commands_that_people_use():
    *lines, last = run_make().stdout.splitlines()
    assert [line.split()[1] for line in lines] == IN_HELP
    assert "make measure" in last
    assert "CONTRIBUTING.md" in last


def test_every_other_command_is_described_for_contributors():
    targets = re.search(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)[1].split()
    others = {each for each in targets if not each.startswith(".")} - {*IN_HELP, "help"}
    described = set(re.findall(r"`make ([a-z-]+)", CONTRIBUTING))
    assert others <= described


def test_without_a_name_measure_lists_the_measurements():
    done = run_make("measure")
    assert done.returncode == 2
    for name, each in MEASUREMENTS.items():
        row = rf"^  {name} +{re.escape(each.purpose)}\n +\({each.takes}"
        assert re.search(row, done.stderr, re.MULTILINE), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["NAME=load"], "There is no measurement 'load': `make measure` lists them."),
        (
            ["NAME=flood", "SECONDS=3"],
            "The measurement flood takes no parameter, not SECONDS.",
        ),
        (
            ["NAME=soak", "EXAMPLES=3"],
            "The measurement soak takes SECONDS and DATABASES, not EXAMPLES.",
        ),
    ],
    ids=["an unknown name", "no parameters", "other parameters"],
)
def test_a_measurement_that_cannot_begin_says_why(arguments, message):
    done = run_make("measure", *arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == message


STATUSES = {".venv/weight": 2, "tests.load.million": 3, "tests.load.million.apps": 4}


@pytest.fixture
def calls(monkeypatch, statuses):
    """Return the commands that a measurement has called; none of them is run."""
    called = []

    def call(command, cwd):
        called.append(" ".join(command))
        return statuses.get(command[-1], 0)

    monkeypatch.setattr(measure, "call", call)
    return called


@pytest.mark.parametrize("statuses", [{}])
@pytest.mark.parametrize(
    ("arguments", "programs"),
    [
        (["fuzz"], ["dev", ".venv/bin/python -m tests.load.fuzz 60"]),
        (["fuzz", "SECONDS=5"], ["dev", ".venv/bin/python -m tests.load.fuzz 5"]),
        (
            ["soak", "DATABASES=sqlite"],
            ["dev", ".venv/bin/python -m tests.load.soak 3600 sqlite"],
        ),
        (
            ["million"],
            [
                "dev",
                ".venv/bin/python -m tests.load.million",
                ".venv/bin/python -m tests.load.million.apps",
                ".venv/bin/python -m tests.load.million.metrics",
            ],
        ),
        (["weight"], ["weight", ".venv/weight/bin/python -m tests.load.weight"]),
    ],
    ids=["defaults", "a parameter", "the second parameter", "three programs", "own environment"],
)
def test_a_measurement_installs_what_it_needs_and_runs_its_programs(arguments, programs, calls):
    environment, *programs = programs
    assert measure.main(*arguments) == 0
    assert calls == [f"make --no-print-directory .venv/{environment}", *programs]


@pytest.mark.parametrize("statuses", [STATUSES])
def test_the_first_that_fails_is_the_status_and_every_program_runs(calls):
    assert measure.main("million") == 3
    assert calls[-1].endswith("tests.load.million.metrics")
    assert measure.main("weight") == 2
    assert calls[-1].endswith(".venv/weight")


def test_every_program_of_tests_load_is_a_measurement():
    files = (ROOT / "tests/load").rglob("*.py")
    programs = {
        ".".join(path.relative_to(ROOT / "tests").with_suffix("").parts).removesuffix(".__main__")
        for path in files
        if 'if __name__ == "__main__"' in path.read_text("utf-8")
    }
    measured = {module for each in MEASUREMENTS.values() for module in each.modules}
    # The first is `make measure` itself, and the second `make pythons`.
    assert programs - {"load", "load.pythons"} == measured - {"support.house"}


def test_the_page_for_contributors_has_a_measurement_with_its_parameter():
    name, seconds = re.search(r"`make measure NAME=(\w+) (SECONDS)=\d+`", CONTRIBUTING).groups()
    assert seconds in MEASUREMENTS[name].parameters
