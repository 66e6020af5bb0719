"""`pytest --parallel`, which runs the tests in several processes."""

import os
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT

pytestmark = pytest.mark.slow

ALL_ENDS = """
import warnings
import pytest

def test_passes(tmp_path):
    warnings.warn("old")

def test_fails():
    print("printed")
    assert 1 == 2

@pytest.fixture
def broken():
    raise KeyError("broken")

def test_errs(broken):
    pass

@pytest.mark.skip(reason="not today")
def test_skipped():
    pass

@pytest.mark.xfail
def test_is_expected_to_fail():
    assert False
"""
WAITS = """
import pathlib, time
import pytest

@pytest.fixture
def place():
    pathlib.Path("begun").touch()
    yield
    pathlib.Path("ended").touch()

def test_waits(place):
    time.sleep(60)
"""
IGNORES_THE_SIGNAL = """
import pathlib, time

def test_goes_on():
    pathlib.Path("begun").touch()
    for _ in range(2):
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""
ENDS_WHILE_THE_OTHER_WAITS = """
import os, pathlib

def test_until_the_other_waits():
    while not pathlib.Path("begun").exists():
        pass

def test_ends():
    {}
"""
FAILS_AT_ITS_END = """
import os

def pytest_unconfigure(config):
    assert "TEST_WORKER" not in os.environ
"""


def run(folder, *options, **files):
    """Run pytest on these modules in a folder; return the status and the lines."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.support.workers", "--parallel", *options],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "TEST_WORKER"}
        | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "-p no:randomly"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout.splitlines()


def test_the_report_is_that_of_one_process(tmp_path):
    status, lines = run(tmp_path, test_ends=ALL_ENDS, test_pass="def test_passes(): pass\n")
    assert status == 1
    found = "1 failed, 2 passed, 1 skipped, 1 xfailed, 1 warning, 1 error in "
    assert found in lines[-1]
    assert lines.count("printed") == lines.count("E       assert 1 == 2") == 1
    assert lines.count("  " + str(tmp_path / "test_ends.py") + ":6: UserWarning: old") == 1


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("os._exit(3)", "Interrupted: a worker died in test_a.py::test_ends, with status 3"),
        ("assert False", "stopping after 1 failures"),
    ],
    ids=["it dies", "it fails"],
)
def test_a_test_that_ends_the_run_interrupts_the_others(tmp_path, end, message):
    ends = ENDS_WHILE_THE_OTHER_WAITS.format(end)
    status, lines = run(tmp_path, "-x", test_a=ends, test_b=WAITS)
    assert status != 0
    assert [line for line in lines if message in line]
    assert (tmp_path / "ended").exists()


def test_a_worker_that_fails_after_its_tests_is_no_success(tmp_path):
    passes = "def test_passes(): pass\n"
    status, lines = run(tmp_path, conftest=FAILS_AT_ITS_END, test_passes=passes)
    assert status != 0
    assert [line for line in lines if "a worker failed after its last test" in line]
    assert [line for line in lines if "AssertionError" in line]


def test_a_worker_that_ignores_the_signal_does_not_keep_the_run(tmp_path):
    ends = ENDS_WHILE_THE_OTHER_WAITS.format("assert False")
    status, lines = run(tmp_path, "-x", test_a=ends, test_b=IGNORES_THE_SIGNAL)
    assert status != 0
    assert "= 1 failed, " in lines[-1]


def test_options_that_use_the_terminal_run_the_tests_in_one_process(tmp_path):
    status, lines = run(tmp_path, "--setup-show", test_passes="def test_passes(): pass\n")
    assert status == 0
    assert "1 passed in " in lines[-1]
