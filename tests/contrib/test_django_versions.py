"""The adapter for Django with other versions of Django, and with an application.

Each test runs files of tests in a process of its own, because Django can be set up only once.
"""

import sys

import pytest

from tests.conftest import require
from tests.support.versions import python_with, run_tests

VERSIONS = {
    "4.2": ("3.11", "Django==4.2.*", "djangorestframework==3.15.*"),
    "6.0": ("3.12", "Django==6.0.*", "djangorestframework"),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_adapter_works_with_another_version(version):
    minimum, *requirements = VERSIONS[version]
    printed = run_tests(python_with(*requirements, minimum=minimum), "tests/contrib/django")
    assert " passed" in printed


def test_wagtail_logs_in_and_out_by_wsgiauth():
    require("wagtail")
    path = "tests/contrib/django_apart/wagtail_site.py"
    printed = run_tests(sys.executable, path, COVERAGE_PROCESS_CONFIG="")  # for speed
    assert " passed" in printed
