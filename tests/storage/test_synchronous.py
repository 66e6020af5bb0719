"""PostgreSQL while no synchronous standby confirms what is committed."""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from webtest import TestApp

from tests.storage.conftest import close
from tests.support.private_servers import PrivateServer
from tests.support.sites import SECRET_KEY, echo
from tests.support.synchronous import Standbys
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.storage import schema
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
