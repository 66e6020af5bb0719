"""Which tests each command of the Makefile runs: none is left out by all of them."""

from tests.support.targets import RUN_BY, TESTS, has_file, part_of

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
