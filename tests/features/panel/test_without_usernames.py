"""The panel with USERNAMES=off: users are known, sorted and found by their addresses."""

import csv
import io
from dataclasses import replace

import pytest

from tests.features.personal_data.samples import fail
from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, Group, storage
from wsgiauth.accounts import names
from wsgiauth.features.panel.user_search import FoundUser
from wsgiauth.storage import context
from wsgiauth.testing import logged_in, make_user

USERS = "/auth/admin/users"
SORTED = ["ada@example.org", "boss@example.org", "zoe@example.org"]


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, replace(settings, USERNAMES=False))
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def make(site):
    """Return a function that makes a user whose username nobody has chosen."""

    def make_known(name, **fields):
        with context.using(site.database):
            return make_user(site, None, email=f"{name}@example.org", **fields)

    return make_known


@pytest.fixture
def browser(site, make):
    return logged_in(site, make("boss", is_staff=True, is_superuser=True))


@pytest.fixture
def zoe(make):
    make("ada")
    return make("zoe")


def rows(page):
    return [" ".join(row.text.split()) for row in page.html.select("tbody th .monogram + *")]


def test_the_list_has_a_column_for_the_address_alone(browser, zoe):
    page = browser.get(f"{USERS}?sort=email", headers=BROWSER)
    heads = [each.get_text(strip=True) for each in page.html.select("thead th")]
    assert heads == ["Choose", "Email address", "Status", "Created", "Last login"]
    assert rows(page) == [f"{each} (not verified)" if "@" in each else each for each in SORTED]
    assert page.html.caption.text == "3 users, by email address"


@pytest.mark.parametrize(("sort", "found"), [("username", SORTED), ("-username", SORTED[::-1])])
def test_a_bookmark_of_the_order_by_username_sorts_by_address(browser, zoe, sort, found):
    answer = browser.get(f"{USERS}?sort={sort}").json
    assert [each["label"] for each in answer["users"]] == found
    assert answer["sort"] == sort.replace("username", "email")
    assert "sort=username" not in answer["first"]


def test_a_wrong_order_is_refused_without_those_by_username(browser):
    (message,) = browser.get(f"{USERS}?sort=x", status=422).json["errors"]["sort"]
    assert "email" in message
    assert "username" not in message


def test_json_has_the_username_and_the_label(browser, zoe):
    (found,) = browser.get(f"{USERS}?q=zoe@example.org").json["users"]
    assert (found["username"], found["label"]) == (zoe.username, zoe.email)
    shown = browser.get(f"{USERS}/{zoe.id}").json
    assert (shown["username"], shown["label"]) == (zoe.username, zoe.email)


def test_the_file_for_spreadsheets_has_no_usernames(browser, zoe):
    text = browser.get(f"{USERS}.csv?sort=username").text
    head, *users = csv.reader(io.StringIO(text, newline=""))
    assert head == [each for each in FoundUser._fields if each != "username"]
    assert [each[1] for each in users] == SORTED


def test_an_operator_finds_the_user_whose_username_an_application_logs(browser, zoe):
    assert rows(browser.get(f"{USERS}?q={zoe.username}", headers=BROWSER)) == [
        "zoe@example.org (not verified)"
    ]


def test_a_member_is_added_and_removed_by_the_address(browser, site, zoe):
    with context.using(site.database):
        group = Group.objects.create(name="Editors")
    url = f"/auth/admin/groups/{group.id}"
    page = browser.get(url, headers=BROWSER)
    assert page.html.select_one("label[for=user]").text == "Email address"
    browser.post(f"{url}/add", {"user": "zoe@example.org"}, headers=SAME_ORIGIN, status=303)
    page = browser.get(url, headers=BROWSER)
    assert (
        page.html.select_one("#members ~ ul li .monogram + *").get_text(strip=True)
        == "zoe@example.org"
    )
    url = page.html.select_one("form[action$=remove]")["action"]
    browser.post(url, {"user": f"user {zoe.id}"}, headers=SAME_ORIGIN, status=303)
    assert page.html.select_one("input[type=hidden][name=user]")["value"] == f"user {zoe.id}"
    assert "zoe@example.org" not in browser.get(page.request.path, headers=BROWSER)


def test_a_wait_under_the_username_is_explained_without_it(browser, site, zoe):
    with context.using(site.database):
        for _ in range(5):
            fail(site, zoe.username)
    page = browser.get(f"{USERS}/{zoe.id}", headers=BROWSER)
    page.mustcontain("Too many attempts with the name that applications see.")
    assert browser.get(f"{USERS}/{zoe.id}").json["waits"][0]["name"] == "username"


def test_a_deleted_user_of_the_trail_is_a_number(browser, site, zoe):
    with context.using(site.database):
        number = zoe.id
        zoe.delete_instance()
    page = browser.get(f"/auth/admin/events?user={number}", headers=BROWSER)
    assert {each.text for each in page.html.select("td.person span")} >= {f"user {number}, deleted"}
    assert "zoe@" not in page
    assert names.is_made(zoe.username)
    assert zoe.username not in page
