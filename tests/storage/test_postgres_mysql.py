"""The quick SELECT of one row, on PostgreSQL and MariaDB, with kept and with pooled connections."""

import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from threading import Event
from types import SimpleNamespace

import peewee
import pytest
from playhouse import pool

from tests.conftest import SERVERS
from wsgiauth import storage
from wsgiauth.storage.databases import make_database

MISSING_TABLE = "SELECT number FROM missing WHERE number = %s"
PROCESS = {"postgresql": "pg_backend_pid()", "mariadb": "CONNECTION_ID()"}
KILL = {"postgresql": "SELECT pg_terminate_backend(%s, 5000)", "mariadb": "KILL %s"}
COUNT = "SELECT COUNT(*) FROM mark"
VALUES = {
    "postgresql": "true, 7::bigint, 'Ådå 🙂'::varchar, timestamp '2026-01-02 03:04:05', NULL",
    "mariadb": "true, 7, 'Ådå 🙂', CAST('2026-01-02 03:04:05' AS DATETIME), NULL",
}


@pytest.fixture(params=SERVERS)
def kind(request):
    """Return the kind of the server."""
    return request.param


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def database(request, kind, server_urls):
    """Return a database on the server; no thread has a connection."""
    opened = make_database(server_urls(kind).replace(":", f"{request.param}:", 1))
    yield opened
    if hasattr(opened, "close_all"):
        opened.close_all()
    storage.discard_connection(opened)


@pytest.fixture
def process(kind, database):
    """Return a function that returns the number of the server's process for a connection."""
    return lambda: database.fetchone(f"SELECT {PROCESS[kind]}", ())[0]


def in_another_thread(action):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(action).result()


def test_values_have_their_types(kind, database):
    row = (True, 7, "Ådå 🙂", datetime(2026, 1, 2, 3, 4, 5), None)
    for _ in range(2):  # the first prepares the statement on PostgreSQL
        assert database.fetchone(f"SELECT {VALUES[kind]} WHERE 1 = %s", (1,)) == row


def test_a_row_that_is_not_there_is_none(kind, database):
    assert database.fetchone("SELECT 1 WHERE 'a' = %s", ("b",)) is None


def test_a_connection_is_used_again(database, process):
    assert process() == process()


def test_a_connection_that_was_lost_is_replaced(kind, database, process):
    number = process()
    other = make_database(SERVERS[kind])
    other.execute_sql(KILL[kind], (number,))
    other.close()
    assert process() != number


def test_an_error_is_raised_as_peewees_and_leaves_the_connection_usable(database, process):
    number = process()
    for _ in range(2):
        with pytest.raises(peewee.ProgrammingError, match="missing"):
            database.fetchone(MISSING_TABLE, (1,))
    assert process() == number


def count_and_close(database):
    try:
        return database.fetchone(COUNT, ())
    finally:
        database.close()


def test_an_uncommitted_change_is_seen_in_its_transaction_alone(kind, database):
    database.execute_sql("CREATE TABLE mark (number integer)")
    try:
        with database.atomic() as transaction:
            database.execute_sql("INSERT INTO mark VALUES (1)")
            assert in_another_thread(lambda: count_and_close(database)) == (0,)
            assert database.fetchone(COUNT, ()) == (1,)
            transaction.rollback()
    finally:
        database.execute_sql("DROP TABLE mark")


def test_a_hook_sees_the_select(database, process):
    process()
    database.close()  # which leaves it idle, if there is a pool
    seen = []
    database.query_hooks.append(lambda event: seen.append(event.sql))
    process()
    database.query_hooks.clear()
    assert len(seen) == 1


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # psycopg's, of a connection that is not closed
def test_a_kept_connection_ends_with_its_thread(kind, server_urls):
    database = make_database(server_urls(kind))

    def connect():
        database.fetchone("SELECT 1", ())
        return weakref.ref(database.connection())

    gc.disable()  # which would only close it later
    try:
        connection = in_another_thread(connect)
        assert connection() is None
    finally:
        gc.enable()


# Connections of the pool that a SELECT borrows


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
    process = database.fetchone(f"SELECT {PROCESS[kind]}", ())
    assert database.is_closed()
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(database.fetchone, f"SELECT {PROCESS[kind]}", ()).result() == process


def test_a_select_uses_the_connection_of_its_thread(kind, open_pool):
    database = open_pool("max_connections=1")
    with database.connection_context():
        process = database.execute_sql(f"SELECT {PROCESS[kind]}", ()).fetchone()
        assert database.fetchone(f"SELECT {PROCESS[kind]}", ()) == process


def test_a_select_that_fails_puts_its_connection_back(kind, open_pool):
    database = open_pool("max_connections=1")
    connect_and_close(database)
    process = database.fetchone(f"SELECT {PROCESS[kind]}", ())
    for _ in range(2):
        with pytest.raises(peewee.ProgrammingError):
            database.fetchone("SELECT number FROM missing", ())
        assert database.is_closed()
    assert database.fetchone(f"SELECT {PROCESS[kind]}", ()) == process


@pytest.mark.parametrize(("age", "is_used"), [(30, True), (61, False)])
def test_a_connection_that_is_too_old_is_replaced(kind, open_pool, monkeypatch, age, is_used):
    database = open_pool("stale_timeout=60")
    with database.connection_context():
        process = database.execute_sql(f"SELECT {PROCESS[kind]}", ()).fetchone()
    later = {**vars(time), "time": lambda: time.time() + age}
    monkeypatch.setattr(pool, "time", SimpleNamespace(**later))
    assert (database.fetchone(f"SELECT {PROCESS[kind]}", ()) == process) == is_used


def test_a_connection_that_is_known_to_be_closed_is_not_used(kind, open_pool):
    database = open_pool("max_connections=1")
    connection = database.connection()
    database.close()
    connection.close()
    assert database.fetchone("SELECT 1", ()) == (1,)


def test_a_connection_is_closed_before_another_takes_its_place(open_pool, monkeypatch):
    database = open_pool("max_connections=1")
    close, closed = database._close_raw, Event()
    monkeypatch.setattr(database, "_close_raw", lambda each: (close(each), closed.set()))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(database.connection).result()
        with database._lock:  # as a thread has it that connects, and that waits at a pooler
            discarding = thread.submit(storage.discard_connection, database)
            assert closed.wait(timeout=10)
            assert len(database._in_use) == 1
        discarding.result()
    assert not database._in_use


def test_waits_for_a_connection_where_all_are_in_use(kind, open_pool):
    database = open_pool("max_connections=1")
    with ThreadPoolExecutor(1) as thread:
        with closing(database):
            database.connect()
            waiting = thread.submit(database.fetchone, "SELECT 1", ())
        assert waiting.result() == (1,)
        thread.submit(storage.discard_connection, database).result()


def test_on_postgresql_a_table_without_a_sequence_is_named(server_urls):
    opened = make_database(server_urls("postgresql"))
    with closing(opened), opened.atomic() as transaction:
        opened.execute_sql("ALTER SEQUENCE wsgiauth_group_id_seq OWNED BY NONE")
        with pytest.raises(peewee.OperationalError, match=r"no sequence belongs to wsgiauth_group"):
            opened.skip_numbers("wsgiauth_group", 1)
        transaction.rollback()
