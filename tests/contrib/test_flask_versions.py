"""The adapter with the oldest Flask that it supports; the others run with the newest."""

from tests.support.versions import python_with, run_tests


def test_flask_2_3_works():
    python = python_with("Flask[async]==2.3.*")
    assert " passed" in run_tests(python, "tests/contrib/test_flask.py")
