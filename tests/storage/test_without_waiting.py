"""Changes that are left out rather than waited for."""

import threading
from concurrent.futures import ThreadPoolExecutor

import peewee
import pytest

from tests.conftest import SERVERS
from wsgiauth.storage.connections import discard_connection
from wsgiauth.storage.databases import make_database

# What a connection waits for, as it says itself.
SETTINGS = {
    "sqlite": ("PRAGMA busy_timeout", "PRAGMA synchronous"),
    "postgresql": ("SHOW lock_timeout", "SHOW synchronous_commit"),
    "mariadb": ("SELECT @@lock_wait_timeout", "SELECT @@innodb_lock_wait_timeout"),
}
IMPATIENT = {
    "sqlite": [0, 1],  # NORMAL
    "postgresql": ["1ms", "off"],
    "mariadb": [0, 0],
}
LOCK = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "BEGIN; SELECT * FROM mark FOR UPDATE",
    "mariadb": "START TRANSACTION; SELECT * FROM mark FOR UPDATE",
}
KINDS = [*((kind, pooling) for kind in SETTINGS for pooling in ("", "+pool")), ("memory", "")]


@pytest.fixture(params=KINDS, ids="".join)
def case(request, server_urls, tmp_path):
    """Return which database, its settings' kind and two connections to it, with a row."""
    kind, pooling = request.param
    if kind in SERVERS:
        url = server_urls(kind).replace(":", f"{pooling}:", 1)
    else:
        url = "sqlite:///:memory:" if kind == "memory" else f"sqlite{pooling}:///{tmp_path}/m.db"
    database = make_database(url)
    if kind == "sqlite":
        database.pragma("journal_mode", "wal")
    database.execute_sql("DROP TABLE IF EXISTS mark")
    database.execute_sql("CREATE TABLE mark (number INTEGER)")
    database.execute_sql("INSERT INTO mark VALUES (0)")
    yield "sqlite" if kind == "memory" else kind, database
    database.execute_sql("DROP TABLE mark")
    discard_connection(database)
    if hasattr(database, "close_all"):
        database.close_all()


def settings_of(kind, database):
    return [database.execute_sql(sql).fetchone()[0] for sql in SETTINGS[kind]]


def number(database):
    return database.execute_sql("SELECT number FROM mark").fetchone()[0]


def increment(database):
    database.execute_sql("UPDATE mark SET number = number + 1")


@pytest.fixture
def lock(case):
    """Return a function that calls another while a thread holds the lock."""
    kind, database = case
    held, done = threading.Event(), threading.Event()

    def hold():
        for sql in LOCK[kind].split("; "):
            database.execute_sql(sql)
        held.set()
        done.wait()
        database.execute_sql("ROLLBACK")
        discard_connection(database)

    def call(action):
        with ThreadPoolExecutor(1) as threads:
            holding = threads.submit(hold)
            held.wait()
            try:
                action()
            finally:
                done.set()
            holding.result()

    return call


def test_nothing_is_waited_for_in_the_block_and_as_ever_after_it(case):
    kind, database = case
    usual = settings_of(kind, database)
    with database.without_waiting():
        assert settings_of(kind, database) == IMPATIENT[kind]
        increment(database)
    assert settings_of(kind, database) == usual != IMPATIENT[kind]
    assert number(database) == 1


def test_the_block_is_left_if_a_lock_is_held(case, lock):
    kind, database = case
    usual = settings_of(kind, database)

    def change():
        with database.without_waiting():
            increment(database)
            pytest.fail("The lock was not held.")

    lock(change)
    assert settings_of(kind, database) == usual
    assert number(database) == 0
    increment(database)
    assert number(database) == 1


def test_another_error_is_raised_and_what_is_waited_for_is_as_ever(case):
    kind, database = case
    usual = settings_of(kind, database)
    with pytest.raises(peewee.DatabaseError), database.without_waiting():
        database.execute_sql("UPDATE nothing SET number = 1")
    assert settings_of(kind, database) == usual


def test_an_error_of_the_block_itself_is_raised(case):
    _, database = case
    with pytest.raises(peewee.OperationalError, match="ours"), database.without_waiting():
        raise peewee.OperationalError("ours")
