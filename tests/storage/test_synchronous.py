"""PostgreSQL while no synchronous standby confirms what is committed."""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from urllib.parse import urlsplit

import peewee
import pytest
from webtest import TestApp

from tests.storage.conftest import close, run_python
from tests.support.pgbouncer import pgbouncer
from tests.support.private_servers import PrivateServer
from tests.support.silent_proxy import running_proxy
from tests.support.sites import SECRET_KEY, echo
from tests.support.synchronous import Standbys
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.storage import schema
from wsgiauth.storage.databases import make_database
from wsgiauth.testing import bearer, make_user

THREADS = 8
MOST = 6  # connections of a pool
REFUSED = "no synchronous standby confirms changes"
UNCONFIRMED = "the server has stopped answering"


@pytest.fixture(scope="module")
def server():
    """Return a server with the tables."""
    folder = tempfile.mkdtemp(prefix="wsgiauth-")
    made = PrivateServer("postgresql", folder)
    storage.discard_connection(storage.open_database(made.url, prepare=schema.migrate))
    yield made
    made.crash()
    shutil.rmtree(folder)


@pytest.fixture
def standbys(server):
    """Return the standbys for which the server waits, at first none."""
    with Standbys(server.url) as made:
        yield made


@pytest.fixture
def url_of(server):
    """Return a function that returns the server's URL with parameters."""

    def url_of(pooling, parameters="read_timeout=1"):
        if pooling and "max_connections" not in parameters:
            parameters += f"&max_connections={MOST}&timeout=1"
        return f"{server.url}?{parameters}".replace(":", f"{pooling}:", 1)

    return url_of


@pytest.fixture
def open_site(standbys, url_of):
    """Return a function that opens a site, whose database is closed after the test."""
    opened = []

    def open_one(pooling, parameters="read_timeout=1"):
        settings = Settings(
            SECRET_KEY=SECRET_KEY,
            BCRYPT_ROUNDS=4,
            DATABASE_URL=url_of(pooling, parameters),
            HASHING_THREADS=THREADS,
            HASHING_PER_ADDRESS=0,
            LOGIN_FAILURES_PER_ADDRESS=0,
            ADMIN_PANEL=False,  # which counts events in a thread, whose commits would wait, too
        )
        opened.append(AuthMiddleware(echo, settings))
        return opened[-1]

    yield open_one
    standbys.are_back()
    for each in opened:
        each.database.execute_sql("DELETE FROM wsgiauth_user")  # forgets the commits that waited
        close(each.database)


def in_threads(actions):
    """Return what each action returns, in THREADS threads, which close their connections."""

    def act(action):
        try:
            return action()
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(THREADS) as threads:
        return [*threads.map(act, actions)]


def guess(site, number):
    guessed = {"username": f"nobody{number}", "password": "a wrong guess"}
    return TestApp(site).post_json("/auth/login", guessed, status="*").status_int


def log_out(site, headers):
    status = TestApp(site).post("/auth/logout", headers=headers, status="*").status_int
    storage.discard_connection(site.database)
    return status


def user_of(site, headers):
    return TestApp(site).get("/", headers=headers, status=200).json["user"]


@pytest.mark.promise(28)
def test_refused_changes_take_no_more_connections_than_a_pool_has(open_site, standbys, pooling):
    site = open_site(pooling)
    headers = bearer(site, make_user(site, "ada"))
    storage.discard_connection(site.database)
    with standbys.away():
        statuses = in_threads([partial(guess, site, each) for each in range(4 * THREADS)])
        assert set(statuses) == {503}
        assert user_of(site, headers) == "ada"
        assert standbys.connections() <= (MOST if pooling else 2 * THREADS)
        assert standbys.waiting() <= (MOST // 2 if pooling else THREADS)
    assert guess(site, 0) == 401


@pytest.mark.promise(28)
def test_readers_have_connections_while_all_changes_wait(open_site, standbys):
    site = open_site("+pool", "read_timeout=4")
    ada, *others = (bearer(site, make_user(site, f"user{each}")) for each in range(1 + MOST))
    with standbys.away(), ThreadPoolExecutor(MOST) as threads:
        logouts = [threads.submit(log_out, site, each) for each in others]
        while not all(each.done() for each in logouts):
            assert user_of(site, ada) == "user0"
        assert {each.result() for each in logouts} == {503}


@pytest.mark.promise(28)
def test_changes_are_refused_at_once_until_a_standby_is_back(open_site, standbys, pooling, caplog):
    site = open_site(pooling)
    headers = [bearer(site, make_user(site, name)) for name in ("ada", "bo", "grace")]
    with standbys.away():
        assert log_out(site, headers[0]) == 503
        caplog.clear()
        assert log_out(site, headers[1]) == guess(site, 0) == 503
        errors = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
        assert errors == [f"the account database failed: OperationalError: {REFUSED}"] * 2
        assert standbys.waiting() == 1
    assert [user_of(site, each) for each in headers] == [None, "bo", "grace"]
    assert log_out(site, headers[1]) == 200
    assert user_of(site, headers[1]) is None


# Without HTTP


@pytest.fixture
def mark(server):
    """Make a table, and drop it after the test."""
    opened = make_database(server.url)
    opened.execute_sql("CREATE TABLE mark (number integer)")
    yield
    opened.execute_sql("DROP TABLE mark")
    opened.close()


@pytest.fixture
def open_database(mark, standbys, url_of):
    """Return a function that opens a database, which is closed after the test."""
    opened = []

    def open_one(pooling, parameters="read_timeout=1"):
        opened.append(make_database(url_of(pooling, parameters)))
        return opened[-1]

    yield open_one
    standbys.are_back()
    for each in opened:
        insert(each)  # forgets the commits that waited
        close(each)


def insert(database):
    try:
        database.execute_sql("INSERT INTO mark VALUES (1)")
    finally:
        storage.discard_connection(database)


def insert_and_commit(database):
    try:
        with database.atomic():
            insert(database)
    finally:
        storage.discard_connection(database)


def commit_and_insert(database):
    try:
        with database.atomic() as transaction:
            insert(database)
            transaction.commit()
            insert(database)
    finally:
        storage.discard_connection(database)


def rows(database):
    with database.connection_context():
        return len(database.fetchall("SELECT number FROM mark", ()))


@pytest.mark.parametrize("change", [insert, insert_and_commit])
def test_a_change_that_is_not_confirmed_is_made_when_a_standby_is_back(
    open_database, standbys, pooling, change
):
    database = open_database(pooling)
    with standbys.away():
        for reason in (UNCONFIRMED, REFUSED, REFUSED):
            with pytest.raises(peewee.OperationalError, match=reason):
                change(database)
        assert rows(database) == 0
        assert standbys.waiting() == 1
    assert rows(database) == 1
    change(database)
    assert rows(database) == 2


def test_a_commit_within_a_block_can_fail_too(open_database, standbys, pooling):
    database = open_database(pooling)
    with standbys.away(), pytest.raises(peewee.OperationalError):
        commit_and_insert(database)
    commit_and_insert(database)
    assert rows(database) == 3


def test_without_a_connection_nothing_is_committed(open_database, pooling):
    with pytest.raises(peewee.InterfaceError):
        open_database(pooling).commit()


def test_a_change_that_waits_for_nothing_is_made_while_others_are_refused(
    open_database, standbys, pooling
):
    """So the sessions of users who are active do not end."""
    database = open_database(pooling)
    with standbys.away():
        for reason in (UNCONFIRMED, REFUSED):
            with pytest.raises(peewee.OperationalError, match=reason):
                insert(database)
        with database.without_waiting():
            insert(database)
        assert rows(database) == 1


def test_a_commit_whose_connection_has_ended_is_not_waited_for(open_database, standbys, pooling):
    database = open_database(pooling)
    with standbys.away():
        for _ in range(2):
            with pytest.raises(peewee.OperationalError, match=UNCONFIRMED):
                insert(database)
            standbys.end_waiting()


def test_a_commit_whose_connection_was_closed_is_not_waited_for(open_database, standbys):
    database = open_database("+pool")
    with standbys.away():
        for _ in range(2):
            with pytest.raises(peewee.OperationalError, match=UNCONFIRMED):
                insert(database)
            database.close_all()


def test_a_commit_whose_server_has_vanished_is_not_waited_for(
    open_database, standbys, pooling, server, monkeypatch
):
    database = open_database(pooling)
    with running_proxy(("127.0.0.1", server.port)) as proxy:
        monkeypatch.setitem(database.connect_params, "port", proxy.server_address[1])
        with standbys.away():
            with pytest.raises(peewee.OperationalError, match=UNCONFIRMED):
                insert(database)
            proxy.is_silent = True  # so the answer never comes
        proxy.is_silent = False
        insert(database)
        close(database)


def test_a_child_does_not_wait_for_the_commit_of_its_parent(standbys, url_of, tmp_path, mark):
    program = """
import os, peewee
from wsgiauth.storage.connections import watch_forks
from wsgiauth.storage.databases import make_database

def insert():
    try:
        database.execute_sql("INSERT INTO mark VALUES (1)")
    except peewee.OperationalError as error:
        print(error, flush=True)

watch_forks(database := make_database(os.environ["DATABASE_URL"]))
insert()
child = os.fork()
if not child:
    insert()
    os._exit(0)
os.waitpid(child, 0)
insert()
"""
    with standbys.away():
        output = run_python(program, tmp_path, DATABASE_URL=url_of(""))
        assert output.splitlines() == [UNCONFIRMED, UNCONFIRMED, REFUSED]


def test_behind_a_pooler_a_change_is_refused_until_a_standby_is_back(
    open_database, standbys, pooling, server, monkeypatch
):
    with pgbouncer(server.url) as url:
        database = open_database(pooling)
        monkeypatch.setitem(database.connect_params, "port", urlsplit(url).port)
        with standbys.away():
            for reason in (UNCONFIRMED, REFUSED, REFUSED):
                with pytest.raises(peewee.OperationalError, match=reason):
                    insert(database)
            assert standbys.waiting() == 1
        insert(database)
        assert rows(database) == 2
        close(database)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_changes_wait_for_each_other_without_a_connection(open_database, most):
    database = open_database("+pool", f"max_connections={most}&timeout=60")
    with ThreadPoolExecutor(THREADS) as threads:
        with database.connection_context(), database.atomic():
            waiting = [threads.submit(insert_and_commit, database) for _ in range(THREADS)]
            wait(waiting, timeout=0.2)  # as long as a change without a place would take
            assert not any(each.done() for each in waiting)
            if most > 1:
                assert threads_can_read(database)
        assert [each.result() for each in waiting] == [None] * THREADS
    assert rows(database) == THREADS


def threads_can_read(database):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(rows, database).result() == 0


def test_a_pool_without_a_limit_has_none_for_changes(open_database):
    database = open_database("+pool", "max_connections=0")
    with database.atomic():
        in_threads([partial(insert, database)])
    assert rows(database) == 1
