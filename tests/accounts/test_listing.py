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


def test_users_can_be_limited(database):
    insert_users(PAGE + 2)
    for case, (limit, sizes) in {
        "one": (1, [1]),
        "a page": (PAGE, [PAGE]),
        "a page and one": (PAGE + 1, [PAGE, 1]),
        "more than there are": (PAGE + 3, [PAGE, 2]),
    }.items():
        assert [len(page) for page in user_pages(limit=limit)] == sizes, case


@pytest.mark.promise(10)
def test_users_can_be_chosen_by_the_beginning_of_either_name(ada, grace, settings):
    for number, username in enumerate(("a_b", "a%b", "a\\b", "Élan")):
        create_user(username, f"{number}@example.org", PASSWORD, settings=settings)
    for case, (prefix, expected) in {
        "one letter": ("a", ["Ada", "a_b", "a%b", "a\\b"]),
        "another spelling": ("\uff21D", ["Ada"]),
        "e-mail": ("GRACE@", ["Grace"]),
        "domain": ("example.org", ["Ada", "Grace", "a_b", "a%b", "a\\b", "Élan"]),
        "at": ("@Example.ORG", ["Ada", "Grace", "a_b", "a%b", "a\\b", "Élan"]),
        "at, and the beginning of a name": ("@ada", []),
        "no domain": ("@", []),
        "not the beginning": ("da", []),
        "underscore": ("a_", ["a_b"]),
        "per cent": ("a%", ["a%b"]),
        "backslash": ("a\\", ["a\\b"]),
        "accent": ("é", ["Élan"]),
        "no accent": ("e", []),
        "quote": ("'", []),
        "space": ("a b", []),
        "NUL": ("a\0", []),
        "byte that is not UTF-8": ("a\udcff", []),
        "longer than any name": ("a" * 255, []),
    }.items():
        assert listed(prefix) == expected, case
