"""PostgreSQL with a hot standby: the primary is killed under traffic, and the standby promoted."""

from contextlib import ExitStack

import httpx
import pytest
from webtest import TestApp

from tests.support.postgres_pair import running_pair
from tests.support.processes import started
from tests.support.sites import PASSWORD, SECRET_KEY, echo
from tests.support.traffic import PROCESSES, settings_for_traffic, traffic_on
from tests.support.traffic_client import PATIENCE
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.storage import schema
from wsgiauth.testing import bearer, make_user

MOST = 3  # connections of each
GUESSES = 8  # at each, one after the other
CONNECTIONS = """SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""


@pytest.fixture
def pair():
    with running_pair() as pair:
        storage.discard_connection(storage.open_database(pair.url, prepare=schema.migrate))
        yield pair


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def url(request, pair):
    """Return the URL of the pair, with a pool or without one."""
    return pair.url.replace(":", f"{request.param}:", 1)


def close(database):
    storage.discard_connection(database)
    if hasattr(database, "close_all"):
        database.close_all()


@pytest.mark.promise(28)
@pytest.mark.promise(77)
def test_with_a_synchronous_standby_nothing_acknowledged_is_lost(pair, url, tmp_path):
    pair.replicate(synchronously=True)
    with traffic_on(url, tmp_path) as traffic:
        with traffic:
            traffic.wait(150)
            pair.primary.crash()
            traffic.wait_until_refused()
            pair.standby.promote()
            traffic.wait(150)
        assert traffic.compare() == []


@pytest.mark.promise(77)
def test_with_an_asynchronous_standby_what_it_did_not_get_is_lost(pair, tmp_path):
    pair.replicate(synchronously=False)
    with traffic_on(pair.url, tmp_path) as traffic:
        with traffic:
            traffic.wait(50)
            pair.wait_until_replayed()
            pair.standby.crash()
            traffic.wait(150)
        pair.primary.crash()
        pair.standby.start()
        pair.standby.promote()
        mistakes = " ".join(traffic.compare())
    assert "cannot log in" in mistakes  # lost: accounts, new passwords
    assert "a session of nobody is answered" in mistakes  # valid again: revoked sessions


@pytest.mark.promise(77)
def test_a_logout_is_seen_at_once_although_the_standby_is_behind(pair, url):
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    clients = [TestApp(AuthMiddleware(echo, settings)) for _ in range(2)]
    headers = bearer(clients[0].app, make_user(clients[0].app, "ada"))
    pair.wait_until_replayed()
    pair.standby.ask("SELECT pg_wal_replay_pause()")
    assert clients[0].post("/auth/logout", headers=headers, status=200)
    assert pair.standby.ask("SELECT count(*) FROM wsgiauth_session") == 1
    assert [each.get("/", headers=headers).json["user"] for each in clients] == [None, None]
    for each in clients:
        close(each.app.database)


@pytest.mark.promise(28)
def test_while_the_synchronous_standby_is_away_changes_alone_fail(pair, tmp_path):
    url = pair.url.replace(":", "+pool:", 1) + f"&read_timeout=1&max_connections={MOST}"
    settings = Settings(**settings_for_traffic(url, tmp_path))
    with ExitStack() as stack:
        sites = []
        for _ in range(PROCESSES):
            _, address = stack.enter_context(started(settings))
            client = httpx.Client(base_url=f"http://{address}", timeout=PATIENCE)
            sites.append(stack.enter_context(client))
        ada, bo = (headers_of(sites[0], name) for name in ("ada", "bo"))
        pair.replicate(synchronously=True)
        pair.standby.crash()
        statuses = [guess(each, number) for number in range(GUESSES) for each in sites]
        assert set(statuses) == {503}
        assert pair.primary.ask(CONNECTIONS) <= PROCESSES * MOST
        assert [log_out(each, ada) for each in sites] == [503] * PROCESSES
        assert [user_of(each, ada) for each in sites] == ["ada"] * PROCESSES
        pair.standby.start()
        pair.replicate(synchronously=True)
        assert log_out(sites[0], bo) == 200
        assert guess(sites[1], 0) == 401
        assert [user_of(each, bo) for each in sites] == [None] * PROCESSES


def headers_of(site, name):
    account = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    site.post("/auth/register", json=account).raise_for_status()
    login = site.post("/auth/login", json=account).raise_for_status()
    return {"Authorization": f"Bearer {login.json()['access_token']}"}


def guess(site, number):
    guessed = {"username": f"nobody{number}", "password": "a wrong guess"}
    return site.post("/auth/login", json=guessed).status_code


def log_out(site, headers):
    return site.post("/auth/logout", headers=headers).status_code


def user_of(site, headers):
    return site.get("/", headers=headers).raise_for_status().json()["user"]
