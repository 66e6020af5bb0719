"""GET /auth/admin/users and users.csv; test_user_search.py has the search itself."""

import csv
import gc
import io
import tracemalloc
from datetime import UTC, datetime

import pytest
from peewee import OperationalError

from tests.conftest import insert_users
from wsgiauth import storage
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.panel.user_search import COUNT_LIMIT, SORTS
from wsgiauth.storage.connections import TimeLimitError
from wsgiauth.storage.models import utc_now


def names(page):
    return [row.text for row in page.html.select("tbody th a")]


@pytest.mark.slow
def test_the_newest_users_come_first_on_pages_of_fifty(browser):
    insert_users(120)
    page = browser.get("/auth/admin/users")
    found = names(page)
    assert (len(found), found[0]) == (50, "User119")
    page = page.click("Next page")
    page = page.click("Next page")
    assert names(page)[-1] == "Boss"
    assert page.html.find("a", string="Next page") is None
    page = page.click("Previous page")
    assert names(page) == [f"User{number}" for number in range(69, 19, -1)]
    assert names(page.click("Previous page")) == found
    first = page.click("First page")
    assert names(first) == found
    assert first.html.find("a", string=["First page", "Previous page"]) is None


def test_a_row_has_the_names_the_status_and_the_last_login(browser, make):
    tim = make("Tim", "staff")
    tim.email_verified_at = tim.last_login_at = utc_now().replace(day=1, month=3, year=2026)
    tim.email_verified_by = "link"
    tim.save()
    make("Una", "inactive")
    User.update(created_at=datetime(2026, 11, 2, tzinfo=UTC)).execute()
    una, first, *_ = browser.get("/auth/admin/users").html.select("tbody tr")
    cells = ([row.th.a, *row.select("td[data-label]")] for row in (una, first))
    texts = [[" ".join(cell.text.split()) for cell in row] for row in cells]
    assert texts == [
        ["Una", "Una@example.org (not verified)", "Inactive", "2 November 2026", "never"],
        ["Tim", "Tim@example.org", "Staff", "2 November 2026", "1 March 2026"],
    ]


def test_a_name_leads_to_the_user_and_what_to_do_with_the_list_is_above_it(browser, make):
    tim = make("Tim")
    page = browser.get("/auth/admin/users")
    above = [each.text.strip() for each in page.html.table.find_all_previous("a")]
    assert {"Invite a person", "Open invitations", "Download as CSV"} <= {*above}
    assert page.click("Tim").request.path == f"/auth/admin/users/{tim.id}"


@pytest.mark.every_database
def test_users_are_found_by_a_part_of_a_name(browser, make):
    make("Tim")
    form = browser.get("/auth/admin/users").forms[0]
    for typed in ("ti", "TIM", " im@", "Tim@example.org", "\u200etim"):
        form["q"] = typed
        page = form.submit()
        assert names(page) == ["Tim"], typed
        assert page.forms[0]["q"].value == typed.strip("\u200e ")


def chips(page):
    """Return the filters that are set, and where the links that remove them lead."""
    return {each.text.strip(): each["href"] for each in page.html.select(".chips a")}


def test_a_filter_is_removed_by_its_link_and_the_others_stay(browser, boss, make):
    make("Tom", "staff")
    group = Group.objects.create(name="Editors")
    boss.join(group)
    page = browser.get(f"/auth/admin/users?q=o&staff=yes&seen=ever&group={group.id}&sort=email")
    assert list(chips(page)) == ["Staff: yes", "Logged in: at least once", "Group: Editors"]
    assert names(page) == ["Boss"]
    page = browser.get(chips(page)["Logged in: at least once"])
    assert page.request.query_string == f"q=o&group={group.id}&staff=yes&sort=email"
    page = browser.get(chips(page)["Group: Editors"])
    assert list(chips(page)) == ["Staff: yes"]
    (label,) = (each["aria-label"] for each in page.html.select(".chips a"))
    assert label == "Staff: yes (remove this filter)"
    assert chips(browser.get("/auth/admin/users?q=o")) == {}


def test_a_group_that_does_not_exist_is_a_number_among_the_filters(browser):
    assert list(chips(browser.get("/auth/admin/users?group=999"))) == ["Group: 999"]


def test_filters_are_kept_on_the_next_page_and_in_the_file(browser, boss):
    insert_users(60)
    User.update(is_staff=True).execute()
    form = browser.get("/auth/admin/users").forms[0]
    form["staff"] = "yes"
    form["superuser"] = "no"
    form["q"] = "us"
    page = form.submit().click("Next page")
    assert len(names(page)) == 10
    fields = page.forms[0]
    assert [fields[name].value for name in ("q", "staff", "superuser", "active")] == [
        "us",
        "yes",
        "no",
        "",
    ]
    link = page.html.select_one("a[href*='.csv']")
    assert link.text.strip() == "Download as CSV"
    assert link["href"] == "/auth/admin/users.csv?q=us&staff=yes&superuser=no"


@pytest.mark.every_database
def test_a_filter_leaves_the_users_who_match(program, make):
    tim = make("Tim")
    tim.email_verified_at = utc_now()
    tim.save()
    make("Una", "inactive")
    expected = {
        "active=no": ["Una"],
        "staff=yes": ["Boss"],
        "superuser=yes": ["Boss"],
        "verified=yes": ["Tim"],
        "seen=never": ["Una", "Tim"],
        "seen=ever": ["Boss"],
        "active=&group=": ["Una", "Tim", "Boss"],
        "q=n&active=no": ["Una"],
        "q=example.org": ["Una", "Tim", "Boss"],
    }
    found = {query: program(f"/auth/admin/users?{query}").json["users"] for query in expected}
    assert {query: [each["username"] for each in found[query]] for query in found} == expected


@pytest.mark.every_database
def test_the_members_of_a_group_are_found(browser, make):
    editors = Group.objects.create(name="Editors")
    make("Tim").join(editors)
    make("Una")
    form = browser.get("/auth/admin/users").forms[0]
    form["group"] = str(editors.id)
    page = form.submit()
    assert names(page) == ["Tim"]
    assert list(chips(page)) == ["Group: Editors"]
    page.mustcontain(f"users.csv?group={editors.id}")


def test_a_wrong_value_of_a_filter_is_refused(browser, program):
    yes_or_no, group = "must be yes or no.", "group must be the id of a group."
    for query, errors in {
        "staff=maybe": {"staff": [f"staff {yes_or_no}"]},
        "seen=yes": {"seen": ["seen must be ever or never."]},
        "sort=id": {"sort": [f"sort must be one of {', '.join(SORTS)}."]},
        "group=x": {"group": [group]},
        "active=1&group=0": {"active": [f"active {yes_or_no}"], "group": [group]},
    }.items():
        for path in ("users", "users.csv"):
            refused = program(f"/auth/admin/{path}?{query}", status=422).json
            assert (refused["code"], refused["errors"]) == ("invalid", errors), query
            page = browser.get(f"/auth/admin/{path}?{query}", status=422)
            page.mustcontain(*(message for [message] in errors.values()))


def test_an_empty_list_says_what_to_do(browser):
    page = browser.get("/auth/admin/users?q=nobody")
    page.mustcontain("No user matches.", no=["You can also remove a filter", "Download", "<table"])
    browser.get("/auth/admin/users?q=nobody&staff=yes").mustcontain("You can also remove a filter.")
    browser.get("/auth/admin/users?after=-created:1").mustcontain("There are no more users.")


@pytest.fixture
def slow(monkeypatch):
    """Let all statements with a time limit reach it, or those with one of the limits in a list."""
    kind, limits = type(storage.current()), []
    time_limit = kind.time_limit

    def limit(database, seconds):
        if seconds in limits or not limits:
            raise TimeLimitError
        return time_limit(database, seconds)

    monkeypatch.setattr(kind, "time_limit", limit)
    return limits


def test_a_search_that_takes_too_long_says_so_and_can_be_narrowed(browser, slow):
    page = browser.get("/auth/admin/users?q=2&staff=no&sort=email")
    page.mustcontain("The search took too long.", no=["<table", "Download", "No user matches"])
    form = page.forms[0]
    assert (form["q"].value, form["staff"].value) == ("2", "no")
    assert "sort" not in form.fields  # another order can be faster
    form["superuser"] = "yes"
    assert form.submit().request.GET["superuser"] == "yes"


def test_a_program_learns_that_a_search_took_too_long(program, slow):
    answer = program("/auth/admin/users?q=2&sort=email").json
    assert answer == {
        "users": [],
        "sort": "email",
        "count": 0,
        "count_is_exact": False,
        "timed_out": True,
        "first": "/auth/admin/users?q=2&sort=email",
        "previous": None,
        "next": None,
    }


def test_a_program_gets_the_same_as_json(program, make):
    make("Tim")
    answer = program("/auth/admin/users?q=t")
    (user,) = answer.json["users"]
    assert (answer.json["next"], answer.json["timed_out"]) == (None, False)
    assert user == {
        "id": user["id"],
        "username": "Tim",
        "label": "Tim",
        "email": "Tim@example.org",
        "is_active": True,
        "is_staff": False,
        "is_superuser": False,
        "created_at": user["created_at"],
        "email_verified_at": None,
        "email_verified_by": "",
        "last_login_at": None,
    }


def test_a_column_sorts_the_list_in_both_directions(browser):
    insert_users(12)
    User.update(last_login_at=utc_now()).where(User.username == "User7").execute()
    page = browser.get("/auth/admin/users?q=user&sort=last_login")
    for column, first, ends in (
        ("Username", "ascending", ["User0", "User9"]),
        ("Email address", "ascending", ["User0", "User9"]),
        ("Created", "descending", ["User11", "User0"]),
        ("Last login", "descending", ["User7", "User0"]),
    ):
        second = "descending" if first == "ascending" else "ascending"
        for direction, expected in ((first, ends), (second, ends[::-1])):
            page = page.click(f"^{column}$")
            (header,) = page.html.select("th[aria-sort]")
            assert (header.text, header["aria-sort"]) == (column, direction)
            assert names(page)[:: len(names(page)) - 1] == expected, column


def test_the_order_is_kept_in_the_form_the_pages_and_the_file(browser):
    insert_users(60)
    page = browser.get("/auth/admin/users?sort=email")
    assert names(page.forms[0].submit())[0] == "User0"
    assert page.html.find("caption").text == "61 users, by email address"
    assert page.click("Next page").click("First page").request.GET["sort"] == "email"
    page.mustcontain("users.csv?sort=email")


def test_the_list_says_how_many_users_match(browser):
    for users, query, count in (
        (0, "", "1 user,"),
        (999, "", "1,000 users,"),
        (1000, "", "More than 1,000 users,"),
        (1200, "?q=user", "More than 1,000 users,"),
    ):
        present = User.select().count() - 1
        insert_users(users - present, start=present)
        browser.get(f"/auth/admin/users{query}").mustcontain(f"<caption>{count}")


def test_a_count_that_took_too_long_says_so(browser, slow):
    slow.append(COUNT_LIMIT)
    insert_users(200)
    page = browser.get("/auth/admin/users?q=User&active=yes")
    assert page.html.find("caption").text == "At least 50 users, the newest first"


def test_the_file_has_the_order_of_the_list(program):
    insert_users(3)
    listed = [row[1] for row in rows(program("/auth/admin/users.csv?sort=-username"))[1:]]
    assert listed == ["User2", "User1", "User0", "Boss"]


def test_a_program_follows_next(program):
    insert_users(60)
    first = program("/auth/admin/users?q=user&sort=-username").json
    second = program(first["next"]).json
    assert (len(first["users"]), len(second["users"]), second["next"]) == (50, 10, None)
    assert (first["sort"], first["count"], first["count_is_exact"]) == ("-username", 60, True)
    assert first["previous"] is None
    assert program(second["previous"]).json == program(second["first"]).json == first


@pytest.mark.promise(50)
def test_a_page_costs_four_queries(browser, queries):
    insert_users(60)
    assert len(queries(lambda: browser.get("/auth/admin/users"))) == 4


FIELDS = [
    "id",
    "username",
    "email",
    "is_active",
    "is_staff",
    "is_superuser",
    "created_at",
    "email_verified_at",
    "email_verified_by",
    "last_login_at",
]


def rows(answer):
    return [*csv.reader(io.StringIO(answer.text, newline=""))]


@pytest.mark.every_database
def test_the_file_has_all_users_of_the_list(program, make):
    insert_users(1100)
    make("Tim", "inactive")
    head, *users = rows(program("/auth/admin/users.csv"))
    assert head == FIELDS
    assert len(users) == 1102
    (tim,) = rows(program("/auth/admin/users.csv?q=tim&active=no"))[1:]
    assert tim[1:6] == ["Tim", "Tim@example.org", "no", "no", "no"]
    assert tim[7:] == ["", "", ""]


@pytest.mark.every_database
@pytest.mark.promise(51)
def test_the_trail_says_who_got_which_users_but_no_name(browser, boss):
    browser.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
    for query, reason in {
        "": "all users",
        "?q=tim": "a search",
        "?q=tim&group=7&active=no&seen=never&staff=": ("a search, group=7, active=no, seen=never"),
    }.items():
        RecordedEvent.delete().execute()
        browser.get(f"/auth/admin/users.csv{query}")
        browser.head(f"/auth/admin/users.csv{query}")
        (event,) = RecordedEvent.select()
        assert (event.name, event.actor, event.user_id, event.address, event.reason) == (
            "users_exported",
            f"user {boss.id}",
            None,
            "192.0.2.7",
            reason,
        )
        page = browser.get(f"/auth/admin/events?actor={boss.id}")
        page.mustcontain("Users downloaded", reason)


def test_without_its_event_there_is_no_file(browser, monkeypatch):
    def fail(*_, **__):
        raise OperationalError("away")

    monkeypatch.setattr("wsgiauth.events.insert_row", fail)
    browser.get("/auth/admin/users.csv", status=503)


def test_it_is_a_file_that_a_browser_saves(browser):
    answer = browser.get("/auth/admin/users.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="users.csv"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.text.startswith("id,username,")
    assert answer.text.endswith("\r\n")
    assert browser.head("/auth/admin/users.csv").body == b""


def test_an_empty_list_has_the_names_of_the_columns(program):
    assert rows(program("/auth/admin/users.csv?q=nobody")) == [FIELDS]


@pytest.mark.promise(58)
def test_a_name_is_one_cell_and_no_formula_even_where_a_semicolon_begins_a_cell(program, make):
    tim = make("Tim")

    def answer(username):
        User.update(username=username).where(User.id == tim.id).execute()
        return program("/auth/admin/users.csv?q=tim")

    assert rows(answer("=1"))[1][1] == "'=1"
    assert rows(answer('a,"b"'))[1][1] == 'a,"b"'
    text = answer('x;=1;"=1').text
    cells = [*csv.reader(io.StringIO(text, newline=""), delimiter=";")][1]
    assert [cell[0] for cell in cells[1:]] == ["'", "'"]


@pytest.mark.promise(28)
def test_the_first_rows_are_read_before_the_answer_begins(program, monkeypatch):
    def fail(*_):
        raise OperationalError("away")

    monkeypatch.setattr("wsgiauth.features.panel.users.all_users", fail)
    program("/auth/admin/users.csv", status=503)


@pytest.mark.promise(50)
@pytest.mark.slow
@pytest.mark.uncounted
def test_memory_does_not_grow_with_the_number_of_users(site, bearer, boss):
    headers = bearer(boss)
    insert_users(20_000)
    environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/auth/admin/users.csv",
        "HTTP_AUTHORIZATION": headers["Authorization"],
        "wsgi.url_scheme": "http",
    }
    chunks = iter(site(environ, lambda *_: None))
    next(chunks)
    gc.collect()  # the peak depends on when it was done last
    tracemalloc.start()
    length = sum(map(len, chunks))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert length > 1_000_000
    assert peak < length
