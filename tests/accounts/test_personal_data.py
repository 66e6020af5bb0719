"""Pages of rows, and what the application adds to the file of a person's own data."""

import math

import pytest

from tests.conftest import insert_users
from wsgiauth.accounts import personal_data
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import PersonalData, pages_of, rows_of
from wsgiauth.exceptions import ApplicationError


@pytest.fixture
def pages(monkeypatch):
    """Let a page have three rows."""
    monkeypatch.setattr(personal_data, "PAGE", 3)


@pytest.mark.every_database
def test_pages_have_each_row_once(database, pages):
    number = 0
    for sizes in ([], [2], [3], [3, 3, 1]):
        insert_users(sum(sizes) - number, start=number)
        number = sum(sizes)
        assert [len(page) for page in pages_of(User.select(), User.id)] == sizes
        names = [each.username for each in rows_of(User.select(), User.id)]
        assert names == [f"User{each}" for each in range(number)]


def test_a_row_that_is_deleted_meanwhile_makes_no_other_row_missing(database, pages):
    insert_users(5)
    found = rows_of(User.select(), User.id)
    first = next(found)
    User.delete().where(User.id == first.id).execute()
    assert [each.username for each in found] == ["User1", "User2", "User3", "User4"]


def test_without_a_function_the_application_adds_nothing():
    assert PersonalData({}).of_application(User()) is None


def test_what_the_function_returns_is_a_copy():
    orders = {"orders": [1, {"title": "é"}]}
    returned = PersonalData({}, lambda user: orders).of_application(User())
    assert returned == orders
    assert returned is not orders


def fail(user):
    raise LookupError


def nested():
    inner = []
    inner.append(inner)
    return {"orders": inner}


def test_an_error_of_the_function_is_logged_and_names_it(caplog):
    for case, function in {
        "error": fail,
        "None": lambda user: None,
        "list": lambda user: ["orders"],
        "set": lambda user: {"orders": {1, 2}},
        "bytes": lambda user: {"orders": b"x"},
        "NaN": lambda user: {"orders": math.nan},
        "surrogate": lambda user: {"name": "\ud800"},
        "name": lambda user: {("a", "b"): 1},
        "circle": lambda user: nested(),
        "huge number": lambda user: {"number": 10**5000},
    }.items():
        caplog.clear()
        with pytest.raises(ApplicationError, match="personal_data failed: "):
            PersonalData({}, function).of_application(User())
        assert [each.message for each in caplog.records] == ["personal_data failed"], case
