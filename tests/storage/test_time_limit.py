"""SELECTs that are cancelled at a time limit."""

import peewee
import pytest

from wsgiauth.storage.connections import TimeLimitError

pytestmark = pytest.mark.every_database

NUMBERS = """
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 999) SELECT n FROM t
"""


def count_of(tables):
    """Return a SELECT that counts all combinations of 999 numbers."""
    some = ", ".join(f"({NUMBERS}) AS {name}" for name in tables)
    terms = " + ".join(f"{name}.n" for name in tables)
    return f"SELECT COUNT(*) FROM {some} WHERE {terms} > 0"  # noqa: S608


def test_a_select_is_cancelled_and_later_ones_have_no_limit(database):
    with pytest.raises(TimeLimitError), database.time_limit(0.02):
        database.execute_sql(count_of("abcdef"))  # it would take years
    assert not database.in_transaction()
    assert database.execute_sql(count_of("ab")).fetchone() == (999**2,)


def test_a_select_within_the_limit_has_its_answer(database):
    with database.time_limit(60):
        cursor = database.execute_sql(count_of("ab"))
    assert cursor.fetchone() == (999**2,)


def test_another_error_is_raised(database):
    with pytest.raises(peewee.DatabaseError), database.time_limit(60):
        database.execute_sql("SELECT * FROM nothing")


def test_an_error_of_the_block_itself_is_raised(database):
    with pytest.raises(peewee.OperationalError, match="ours"), database.time_limit(60):
        raise peewee.OperationalError("ours")
