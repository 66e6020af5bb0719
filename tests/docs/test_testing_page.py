"""docs/testing.md: its tests run."""

from tests.docs.pages import PAGES, code


def test_the_tests_pass(run):
    names = [program.partition("\n")[0] for program in code(PAGES["docs/testing.md"], "python")]
    tests = "test_publish.py test_editors.py test_keys.py test_factors.py test_providers.py"
    tests += " test_apps.py test_reset.py"
    feature = ["# badge.py", "# test_badge.py"]
    expected = ["# reports.py", "# conftest.py", *(f"# {name}" for name in tests.split())]
    assert names == [*expected, *feature]
    assert "14 passed" in run(f"python -m pytest -p no:cacheprovider {tests} test_badge.py")
