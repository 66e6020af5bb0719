"""docs/testing.md: its tests run."""

from tests.docs.pages import PAGES, code


def test_the_tests_pass(run):
    names = [program.partition("\n")[0] for program in code(PAGES["docs/testing.md"], "python")]
    assert names == ["# conftest.py", "# test_publish.py"]
    assert "2 passed" in run("python -m pytest -p no:randomly -p no:cacheprovider test_publish.py")
