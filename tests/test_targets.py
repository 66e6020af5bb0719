"""Which tests each command of the Makefile runs: none is left out by all of them."""

import subprocess
import sys

import pytest

from tests.docs.pages import ROOT
from tests.support.targets import RUN_BY, TESTS, has_file, part_of, target_for

# What takes long to import, and the tests of most features do without.
HEAVY = (
    "anyio",
    "django",
    "flask",
    "gevent",
    "httpx",
    "hypothesis",
    "requests",
    "schemathesis",
    "selenium",
    "sqlalchemy",
    "wsgiauth.features.registry",
)
COLLECT = """
import sys
import pytest

status = pytest.main(["--collect-only", "--quiet", sys.argv[1]])
print("collected", int(status), *sorted({*sys.argv[2:]} & {*sys.modules}))
"""
MODULES = sorted(TESTS.rglob("test_*.py"))


def test_each_file_is_run_by_the_commands_of_its_part():
    assert len(MODULES) > 300
    for path in MODULES:
        part = part_of(path)
        for target, parts in RUN_BY.items():
            # pytest asks about each folder on the way first.
            on_the_way = [each for each in path.parents if TESTS in each.parents]
            is_found = all(has_file(target, each) for each in (*on_the_way, path))
            assert is_found == (part in parts), (str(path), target)


def test_each_part_is_run_by_a_command_of_ci():
    run = set.union(*(RUN_BY[each] for each in ("check", "databases", "browsers", "programs")))
    assert {part_of(path) for path in MODULES} <= run | {"databases"}


@pytest.mark.parametrize(
    ("named", "path", "target"),
    [
        pytest.param("", "features/keys/test_keys.py", "check", id="everything"),
        pytest.param("", "test_races.py", "check", id="races of everything"),
        pytest.param("features/keys", "features/keys/test_keys.py", "check", id="a folder"),
        pytest.param("test_races.py", "test_races.py", None, id="races"),
        pytest.param("engines", "engines/test_login.py", None, id="a folder of browsers"),
        pytest.param("docs/test_site.py", "docs", None, id="the folder of a named file"),
        pytest.param("docs/test_site.py", "docs/test_pages.py", "check", id="another file there"),
    ],
)
def test_without_a_target_a_run_needs_python_and_sqlite_alone(named, path, target):
    assert target_for(TESTS / path, [TESTS / named]) == target


@pytest.mark.slow
@pytest.mark.usefixtures("unmeasured")
def test_the_tests_of_a_feature_start_without_heavy_libraries():
    command = [sys.executable, "-c", COLLECT, "tests/features/keys", *HEAVY]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.stdout.splitlines()[-1] == "collected 0"
