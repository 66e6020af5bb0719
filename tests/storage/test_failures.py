"""What the log and the client are told when the database fails."""

import re
import sqlite3
from types import SimpleNamespace

import peewee
import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD
from wsgiauth import hash_password, storage
from wsgiauth.accounts.models import User
from wsgiauth.storage.failures import report_failure, unavailable
from wsgiauth.web.pages import Pages
from wsgiauth.web.urls import Destinations

HASH = hash_password(PASSWORD, rounds=4)


def test_a_failure_is_reported_in_one_line_and_drops_the_connection(database, caplog):
    lost = database.connection()
    report_failure(peewee.OperationalError("the row is refused\r\nDETAIL: (1, $2b$04$"))
    assert caplog.messages == ["the account database failed: OperationalError: the row is refused"]
    assert database.connection() is not lost


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_failure_without_a_message_is_reported_as_well(text, database, caplog):
    report_failure(peewee.InterfaceError(text))
    assert caplog.messages == ["the account database failed: InterfaceError: "]


def test_a_row_that_a_server_rejects_is_not_logged(server_urls, caplog):
    opened = storage.open_database(server_urls("postgresql"))
    with pytest.raises(peewee.IntegrityError, match=re.escape(HASH)) as refused:
        opened.execute_sql("INSERT INTO wsgiauth_user (hashed_password) VALUES (%s)", (HASH,))
    report_failure(refused.value)
    (message,) = caplog.messages
    assert "null value" in message
    assert HASH not in message
    assert opened.is_closed()


@pytest.mark.every_database
def test_a_name_that_is_taken_is_not_logged(database, caplog):
    row = {"username": "Ada", "username_key": "ada", "email": "a@b.example", "email_key": "a@b"}
    insert = User.insert(**row, hashed_password="")
    insert.execute()
    with pytest.raises(peewee.IntegrityError) as refused:
        insert.execute()
    report_failure(refused.value)
    (message,) = caplog.messages
    assert re.search("(?i)duplicate|unique", message)
    assert not re.search("'ada'|a@b", message)


WRONG = {
    "a column": "SELECT missing FROM wsgiauth_user WHERE username = {}",
    "a table": "SELECT username FROM missing WHERE username = {}",
    "no SQL": "no SQL {}",
    "a missing value": "INSERT INTO wsgiauth_user (username) VALUES ({})",
}


@pytest.mark.every_database
@pytest.mark.parametrize("sql", WRONG.values(), ids=WRONG)
def test_a_wrong_statement_is_logged_with_the_lines_of_code_alone(sql, database, caplog):
    def send_it():
        database.execute_sql(sql.format(database.param), (HASH,))

    with pytest.raises(peewee.DatabaseError) as refused:
        send_it()
    report_failure(refused.value)
    (message,) = caplog.messages
    first, *lines = message.splitlines()
    assert first.startswith("the account database failed: ")
    assert any(line.endswith(", in send_it") for line in lines)
    assert "HASH" in message
    assert HASH not in caplog.text


def test_a_wrong_statement_is_recognized_in_an_error_that_peewee_does_not_convert(database, caplog):
    with pytest.raises(sqlite3.OperationalError) as refused:
        database.connection().execute("no SQL")
    report_failure(refused.value)
    assert __file__ in caplog.text


@pytest.mark.promise(28)
@pytest.mark.parametrize(
    ("accept", "content_type"),
    [("application/json", "application/problem+json"), ("text/html", "text/html")],
)
def test_a_request_that_needs_a_failed_database_gets_a_503(accept, content_type, database, caplog):
    lost = database.connection()
    site = SimpleNamespace(pages=Pages("/auth"), destinations=Destinations())
    environ = {"HTTP_ACCEPT": accept, "wsgiauth.root": "", "wsgiauth.site": site}
    response = unavailable({**environ, "REQUEST_METHOD": "GET"}, peewee.OperationalError("full"))
    answer = TestApp(response, extra_environ={"wsgiauth.site": site}).get("/", status=503)
    assert answer.content_type == content_type
    assert answer.headers["Retry-After"].isdigit()
    assert caplog.messages == ["the account database failed: OperationalError: full"]
    assert database.connection() is not lost
