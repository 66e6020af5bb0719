"""Whatever the query of a list holds, it is answered, on every database."""

from itertools import product

import pytest

from tests.support.sites import BROWSER

LARGE = "9" * 30
QUERIES = [
    "users?q=%00",
    "users?q=%ED%A0%80",
    "users?q=" + "%F0%9F%98%80" * 100,
    "users?q=%F4%8F%BF%BF",
    "users?q=%27%22%3B--%25_",
    "users?q=a&q=b&active=yes&active=no",
    "users?q=a&after=-created:%00",
    "users?q=a&after=-created:" + "x" * 3000,
    f"users?after=-created:{LARGE}",
    "users?after=-created:%D9%A3",
    "users?before=-created:x",
    f"users?seen=never&after=-created:{LARGE}",
    "users?seen=ever&after=-last_login:0001-01-01T00:00:00%2B14:00~1",
    "users?seen=ever&after=-last_login:9999-12-31T23:59:59-14:00~1",
    f"users?seen=ever&after=-last_login:2026-01-01~{LARGE}",
    "users?sort=username&after=username:%00~1",
    "users?sort=email&before=email:" + "x" * 3000 + "~1",
    f"users?group={LARGE}",
    "users?group=-1",
    "users?group=999999999999999999",
    "users?group=999999999999999999&q=a&active=no",
    "users?" + "a=b&" * 2000,
    "users.csv?q=%00",
    "groups?after=%00",
    "groups?after=" + "x" * 3000,
    "events?user=%00",
    f"events?user={LARGE}",
    "events?user=999999999999999999",
    "events?actor=%00",
    f"events?actor=user%20{LARGE}",
    "events?actor=command%20line%20%00",
    "events?actor=command%20line%20" + "x" * 3000,
    "events?name=%00",
    "events?since=0001-01-01T00:00:00%2B23:59&until=9999-12-31T23:59:59-23:59",
    "events?before=999999999999-999999999999999999",
    "events?before=0-0",
]


@pytest.mark.promise(58)
@pytest.mark.every_database
def test_a_list_answers_whatever_the_query_holds(browser):
    answers = {query: browser.get(f"/auth/admin/{query}", status="*") for query in QUERIES}
    refused = {query for query, answer in answers.items() if answer.status_int == 422}
    assert refused == {
        "users?q=%ED%A0%80",
        "users?q=a&q=b&active=yes&active=no",
        f"users?group={LARGE}",
        "users?group=-1",
        "users?" + "a=b&" * 2000,
        "events?name=%00",
    }
    others = answers.keys() - refused
    assert {query for query in others if answers[query].status_int != 200} == set()


@pytest.mark.promise(58)
def test_a_query_that_cannot_be_read_is_refused(browser):
    queries = {
        "no UTF-8": "superuser=yes&q=%ff",
        "too long": "superuser=yes&q=" + "x" * 13_000,
        "26 fields": "superuser=yes" + "&a=b" * 25,
    }
    for path, (name, query), accept in product(
        ("users", "users.csv", "groups", "events"),
        queries.items(),
        (BROWSER["Accept"], "application/json"),
    ):
        answer = browser.get(f"/auth/admin/{path}?{query}", headers={"Accept": accept}, status="*")
        assert answer.status_int == 422, (path, name, accept)
        answer.mustcontain("The query must be percent-encoded UTF-8", no="Boss@example.org")


@pytest.mark.promise(58)
def test_a_filter_that_is_given_twice_is_refused(program):
    for query, field in {
        "users?q=a&q=b": "q",
        "users.csv?staff=yes&staff=no": "staff",
        "users?after=a&after=b": "after",
        "groups?after=a&after=b": "after",
        "events?user=1&actor=code&user=2": "user",
    }.items():
        refused = program(f"/auth/admin/{query}", status=422).json
        assert refused["errors"] == {field: [f"{field} is given more than once."]}, query
