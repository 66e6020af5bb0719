"""Transactions that MariaDB rolls back for others, and what is repeated then."""

import threading
from concurrent.futures import ThreadPoolExecutor

import peewee
import pymysql
import pytest

from tests.conftest import insert_users
from tests.support.tables import row_by_row
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.storage import conflicts, context
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.throttling.counts import AttemptCount

PATIENCE = 60  # seconds
DEADLOCK = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def mariadb(request, server_urls, open_database, empty_server):
    """Return an empty database of MariaDB."""
    url = server_urls("mariadb").replace(":", f"{request.param}:", 1)
    yield open_database(url, prepare=lambda _: None)
    empty_server("mariadb")


def error_of(number):
    return peewee.OperationalError(number, "an error")


def failing(number, times):
    """Return a function that fails so many times, and the list of its calls."""
    calls = []

    def act():
        calls.append(act)
        if len(calls) <= times:
            raise error_of(number)
        return "done"

    return act, calls


@row_by_row("number", [1213, 1305], ids=["deadlock", "no savepoint any more"])
def test_what_lost_a_conflict_is_repeated(number):
    act, calls = failing(number, times=3)
    assert conflicts.repeat(act) == "done"
    assert len(calls) == 4


def test_another_failure_is_not_repeated():
    act, calls = failing(1205, times=1)
    with pytest.raises(peewee.OperationalError):
        conflicts.repeat(act)
    assert len(calls) == 1


def test_conflicts_without_end_fail(monkeypatch):
    monkeypatch.setattr(conflicts, "BUSY_TIMEOUT", 0)
    act, _ = failing(1213, times=10**9)
    with pytest.raises(peewee.OperationalError):
        conflicts.repeat(act)


def test_a_function_without_a_database_is_not_repeated(monkeypatch):
    monkeypatch.setattr(context, "database", lambda: None)
    act, calls = failing(1213, times=1)
    with pytest.raises(peewee.OperationalError):
        conflicts.repeated_after_conflict(act)()
    assert len(calls) == 1


def test_a_part_of_a_transaction_is_not_repeated(database):
    act, calls = failing(1213, times=1)
    with pytest.raises(peewee.OperationalError), database.atomic():
        conflicts.repeated_after_conflict(act)()
    assert len(calls) == 1


def test_of_two_transactions_that_wait_for_each_other_both_are_made(mariadb):
    insert_users(2)
    first, second = User.select().order_by(User.id)
    barrier, met = threading.Barrier(2), threading.local()

    def increment(user):
        User.update(security_stamp=User.security_stamp + 1).where(User.id == user.id).execute()

    @conflicts.repeated_after_conflict
    def increment_both(*users):
        with mariadb.atomic():
            increment(users[0])
            if not hasattr(met, "once"):  # otherwise it is repeated
                met.once = barrier.wait(PATIENCE)
            with mariadb.atomic():  # whose savepoint is gone after the deadlock
                increment(users[1])

    def act(users):
        with context.using(mariadb):
            increment_both(*users)
            storage.discard_connection(mariadb)

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(act, [(first, second), (second, first)])] == [None, None]
    assert [user.security_stamp for user in User.select()] == [2, 2]


def fail_twice(database):
    """Let the first two counts of this connection fail as a deadlock does."""
    database.execute_sql("SET @conflicts = 0")
    database.execute_sql(
        "CREATE TRIGGER conflicts BEFORE INSERT ON wsgiauth_attempt_count FOR EACH ROW BEGIN"
        f" SET @conflicts = @conflicts + 1; IF @conflicts <= 2 THEN {DEADLOCK}; END IF; END"
    )


@pytest.fixture
def conflicting(mariadb):
    """Return the database, which rolls back the first two counts."""
    fail_twice(mariadb)
    yield mariadb
    mariadb.execute_sql("DROP TRIGGER conflicts")


def insert_count():
    AttemptCount.insert(id="one", retry_at=0, count=1, expires_at=0).execute()


def test_a_statement_outside_a_transaction_is_repeated(conflicting):
    insert_count()
    assert AttemptCount.select().count() == 1


@pytest.mark.parametrize("begin", ["by SQL", "by Peewee"])
def test_a_statement_in_a_transaction_is_not_repeated(begin, conflicting):
    transaction = conflicting.atomic()
    if begin == "by Peewee":
        transaction.__enter__()
    else:
        conflicting.connection().query("BEGIN")
    with pytest.raises(peewee.OperationalError, match="1213"):
        insert_count()
    conflicting.rollback()
    if begin == "by Peewee":
        transaction.__exit__(None, None, None)
    assert AttemptCount.select().count() == 0


def failing_rollback(number):
    def roll_back(self):
        raise error_of(number)

    return roll_back


def test_what_the_server_has_rolled_back_is_rolled_back(mariadb, monkeypatch):
    """A node of Galera answers ROLLBACK with the conflict."""
    events = []

    def fail():
        with mariadb.atomic():
            mariadb.after_commit(lambda: events.append("committed"))
            raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(peewee.MySQLDatabase, "rollback", failing_rollback(1213))
        with pytest.raises(ZeroDivisionError):
            fail()
    mariadb.rollback()
    with mariadb.atomic():
        pass
    assert events == []


def test_another_failure_of_a_rollback_is_raised(mariadb, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(peewee.MySQLDatabase, "rollback", failing_rollback(2013))
        with pytest.raises(peewee.OperationalError):
            mariadb.rollback()


def test_a_session_waits_for_what_other_nodes_have_committed(mariadb):
    assert mariadb.fetchone("SELECT @@wsrep_sync_wait, @@wsrep_dirty_reads", ()) == (7, 0)


def test_a_change_sees_the_newest_rows_whatever_the_server_says(server_urls, open_database):
    isolated = "init_command=SET%20innodb_snapshot_isolation%3D1"
    opened = open_database(f"{server_urls('mariadb')}&{isolated}")
    assert opened.fetchone("SELECT @@innodb_snapshot_isolation", ()) == (0,)


@pytest.fixture
def refuse_wsrep(monkeypatch):
    """Return a function that lets the server fail with this error as MySQL does."""
    query = pymysql.connections.Connection.query

    def refuse(number):
        def refusing(self, sql, *arguments, **keywords):
            if "wsrep" in sql:
                raise pymysql.err.OperationalError(number, "an error")
            return query(self, sql, *arguments, **keywords)

        monkeypatch.setattr(pymysql.connections.Connection, "query", refusing)

    return refuse


def test_a_server_that_cannot_be_in_a_cluster_need_not_wait(mariadb, refuse_wsrep):
    storage.discard_connection(mariadb)
    refuse_wsrep(1193)
    assert mariadb.fetchone("SELECT @@innodb_lock_wait_timeout", ()) == (mariadb.lock_timeout,)


def test_another_failure_to_set_up_a_session_is_raised(mariadb, refuse_wsrep):
    if hasattr(mariadb, "close_all"):
        mariadb.close_all()
    storage.discard_connection(mariadb)
    refuse_wsrep(1047)
    with pytest.raises(peewee.OperationalError, match="1047"):
        mariadb.connection()


def test_expired_rows_are_deleted_after_the_transaction(database):
    insert_count()
    with database.atomic():
        purge_some(AttemptCount, 1)
        assert AttemptCount.select().count() == 1
    assert AttemptCount.select().count() == 0
