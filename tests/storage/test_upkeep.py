"""Rows whose time is over."""

from contextlib import closing

import pytest

from wsgiauth.accounts.tables import Permission
from wsgiauth.storage.databases import make_database
from wsgiauth.storage.statements import Statement
from wsgiauth.storage.upkeep import SOME, delete_all, purge_expired, purge_some
from wsgiauth.throttling.counts import AttemptCount

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen


def keep(*expirations):
    """Make rows that end at these seconds."""
    rows = [{"id": str(at), "retry_at": 0, "count": 1, "expires_at": at} for at in expirations]
    AttemptCount.insert_many(rows).execute()


def expirations():
    return sorted(row.expires_at for row in AttemptCount.select())


@pytest.mark.every_database
@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_all_that_has_expired_is_deleted_in_batches_of_any_size(database, limit):
    keep(*range(NOW - 3, NOW + 2))
    assert purge_expired(AttemptCount, NOW + 0.5, limit=limit) == 4
    assert expirations() == [NOW + 1]


@pytest.mark.every_database
def test_a_batch_begins_where_the_one_before_ended(database, monkeypatch):
    keep(*range(NOW - 4, NOW))
    fetchall, times = Statement.fetchall, []

    def select(statement, *, since, **others):
        times.append(since)
        return fetchall(statement, since=since, **others)

    monkeypatch.setattr(Statement, "fetchall", select)
    purge_expired(AttemptCount, NOW, limit=2)
    assert times == [0, NOW - 3, NOW - 1]


def test_on_postgresql_rows_that_another_client_purges_are_left_to_it(
    server_urls, empty_server, open_database
):
    url = server_urls("postgresql")
    open_database(url)
    keep(NOW - 2, NOW - 1, NOW)
    other = make_database(url)
    delete = "DELETE FROM wsgiauth_attempt_count WHERE expires_at = %s"
    with closing(other), other.atomic():
        other.execute_sql(delete, (NOW - 1,))
        purge_expired(AttemptCount, NOW)
        assert expirations() == [NOW - 1]
    empty_server("postgresql")


@pytest.mark.every_database
def test_some_are_the_oldest(database):
    keep(*reversed(range(NOW - SOME - 1, NOW + 2)))
    purge_some(AttemptCount, NOW)
    assert expirations() == [NOW - 1, NOW, NOW + 1]


def test_a_few_rows_are_deleted_by_the_same_statement_as_many(database):
    statements = []
    database.query_hooks.append(lambda event: statements.append(event.sql))
    for several in (1, 2, SOME):
        keep(*range(NOW - several, NOW))
        purge_some(AttemptCount, NOW)
    assert len({sql for sql in statements if sql.startswith("DELETE")}) == 1


def test_nothing_to_delete_is_no_error(database):
    keep(NOW + 1)
    purge_some(AttemptCount, NOW)
    assert purge_expired(AttemptCount, NOW) == 0
    assert expirations() == [NOW + 1]


def test_what_cannot_be_deleted_by_the_way_is_logged_in_one_line(database, caplog):
    database.execute_sql("DROP TABLE wsgiauth_attempt_count")
    purge_some(AttemptCount, NOW)
    (record,) = caplog.records
    expected = "expired rows of wsgiauth_attempt_count stay for now: OperationalError"
    assert (record.levelname, record.getMessage()) == ("WARNING", expected)


# Everything


@pytest.mark.every_database
@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_all_rows_are_deleted_in_batches_of_any_size(database, limit):
    keep(*range(5))
    assert delete_all(AttemptCount, limit=limit) == 5
    assert expirations() == []
    assert delete_all(AttemptCount, limit=limit) == 0


@pytest.mark.every_database
@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_rows_to_which_a_condition_does_not_apply_stay(database, limit):
    keep(*range(6))
    is_even = AttemptCount.expires_at.in_((0, 2, 4))
    assert delete_all(AttemptCount, is_even, limit=limit) == 3
    assert expirations() == [1, 3, 5]


@pytest.mark.every_database
def test_rows_with_a_key_of_two_columns_are_deleted(database, ada, grace):
    for user in (ada, grace):
        user.grant("a.b", "c.d", "e.f")
    assert delete_all(Permission, limit=2) == 6
    assert not Permission.select().exists()
