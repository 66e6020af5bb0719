"""The SELECTs that psycopg's connection prepares on its own."""

import peewee
import pytest

from wsgiauth import storage
from wsgiauth.storage.databases import make_database

ANSWER = "SELECT 42 WHERE 'ada' = %s"
ADA = ("ada",)
PREPARED = "SELECT COUNT(*) FROM pg_prepared_statements WHERE name LIKE 'wsgiauth%%'"


@pytest.fixture
def database(server_urls):
    """Return a PostgreSQL database."""
    opened = make_database(server_urls("postgresql"))
    yield opened
    storage.discard_connection(opened)


def test_a_select_is_prepared_once(database):
    for _ in range(3):
        assert database.fetchone(ANSWER, ADA) == (42,)
    assert database.execute_sql(PREPARED, ()).fetchone() == (1,)


@pytest.mark.parametrize("statement", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_a_select_that_was_deallocated_is_prepared_again(database, statement):
    database.fetchone(ANSWER, ADA)
    database.execute_sql(statement)
    for _ in range(2):
        assert database.fetchone(ANSWER, ADA) == (42,)
    assert database.execute_sql(PREPARED, ()).fetchone() == (1,)


def test_a_select_survives_a_rollback_after_which_psycopg_deallocates_all(database):
    database.fetchone(ANSWER, ADA)
    with database.atomic() as transaction:
        for _ in range(8):  # so often that psycopg prepares a statement of its own
            database.execute_sql("SELECT 1", ())
        transaction.rollback()
    assert database.execute_sql(PREPARED, ()).fetchone() == (0,)
    assert database.fetchone(ANSWER, ADA) == (42,)


def test_a_select_in_a_transaction_survives_a_deallocation(database):
    database.fetchone(ANSWER, ADA)
    with database.atomic():
        database.execute_sql("DEALLOCATE ALL")
        assert database.fetchone(ANSWER, ADA) == (42,)


def test_a_select_follows_a_change_of_its_table(database):
    number = "SELECT number FROM mark"
    database.execute_sql("CREATE TEMPORARY TABLE mark AS SELECT 42 AS number")
    assert database.fetchone(number, ()) == (42,)
    database.execute_sql("ALTER TABLE mark ALTER number TYPE text")
    assert database.fetchone(number, ()) == ("42",)


def test_nul_does_not_end_a_parameter(database):
    with pytest.raises(peewee.DataError, match="NUL"):
        database.fetchone(ANSWER, ("ada\0lovelace",))
