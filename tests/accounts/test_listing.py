"""Listing users, a page at a time."""

import pytest

from tests.conftest import insert_users
from tests.support.sites import PASSWORD
from wsgiauth.accounts import create_user
from wsgiauth.accounts.listing import PAGE, user_pages

pytestmark = pytest.mark.every_database


def listed(*arguments, **options):
    return [user.username for page in user_pages(*arguments, **options) for user, _ in page]


def test_users_come_with_their_permissions_the_oldest_account_first(ada, grace):
    ada.grant("b.b", "a.a")
    assert list(user_pages()) == [[(ada, ["a.a", "b.b"]), (grace, [])]]


def test_without_users_there_is_no_page(database):
    assert list(user_pages()) == []


def test_every_page_is_read_once(database):
    insert_users(2 * PAGE + 1)
    assert [len(page) for page in user_pages()] == [PAGE, PAGE, 1]
    assert listed() == [f"User{index}" for index in range(2 * PAGE + 1)]


def test_a_page_takes_two_queries(database, queries):
    insert_users(PAGE + 1)
    pages = user_pages()
    assert len(queries(lambda: next(pages))) == 2


@pytest.mark.parametrize(
    ("limit", "sizes"),
    [(1, [1]), (PAGE, [PAGE]), (PAGE + 1, [PAGE, 1]), (PAGE + 3, [PAGE, 2])],
    ids=["one", "a page", "a page and one", "more than there are"],
)
def test_users_can_be_limited(database, limit, sizes):
    insert_users(PAGE + 2)
    assert [len(page) for page in user_pages(limit=limit)] == sizes


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        pytest.param("a", ["Ada", "a_b", "a%b", "a\\b"], id="one letter"),
        pytest.param("\uff21D", ["Ada"], id="another spelling"),
        pytest.param("GRACE@", ["Grace"], id="e-mail"),
        pytest.param("example.org", ["Ada", "Grace", "a_b", "a%b", "a\\b", "Élan"], id="domain"),
        pytest.param("@Example.ORG", ["Ada", "Grace", "a_b", "a%b", "a\\b", "Élan"], id="at"),
        pytest.param("@ada", [], id="at, and the beginning of a name"),
        pytest.param("@", [], id="no domain"),
        pytest.param("da", [], id="not the beginning"),
        pytest.param("a_", ["a_b"], id="underscore"),
        pytest.param("a%", ["a%b"], id="per cent"),
        pytest.param("a\\", ["a\\b"], id="backslash"),
        pytest.param("é", ["Élan"], id="accent"),
        pytest.param("e", [], id="no accent"),
        pytest.param("'", [], id="quote"),
        pytest.param("a b", [], id="space"),
        pytest.param("a\0", [], id="NUL"),
        pytest.param("a\udcff", [], id="byte that is not UTF-8"),
        pytest.param("a" * 255, [], id="longer than any name"),
    ],
)
def test_users_can_be_chosen_by_the_beginning_of_either_name(
    ada, grace, settings, prefix, expected
):
    for number, username in enumerate(("a_b", "a%b", "a\\b", "Élan")):
        create_user(username, f"{number}@example.org", PASSWORD, settings=settings)
    assert listed(prefix) == expected
