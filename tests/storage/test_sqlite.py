"""SQLite files that are replaced or deleted, and questions that are left unfinished."""

import os
import sqlite3
from contextlib import closing

import peewee
import pytest
from playhouse.pool import PooledDatabase

from wsgiauth.storage import sqlite
from wsgiauth.storage.connections import discard_connection
from wsgiauth.storage.databases import make_database
from wsgiauth.storage.sqlite import CHECK_INTERVAL, Connection

NAME = "SELECT name FROM mark WHERE name >= ?"
A_MOMENT = 0.001


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Return what the connections take for the time."""
    clock = Clock()
    monkeypatch.setattr(sqlite, "monotonic", clock)
    return clock


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "accounts.db", "first")


@pytest.fixture(params=["sqlite", "sqlite+pool"])
def database(request, file, clock):
    database = make_database(f"{request.param}:///{file}")
    yield database
    if isinstance(database, PooledDatabase):
        database.close_all()
    discard_connection(database)


def write(path, name):
    """Put a file with a mark in the place of `path`."""
    new = path.with_name("new.db")
    with closing(sqlite3.connect(new)) as connection, connection:
        connection.execute("CREATE TABLE mark (name TEXT)")
        connection.execute("INSERT INTO mark VALUES (?)", (name,))
    return new.replace(path)


def name_in(database):
    return database.fetchone(NAME, ("",))[0]


def test_a_row_that_is_not_there_is_none(database):
    assert database.fetchone(NAME, ("zzz",)) is None


def test_an_error_of_a_quick_select_is_one_of_peewee(database):
    with pytest.raises(peewee.OperationalError, match="no such table: missing"):
        database.fetchall("SELECT * FROM missing", ())


@pytest.mark.promise(28)
def test_a_file_that_is_replaced_is_noticed_within_a_second(database, file, clock):
    assert name_in(database) == "first"
    write(file, "second")
    clock.now += CHECK_INTERVAL + A_MOMENT
    assert name_in(database) == "second"
    assert CHECK_INTERVAL <= 1


@pytest.mark.promise(28)
def test_a_file_that_is_replaced_again_is_noticed_again(database, file, clock):
    for name in ("second", "third", "fourth"):
        write(file, name)
        clock.now += CHECK_INTERVAL + A_MOMENT
        assert name_in(database) == name


@pytest.mark.promise(28)
def test_a_file_that_is_deleted_is_noticed_within_a_second_and_not_made_anew(database, file, clock):
    assert name_in(database) == "first"
    file.unlink()
    clock.now += CHECK_INTERVAL + A_MOMENT
    for _ in range(2):
        with pytest.raises(peewee.OperationalError, match="the database file does not exist"):
            name_in(database)
    assert not file.exists()
    write(file, "second")
    assert name_in(database) == "second"


def test_the_file_is_not_looked_at_more_than_once_a_second(database, clock, monkeypatch):
    name_in(database)
    looks = []

    def look(path, stat=os.stat):
        looks.append(path)
        return stat(path)

    monkeypatch.setattr(os, "stat", look)
    for _ in range(4):
        name_in(database)
        clock.now += CHECK_INTERVAL / 4
    assert len(looks) == 0
    clock.now += A_MOMENT
    name_in(database)
    name_in(database)
    monkeypatch.undo()
    assert len(looks) == 1


def test_any_other_statement_looks_at_once(database, file):
    assert name_in(database) == "first"
    write(file, "second")
    assert database.execute_sql(NAME, ("",)).fetchone() == ("second",)
    assert name_in(database) == "second"


def test_a_transaction_keeps_the_file_that_it_began_in(database, file, clock):
    with database.atomic():
        database.execute_sql("INSERT INTO mark VALUES ('a')")
        write(file, "second")
        clock.now += CHECK_INTERVAL + A_MOMENT
        assert database.fetchone("SELECT COUNT(*) FROM mark", ()) == (2,)
    clock.now += CHECK_INTERVAL + A_MOMENT
    assert name_in(database) == "second"


def test_a_transaction_outlives_the_deletion_of_its_file(database, file, clock):
    with database.atomic():
        file.unlink()
        clock.now += CHECK_INTERVAL + A_MOMENT
        assert name_in(database) == "first"
    clock.now += CHECK_INTERVAL + A_MOMENT
    with pytest.raises(peewee.OperationalError, match="the database file does not exist"):
        name_in(database)


def test_a_cursor_has_fetched_what_it_is_asked_for(tmp_path):
    with closing(sqlite3.connect(tmp_path / "file", factory=Connection)) as connection:
        cursor = connection.execute("VALUES (1), (2), (3), (4), (5), (6)")
        assert [cursor.fetchone(), next(cursor)] == [(1,), (2,)]
        assert [cursor.fetchmany(), cursor.fetchmany(2)] == [[(3,)], [(4,), (5,)]]
        assert [*cursor] == [(6,)]
        assert (cursor.fetchone(), cursor.fetchall()) == (None, [])
