"""GET /auth/admin/users.csv."""

import csv
import gc
import io
import tracemalloc

import pytest
from peewee import OperationalError

from tests.conftest import insert_users
from wsgiauth.accounts.models import User
from wsgiauth.events.models import RecordedEvent

FIELDS = [
    "id",
    "username",
    "email",
    "is_active",
    "is_staff",
    "is_superuser",
    "created_at",
    "email_verified_at",
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
    assert tim[7:] == ["", ""]


@pytest.mark.every_database
@pytest.mark.promise(51)
@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "all users"),
        ("?q=tim", "a search"),
        ("?q=tim&group=7&active=no&seen=never&staff=", "a search, group=7, active=no, seen=never"),
    ],
)
def test_the_trail_says_who_got_which_users_but_no_name(browser, boss, query, reason):
    RecordedEvent.delete().execute()
    browser.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
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

    monkeypatch.setattr("wsgiauth.events.models.RecordedEvent.insert", fail)
    browser.get("/auth/admin/users.csv", status=503)


def test_it_is_a_file_that_a_browser_saves(browser):
    answer = browser.get("/auth/admin/users.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="users.csv"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.text.startswith("id,username,")
    assert answer.text.endswith("\r\n")


def test_head_has_no_body(browser):
    assert browser.head("/auth/admin/users.csv").body == b""


def test_an_empty_list_has_the_names_of_the_columns(program):
    assert rows(program("/auth/admin/users.csv?q=nobody")) == [FIELDS]


@pytest.mark.promise(58)
@pytest.mark.parametrize("name", ["=1", "+1", "@SUM(A1)", "-2+3", "\t=1"])
@pytest.mark.parametrize("is_wide", [False, True], ids=["usual", "full-width"])
def test_no_name_is_a_formula(program, make, name, is_wide):
    if is_wide:
        name = "".join(chr(ord(each) + 0xFEE0) if each > " " else each for each in name)
    User.update(username=name).where(User.id == make("Tim").id).execute()
    (tim,) = rows(program("/auth/admin/users.csv?q=tim"))[1:]
    assert tim[1] == f"'{name}"


@pytest.mark.promise(58)
def test_no_name_is_a_formula_where_a_semicolon_begins_a_cell(program, make):
    User.update(username='x;=1;"=1').where(User.id == make("Tim").id).execute()
    answer = program("/auth/admin/users.csv?q=tim")
    cells = [*csv.reader(io.StringIO(answer.text, newline=""), delimiter=";")][1]
    assert [cell[0] for cell in cells[1:]] == ["'", "'"]


def test_a_name_with_commas_and_quotes_is_one_cell(program, make):
    User.update(username='a,"b"').where(User.id == make("Tim").id).execute()
    (user,) = rows(program("/auth/admin/users.csv?q=tim"))[1:]
    assert user[1] == 'a,"b"'


@pytest.mark.promise(28)
def test_the_first_rows_are_read_before_the_answer_begins(program, monkeypatch):
    def fail(*_):
        raise OperationalError("away")

    monkeypatch.setattr("wsgiauth.admin.users_csv.all_users", fail)
    program("/auth/admin/users.csv", status=503)


@pytest.mark.promise(50)
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
