"""PostgreSQL behind the real PgBouncer in transaction mode, and with another isolation level."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from urllib.parse import urlsplit

import pytest
from playhouse import db_url
from webtest import TestApp

from tests.conftest import SERVERS, empty_tables
from tests.support.leftovers import own_name
from tests.support.pgbouncer import pgbouncer
from tests.support.schema import MIGRATIONS
from tests.support.sites import PASSWORD, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import context, schema

THREADS = 8


@pytest.fixture(scope="session", name="pgbouncer")
def pgbouncer_in_transaction_mode(server_urls):
    """Return the URL of the PostgreSQL database behind PgBouncer."""
    with pgbouncer(server_urls("postgresql")) as url:
        yield url


def settings_of(url):
    limits = dict.fromkeys(("LOGIN_FAILURES_PER_ADDRESS", "HASHING_PER_ADDRESS"), 0)
    limits["HASHING_THREADS"] = THREADS
    return Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url, **limits)


@pytest.fixture
def open_site():
    """Return a function that opens a site with as many users as threads."""
    opened = []

    def open_one(url):
        site = AuthMiddleware(echo, settings_of(url))
        opened.append(site.database)
        for number in range(THREADS):
            create_user(
                f"user{number}", f"{number}@example.org", PASSWORD, settings=settings_of(url)
            )
        return site

    yield open_one
    for each in opened:
        context.use(each)
        empty_tables()
        storage.discard_connection(each)
        if hasattr(each, "close_all"):
            each.close_all()


def log_in_and_out(site, username, times=4):
    """Return what is answered to logins, to requests with their tokens, and to logouts."""
    client = TestApp(site)
    answers = set()
    account = {"username": username, "password": PASSWORD}
    for _ in range(times):
        login = client.post_json("/auth/login", account, status="*")
        answers.add(("login", login.status_int))
        headers = {"Authorization": f"Bearer {login.json.get('access_token')}"}
        for _ in range(8):  # so often that psycopg prepares the statement
            answer = client.get("/", headers=headers, status="*")
            answers.add(("request", answer.json.get("user") == username))
        assert User.objects.count() == THREADS
        answers.add(("logout", client.post("/auth/logout", headers=headers, status="*").status_int))
        answers.add(("after", client.get("/", headers=headers).json["user"]))
    storage.discard_connection(site.database)
    return answers


ALL_WELL = {("login", 200), ("request", True), ("logout", 200), ("after", None)}


def in_threads(action):
    together = threading.Barrier(THREADS)

    def act(number):
        together.wait()
        return action(number)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(act, range(THREADS)))


@pytest.mark.parametrize("pooling", ["", "+pool"], ids=["kept", "pooled"])
def test_logins_requests_and_logouts_work_behind_pgbouncer(pooling, pgbouncer, open_site):
    site = open_site(pgbouncer.replace(":", f"{pooling}:", 1))
    assert set.union(*in_threads(lambda number: log_in_and_out(site, f"user{number}"))) == ALL_WELL


def test_without_a_pooler_statements_are_prepared(server_urls, open_site):
    site = open_site(server_urls("postgresql"))
    log_in_and_out(site, "user0")
    for _ in range(8):  # psycopg prepares what it executes more than five times
        User.objects.count()
    prepared = "SELECT statement FROM pg_prepared_statements"
    assert "wsgiauth_user" in str(site.database.execute_sql(prepared).fetchall())


def test_pgbouncer_is_left_no_setting_for_others(pgbouncer, open_site):
    open_site(pgbouncer)
    other = db_url.connect(pgbouncer)
    assert other.execute_sql("SHOW lock_timeout").fetchone() == ("0",)
    other.close()


def test_migrations_at_the_same_time_behind_pgbouncer_are_applied_once(pgbouncer, server_urls):
    server = db_url.connect(server_urls("postgresql"))
    name = f"{own_name()}_pooled"
    server.execute_sql(f"CREATE DATABASE {name}")
    url = urlsplit(pgbouncer)._replace(path=f"/{name}").geturl()

    def migrate(_):
        applied = []
        opened = storage.open_database(
            url, prepare=lambda opened: applied.extend(schema.migrate(opened))
        )
        storage.discard_connection(opened)
        return applied

    try:
        applied = chain.from_iterable(in_threads(migrate))  # each by one of them
        assert sorted(applied) == MIGRATIONS
        locks = (
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE locktype = 'advisory' AND datname = %s"
        )
        assert server.execute_sql(locks, (name,)).fetchone() == (0,)
    finally:
        server.execute_sql(f"DROP DATABASE {name} WITH (FORCE)")
        server.close()


@pytest.fixture
def serializable(server_urls):
    """Make serializable the isolation level of new connections to the database."""
    server = db_url.connect(server_urls("postgresql"))
    setting = f"ALTER DATABASE {own_name()} {{}} default_transaction_isolation"
    server.execute_sql(setting.format("SET") + " = 'serializable'")
    yield
    server.execute_sql(setting.format("RESET"))
    server.close()


def test_logins_at_once_survive_a_default_isolation_of_serializable(
    serializable, server_urls, open_site
):
    site = open_site(server_urls("postgresql"))
    assert set.union(*in_threads(lambda number: log_in_and_out(site, f"user{number}"))) == ALL_WELL


def test_pgbouncer_before_a_serializable_database_is_refused(serializable, pgbouncer):
    another = urlsplit(pgbouncer)._replace(path="/another").geturl()  # its connections are new
    with pytest.raises(ConfigurationError, match=r"default_transaction_isolation is serializable"):
        storage.open_database(another)


@pytest.fixture
def session_pgbouncer(server_urls):
    """Return a URL behind a PgBouncer in session mode."""
    with pgbouncer(server_urls("postgresql"), "session") as url:
        yield url


@pytest.mark.promise(28)
@pytest.mark.parametrize("pooling", ["", "+pool"], ids=["kept", "pooled"])
def test_a_connection_that_postgresql_ends_behind_pgbouncer_is_replaced(
    session_pgbouncer, pooling, open_site
):
    client = TestApp(open_site(session_pgbouncer.replace(":", f"{pooling}:", 1)))
    account = {"username": "user0", "password": PASSWORD}
    token = client.post_json("/auth/login", account).json["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/", headers=headers).json["user"] == "user0"
    (process,) = storage.current().execute_sql("SELECT pg_backend_pid()").fetchone()
    storage.release_connection(storage.current())
    terminate(process)
    assert client.get("/", headers=headers).json["user"] == "user0"


def terminate(process):
    """End a server process, and return when it has ended."""
    server = db_url.connect(SERVERS["postgresql"])
    server.execute_sql("SELECT pg_terminate_backend(%s)", (process,))
    running = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    while server.execute_sql(running, (process,)).fetchone() != (0,):
        time.sleep(0.01)
    server.close()


@pytest.fixture
def busy_pgbouncer(server_urls):
    """Return a URL behind a PgBouncer that has one connection for one client, until that ends."""
    with pgbouncer(server_urls("postgresql"), "session", size=1) as url:
        yield f"{url}?read_timeout=2"


@pytest.mark.promise(28)
def test_one_thread_alone_waits_for_a_pgbouncer_that_has_no_connection_left(
    busy_pgbouncer, open_site, caplog
):
    client = TestApp(open_site(busy_pgbouncer))  # this thread keeps the connection
    account = {"username": "user0", "password": PASSWORD}
    token = client.post_json("/auth/login", account).json["access_token"]

    def ask(_):
        return client.get("/", headers={"Authorization": f"Bearer {token}"}, status=503)

    assert {each.json["code"] for each in in_threads(ask)} == {"unavailable"}
    reports = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert sum("the server has stopped answering" in each for each in reports) == 1
    assert sum("did not answer the last attempt" in each for each in reports) == THREADS - 1
