"""The adapter for Django with other user models, and without usernames.

They are tested in a process of its own, because Django can be set up only once.
"""

import sys

from tests.conftest import require
from tests.support.versions import run_tests


def test_a_user_model_of_the_application_works():
    require("django", "debug_toolbar")
    printed = run_tests(sys.executable, "tests/contrib/django_apart/custom_users.py")
    assert " passed" in printed


def test_a_site_without_usernames_works():
    require("django")
    printed = run_tests(sys.executable, "tests/contrib/django_apart/without_usernames.py")
    assert " passed" in printed
