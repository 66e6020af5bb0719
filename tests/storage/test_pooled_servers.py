"""The pool's connections that a SELECT of one row borrows."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace

import peewee
import pytest
from playhouse import pool

from tests.conftest import SERVERS
from wsgiauth import storage
from wsgiauth.storage.databases import make_database

PROCESS = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT CONNECTION_ID()"}


@pytest.fixture(params=SERVERS)
def kind(request):
    """Return the kind of the server."""
    return request.param


@pytest.fixture
def open_pool(kind, server_urls):
    """Return a function that opens a pooled database with more parameters."""
    opened = []

    def open_one(parameters):
        url = server_urls(kind).replace(":", "+pool:", 1)
        separator = "&" if "?" in url else "?"
        opened.append(make_database(f"{url}{separator}{parameters}"))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close_all()


def connect_and_close(database):
    database.connect()
    database.close()


def test_a_select_takes_an_idle_connection_and_puts_it_back(kind, open_pool):
    database = open_pool("max_connections=1")
    connect_and_close(database)
    process = database.fetchone(PROCESS[kind], ())
    assert database.is_closed()
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(database.fetchone, PROCESS[kind], ()).result() == process


def test_a_select_uses_the_connection_of_its_thread(kind, open_pool):
    database = open_pool("max_connections=1")
    with database.connection_context():
        process = database.execute_sql(PROCESS[kind], ()).fetchone()
        assert database.fetchone(PROCESS[kind], ()) == process


def test_a_select_that_fails_puts_its_connection_back(kind, open_pool):
    database = open_pool("max_connections=1")
    connect_and_close(database)
    process = database.fetchone(PROCESS[kind], ())
    for _ in range(2):
        with pytest.raises(peewee.ProgrammingError):
            database.fetchone("SELECT number FROM missing", ())
        assert database.is_closed()
    assert database.fetchone(PROCESS[kind], ()) == process


@pytest.mark.parametrize(("age", "is_used"), [(30, True), (61, False)])
def test_a_connection_that_is_too_old_is_replaced(kind, open_pool, monkeypatch, age, is_used):
    database = open_pool("stale_timeout=60")
    with database.connection_context():
        process = database.execute_sql(PROCESS[kind], ()).fetchone()
    later = {**vars(time), "time": lambda: time.time() + age}
    monkeypatch.setattr(pool, "time", SimpleNamespace(**later))
    assert (database.fetchone(PROCESS[kind], ()) == process) == is_used


def test_a_connection_that_is_known_to_be_closed_is_not_used(kind, open_pool):
    database = open_pool("max_connections=1")
    connection = database.connection()
    database.close()
    connection.close()
    assert database.fetchone("SELECT 1", ()) == (1,)


def test_waits_for_a_connection_where_all_are_in_use(kind, open_pool):
    database = open_pool("max_connections=1")
    with ThreadPoolExecutor(1) as thread:
        with closing(database):
            database.connect()
            waiting = thread.submit(database.fetchone, "SELECT 1", ())
        assert waiting.result() == (1,)
        thread.submit(storage.discard_connection, database).result()
