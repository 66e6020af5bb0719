"""Rows that end with a change of their user."""

import time
from contextlib import suppress

import pytest

from tests.conftest import HASH
from tests.support.keys import make_key
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import ADDRESS, RESET, Key, OneTimeSecret
from wsgiauth.authentication import one_time

pytestmark = pytest.mark.every_database


@pytest.fixture
def ada(database):
    """Return a user who has an API key and, by email, two links."""
    ada = User.objects.create(username="ada", email="ada@example.org", hashed_password=HASH)
    make_key(ada)
    for purpose in (ADDRESS, RESET, "other"):
        one_time.issue(purpose, ada, now=time.time(), lifetime=60)
    return ada


def left():
    """Return the number of keys, and the purposes of the secrets."""
    return Key.select().count(), sorted(each.purpose for each in OneTimeSecret.select())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"is_active": False}, (0, [ADDRESS, "other", RESET])),
        ({"email": "other@example.org"}, (1, ["other"])),
        ({"email": "ada@example.org", "is_active": True}, (1, [ADDRESS, "other", RESET])),
        ({"username": "other", "is_staff": True}, (1, [ADDRESS, "other", RESET])),
    ],
    ids=["deactivation", "another address", "as before", "other changes"],
)
def test_what_a_change_ends_is_deleted(ada, changes, expected):
    for name, value in changes.items():
        setattr(ada, name, value)
    ada.save()
    assert left() == expected


def test_what_a_change_ends_is_there_again_if_the_change_is_rolled_back(ada):
    ada.is_active, ada.email = False, "other@example.org"
    with suppress(RuntimeError), storage.database.atomic():
        ada.save()
        assert left() == (0, ["other"])
        raise RuntimeError
    assert left() == (1, [ADDRESS, "other", RESET])
