"""docs/testing.md: its tests run."""

from tests.docs.pages import PAGES, code


def test_the_tests_pass(run):
    names = [program.partition("\n")[0] for program in code(PAGES["docs/testing.md"], "python")]
    tests = "test_publish.py test_editors.py test_keys.py test_factors.py test_providers.py"
    tests += " test_apps.py test_reset.py"
    assert names == ["# reports.py", "# conftest.py", *(f"# {name}" for name in tests.split())]
    assert "13 passed" in run(f"python -m pytest -p no:cacheprovider {tests}")
