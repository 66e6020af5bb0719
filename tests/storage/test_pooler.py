"""PostgreSQL behind the real PgBouncer in transaction mode, and with another isolation level."""

import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from urllib.parse import unquote, urlsplit

import pytest
from playhouse import db_url
from webtest import TestApp

from tests.conftest import NAME, empty_tables, skip_or_fail
from tests.support.schema import MIGRATIONS
from tests.support.sites import PASSWORD, SECRET_KEY, echo, free_port, started
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import context, schema

THREADS = 8
CONFIGURATION = """
[databases]
* = {server}
another = dbname={name} {server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
"""


@pytest.fixture(scope="session")
def pgbouncer(server_urls, tmp_path_factory):
    """Return the URL of the PostgreSQL database behind PgBouncer."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        skip_or_fail("pgbouncer is not installed")
    url = urlsplit(server_urls("postgresql"))
    server = f"host={url.hostname} port={url.port or 5432} user={url.username}"
    if url.password:
        server += f" password='{unquote(url.password)}'"
    port = free_port()
    file = tmp_path_factory.mktemp("pgbouncer") / "pgbouncer.ini"
    file.write_text(
        CONFIGURATION.format(server=server, name=NAME, listen_port=port),
        encoding="utf-8",
    )
    # PgBouncer refuses to run as root, and another user cannot read pytest's folders.
    is_root = os.geteuid() == 0
    with file.open() as configuration:
        command = [program, "--quiet", "/dev/stdin"]
        options = {"user": "postgres"} if is_root else {}
        with started(command, port, stdin=configuration, stderr=subprocess.DEVNULL, **options):
            yield url._replace(netloc=f"{url.username}@127.0.0.1:{port}").geturl()


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
    name = f"{NAME}_pooled"
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
    setting = f"ALTER DATABASE {NAME} {{}} default_transaction_isolation"
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
