"""Which tests each command of the Makefile runs: none is left out by all of them."""

import pytest

from tests.support.targets import RUN_BY, TESTS, has_file, part_of, target_for

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
