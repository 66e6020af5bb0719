"""What breaks in production: databases that stop, hang, fill up or vanish, processes killed."""

import gc
import itertools
import os
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import peewee
import pytest
from playhouse import db_url
from webtest import TestApp

from tests.conftest import SERVERS, empty_tables
from tests.support.permissions import ordinary_user, public_folder
from tests.support.private_servers import PrivateServer
from tests.support.processes import THREADS as CLIENTS
from tests.support.processes import Client, started
from tests.support.silent_proxy import running_proxy
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import (
    connections,
    context,
    postgres_mysql,
    psycopg_connection,
    schema,
    sqlite,
)

ACCOUNT = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
KILLS = int(os.environ.get("KILLS", "2"))  # for each database


def settings_of(url):
    no_throttle = dict.fromkeys(
        ("REGISTRATIONS_PER_ADDRESS", "LOGIN_FAILURES_PER_ADDRESS", "HASHING_PER_ADDRESS"), 0
    )
    # Without the panel, no thread counts events, whose connections would fail, too.
    values = {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": 4, "DATABASE_URL": url}
    return Settings.from_mapping({**values, "ADMIN_PANEL": "off", **no_throttle})


@pytest.fixture
def open_site():
    """Return a function that opens a site in which Ada is logged in; its tables are left empty."""
    opened = []

    def open_one(url, prepare=schema.make_ready):
        storage.discard_connection(storage.open_database(url, prepare=prepare))
        client = TestApp(AuthMiddleware(echo, settings_of(url)))
        opened.append(storage.current())
        create_user(USERNAME, EMAIL, PASSWORD, settings=settings_of(url))
        token = client.post_json("/auth/login", ACCOUNT).json["access_token"]
        return client, {"Authorization": f"Bearer {token}"}

    yield open_one
    for each in opened:
        context.use(each)
        empty_tables()
        close(each)


def close(database):
    storage.discard_connection(database)
    if hasattr(database, "close_all"):
        database.close_all()


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def pooling(request):
    """Return what follows the scheme of a URL."""
    return request.param


@pytest.fixture
def complaints(caplog):
    """Return a function that returns what was logged since it was called last."""

    def complaints_since():
        messages = [each.getMessage() for each in caplog.records if each.name == "wsgiauth"]
        assert not any(each.exc_info for each in caplog.records)
        caplog.clear()
        return messages

    caplog.set_level("ERROR", "wsgiauth")
    return complaints_since


def assert_away(client, headers, complaints):
    """Check what everybody is told while the database does not answer."""
    for ask in (
        lambda: client.get("/", headers=headers, status=503),
        lambda: client.post_json("/auth/login", ACCOUNT, status=503),
    ):
        complaints()
        refused = ask()
        assert refused.json["code"] == "unavailable"
        assert int(refused.headers["Retry-After"]) > 0
        assert len(complaints()) == 1
    assert client.get("/").json["user"] is None
    assert complaints() == []


def assert_back(client, headers):
    """Check that it is as if nothing had happened."""
    assert client.get("/", headers=headers).json["user"] == USERNAME
    client.post_json("/auth/login", ACCOUNT, status=200)


def leave_idle(pool, number):
    """Leave so many connections in a pool that are all going to be lost."""
    barrier = threading.Barrier(number, timeout=60)

    def connect_and_return(_):
        pool.connect()
        barrier.wait()
        pool.close()

    with ThreadPoolExecutor(number) as threads:
        list(threads.map(connect_and_return, range(number)))


# Servers that stop


@pytest.fixture(scope="module")
def private_server():
    """Return a function that returns the private server of a kind, running."""
    running = {}

    def server_of(kind):
        if kind not in running:
            folder = tempfile.mkdtemp(prefix="wsgiauth-")
            folders.append(folder)
            running[kind] = PrivateServer(kind, folder)
        return running[kind]

    folders = []
    yield server_of
    for server in running.values():
        server.crash()
    for folder in folders:
        shutil.rmtree(folder)


@pytest.mark.promise(28)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_may_crash_and_come_back(
    kind, pooling, private_server, open_site, complaints, monkeypatch
):
    monkeypatch.setattr(postgres_mysql, "SILENCE", 0)  # where it takes long to be refused
    server = private_server(kind)
    url = server.url.replace(":", f"{pooling}:", 1)
    client, headers = open_site(url, prepare=schema.migrate)
    if pooling:
        leave_idle(storage.current(), 9)  # more than will be missed while the server is away
    server.crash()
    try:
        assert_away(client, headers, complaints)
    finally:
        server.start()
    assert_back(client, headers)
    assert complaints() == []


@pytest.mark.promise(77)
def test_a_standby_is_refused(private_server):
    server = private_server("postgresql")
    server.crash()
    Path(server.folder, "data/standby.signal").touch()
    server.start()
    try:
        with pytest.raises(
            ConfigurationError, match="the server is a standby, whose data can be out of date"
        ):
            storage.open_database(server.url)
    finally:
        server.crash()
        Path(server.folder, "data/standby.signal").unlink()
        server.start()


# Servers that say nothing


@pytest.fixture
def proxied(server_urls):
    """Return a function that puts a proxy in front of a server and returns it with its URL."""
    running = ExitStack()

    def proxy_of(kind, options):
        url = urlsplit(server_urls(kind))
        port = url.port or {"postgresql": 5432, "mariadb": 3306}[kind]
        proxy = running.enter_context(running_proxy((url.hostname, port)))
        credentials = url.netloc.rpartition("@")[0]
        netloc = f"{credentials}@127.0.0.1:{proxy.server_address[1]}"
        return proxy, url._replace(netloc=netloc, query=f"{url.query}&{options}").geturl()

    yield proxy_of
    gc.collect()  # psycopg's attempts to connect
    running.close()


@pytest.mark.promise(28)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_that_stops_answering_is_given_up(
    kind, pooling, proxied, open_site, complaints, monkeypatch
):
    later = 0
    monkeypatch.setattr(postgres_mysql, "monotonic", lambda: time.monotonic() + later)
    proxy, url = proxied(kind, "read_timeout=2&connect_timeout=2")
    client, headers = open_site(url.replace(":", f"{pooling}:", 1))
    if pooling:
        storage.release_connection(storage.current())
        leave_idle(storage.current(), 9)
    proxy.is_silent = True
    proxy.received.clear()
    assert_away(client, headers, complaints)
    assert sum(b"wsgiauth_session" in data for data in proxy.received) == 1  # one timeout, not ten
    proxy.is_silent = False
    later = postgres_mysql.SILENCE
    assert_back(client, headers)


@pytest.mark.promise(28)
def test_one_thread_alone_waits_for_a_silent_server(proxied, open_site):
    proxy, url = proxied("postgresql", "connect_timeout=1")
    client, headers = open_site(url)
    proxy.is_silent, proxy.accepted = True, 0
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(client.get, "/", headers=headers, status=503) for _ in range(4)]
    assert {each.result().status_int for each in asked} == {503}
    assert proxy.accepted == 1
    proxy.is_silent = False


@pytest.mark.promise(28)
def test_a_silent_host_is_waited_for_once_if_there_is_another(proxied, open_site, pooling):
    proxy, url = proxied("postgresql", "connect_timeout=1")
    place = urlsplit(url).netloc.rpartition("@")[2]
    other = urlsplit(SERVERS["postgresql"]).netloc.rpartition("@")[2]
    client, headers = open_site(
        url.replace(place, f"{place},{other}").replace(":", f"{pooling}:", 1)
    )
    assert proxy.accepted
    close(storage.current())
    proxy.is_silent, proxy.accepted = True, 0
    for _ in range(3):
        assert_back(client, headers)
        close(storage.current())
    assert proxy.accepted == 1
    proxy.is_silent = False


@pytest.mark.parametrize("value", ["0", "-1", "soon"])
def test_a_read_timeout_is_a_number_of_seconds(value):
    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL.* read_timeout$"):
        storage.open_database(f"postgresql://ada@127.0.0.1/name?read_timeout={value}")


# Locks


LOCKS = {
    "postgresql": ("BEGIN; LOCK TABLE wsgiauth_session IN ACCESS EXCLUSIVE MODE", "ROLLBACK"),
    "mariadb": ("LOCK TABLES wsgiauth_session WRITE", "UNLOCK TABLES"),
}
LOCK_TIMEOUTS = {
    "postgresql": "SELECT setting::integer / 1000 FROM pg_settings WHERE name = 'lock_timeout'",
    "mariadb": "SELECT @@lock_wait_timeout WHERE @@innodb_lock_wait_timeout = @@lock_wait_timeout",
}


@pytest.mark.promise(28)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_table_locked_by_maintenance_is_not_waited_for_twice(
    kind, pooling, server_urls, proxied, open_site, complaints
):
    proxy, url = proxied(kind, "connect_timeout=5")
    client, headers = open_site(url.replace(":", f"{pooling}:", 1))
    session_id = Session.get().id.encode()
    site = storage.current()
    storage.discard_connection(site)
    site.lock_timeout = 1  # second
    client.get("/", headers=headers)
    proxy.received.clear()
    outsider = db_url.connect(server_urls(kind))
    lock, unlock = LOCKS[kind]
    outsider.execute_sql(lock)
    try:
        refused = client.get("/", headers=headers, status=503)
    finally:
        outsider.execute_sql(unlock)
        outsider.close()
    assert int(refused.headers["Retry-After"]) > 0
    assert len(complaints()) == sum(session_id in data for data in proxy.received) == 1
    assert_back(client, headers)


@pytest.mark.parametrize("kind", SERVERS)
def test_requests_wait_less_for_locks_than_migrations(kind, pooling, server_urls):
    opened = storage.open_database(server_urls(kind).replace(":", f"{pooling}:", 1))
    with opened.patient(schema.LOCK_TIMEOUT):
        patience = opened.execute_sql(LOCK_TIMEOUTS[kind]).fetchone()
    usual = opened.execute_sql(LOCK_TIMEOUTS[kind]).fetchone()
    storage.discard_connection(opened)
    assert (*patience, *usual) == (schema.LOCK_TIMEOUT, connections.BUSY_TIMEOUT)
    assert connections.BUSY_TIMEOUT < postgres_mysql.READ_TIMEOUT


@pytest.mark.parametrize("kind", SERVERS)
def test_a_migration_waits_longer_than_a_server_may_be_silent(kind, server_urls):
    slow = {"postgresql": "SELECT pg_sleep(0.5)", "mariadb": "SELECT SLEEP(0.5)"}[kind]
    url = server_urls(kind)
    opened = storage.open_database(f"{url}{'&' if '?' in url else '?'}read_timeout=0.2")
    with opened.patient(schema.LOCK_TIMEOUT):
        opened.execute_sql(slow)
    with pytest.raises(storage.DATABASE_ERRORS):
        opened.execute_sql(slow)
    storage.discard_connection(opened)


@pytest.mark.promise(28)
@pytest.mark.parametrize(
    ("kind", "prepare"),
    [
        pytest.param("postgresql", schema.make_ready, id="PostgreSQL"),
        pytest.param("mariadb", schema.make_ready, id="MariaDB"),
        pytest.param("mariadb", schema.migrate, id="MariaDB, migrate"),
    ],
)
def test_a_start_gives_up_a_port_that_says_nothing(kind, prepare, monkeypatch):
    monkeypatch.setattr(postgres_mysql, "START_TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = urlsplit(SERVERS[kind])
        url = url._replace(netloc=f"ada:canary@127.0.0.1:{listener.getsockname()[1]}")
        hang_up = threading.Timer(60, lambda: listener.shutdown(socket.SHUT_RDWR))
        hang_up.start()
        silent = f"{url.geturl()}{'&' if url.query else '?'}connect_timeout=2"
        with pytest.raises(ConfigurationError, match=r"^DATABASE_URL cannot be opened: .*time"):
            storage.open_database(silent, prepare=prepare)
        hang_up.cancel()


def test_a_server_that_speaks_slowly_is_listened_to(server_urls, monkeypatch):
    """Seconds are counted by readings of the clock, ten to each, so that a test cannot lose any."""
    readings = itertools.count()
    monkeypatch.setattr(psycopg_connection, "monotonic", lambda: next(readings) / 10)
    url = server_urls("postgresql")
    opened = storage.open_database(f"{url}?read_timeout=2")
    slow = "SELECT pg_sleep(0.6), repeat('x', 20000) FROM generate_series(1, 4)"
    assert len(opened.execute_sql(slow).fetchall()) == 4
    storage.discard_connection(opened)


# SQLite


@pytest.fixture(params=["sqlite", "sqlite+pool"])
def file_site(request, tmp_path, open_site):
    """Return a site with a file, its client, Ada's headers and the file."""
    file = tmp_path / "accounts.db"
    return *open_site(f"{request.param}:///{file}"), file


@pytest.mark.promise(28)
def test_a_file_that_another_process_has_locked_is_not_waited_for_long(
    tmp_path, open_site, complaints
):
    client, headers = open_site(f"sqlite:///{tmp_path}/accounts.db?timeout=0.2")
    outsider = sqlite3.connect(tmp_path / "accounts.db", isolation_level=None)
    outsider.execute("BEGIN IMMEDIATE")
    refused = client.post_json("/auth/login", ACCOUNT, status=503)
    assert int(refused.headers["Retry-After"]) > 0
    assert complaints() == ["the account database failed: OperationalError: database is locked"]
    assert client.get("/", headers=headers).json["user"] == USERNAME  # readers need no lock
    outsider.close()
    assert_back(client, headers)


@pytest.mark.promise(28)
def test_a_full_database_makes_no_half_user_and_still_knows_who_is_logged_in(
    tmp_path, open_site, complaints
):
    client, headers = open_site(f"sqlite:///{tmp_path}/accounts.db")
    database = storage.current()
    database.pragma("max_page_count", database.pragma("page_count"), permanent=True)
    registered = next(n for n in range(1000) if register(client, f"user{n}") == 503)
    assert set(complaints()) == {
        "the account database failed: OperationalError: database or disk is full"
    }
    assert client.get("/", headers=headers).json["user"] == USERNAME
    database.pragma("max_page_count", 2**30, permanent=True)
    register(client, f"user{registered}")  # it may have been, although nobody was told so
    for number in range(registered + 1):
        client.post_json("/auth/login", account_of(f"user{number}"), status=200)


def account_of(name):
    return {"username": name, "email": f"{name}@example.org", "password": PASSWORD}


def register(client, name):
    return client.post_json("/auth/register", account_of(name), status="*").status_int


@pytest.mark.promise(28)
def test_a_disk_that_takes_no_more_is_recovered_from(file_site, complaints):
    client, headers, file = file_site
    size = file.with_name("accounts.db-wal").stat().st_size
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        refused = client.post_json("/auth/login", ACCOUNT, status=503)
        assert client.get("/", headers=headers).json["user"] == USERNAME
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert int(refused.headers["Retry-After"]) > 0
    assert complaints() == ["the account database failed: OperationalError: disk I/O error"]
    assert_back(client, headers)
    assert storage.current().pragma("integrity_check") == "ok"


@pytest.mark.promise(28)
def test_a_file_that_is_moved_away_is_missed_soon(file_site, complaints, monkeypatch):
    client, headers, file = file_site
    monkeypatch.setattr(sqlite, "CHECK_INTERVAL", 0)
    file.rename(file.with_name("elsewhere"))
    assert_away(client, headers, complaints)
    assert not file.exists()
    file.with_name("elsewhere").rename(file)
    assert_back(client, headers)


def test_a_file_that_is_replaced_is_used_at_once(file_site):
    client, headers, file = file_site
    storage.current().execute_sql("VACUUM INTO ?", (str(file.with_name("backup.db")),))
    assert register(client, "Grace") == 201
    for name in ("accounts.db-wal", "accounts.db-shm"):
        file.with_name(name).unlink()
    file.with_name("backup.db").replace(file)
    client.post_json("/auth/login", {**ACCOUNT, "username": "Grace"}, status=401)
    assert_back(client, headers)


@pytest.fixture
def reachable_folder():
    with public_folder() as folder:
        yield folder


@pytest.mark.promise(28)
def test_a_file_that_cannot_be_written_is_recovered_from(reachable_folder, open_site, complaints):
    file = reachable_folder / "accounts.db"
    client, headers = open_site(f"sqlite:///{file}")
    storage.discard_connection(storage.current())
    with read_only(reachable_folder, file):
        client.post_json("/auth/login", ACCOUNT, status=503)
        assert client.get("/").json["user"] is None
        assert len(complaints()) == 1
    assert_back(client, headers)


@contextmanager
def read_only(folder, file):
    """Take all right to write, which root has whatever the mode says."""
    modes = folder.stat().st_mode, file.stat().st_mode
    file.chmod(0o444)
    folder.chmod(0o555)
    try:
        with ordinary_user():
            yield
    finally:
        folder.chmod(modes[0])
        file.chmod(modes[1])


@pytest.mark.promise(28)
def test_damage_that_is_met_halfway_through_the_rows_is_a_503(tmp_path, open_site, complaints):
    client, headers = open_site(f"sqlite:///{tmp_path}/accounts.db")
    User.objects.get(username=USERNAME).grant(*(f"damaged.number{n:04}" for n in range(2000)))
    storage.discard_connection(storage.current())  # the last one empties the log into the file
    file = tmp_path / "accounts.db"
    pages = re.findall(rb"(?s).{4096}", file.read_bytes())
    with file.open("r+b") as damaged:
        for number, page in enumerate(pages):
            if b"damaged.number1999" in page:
                damaged.seek(4096 * number)
                damaged.write(b"\xff" * 4096)
    client.get("/auth/me", headers=headers, status=503)
    (complaint,) = complaints()
    assert "malformed" in complaint
    assert client.get("/", headers=headers).json["user"] == USERNAME
    file.unlink()
    for name in ("accounts.db-wal", "accounts.db-shm"):
        file.with_name(name).unlink(missing_ok=True)
    file.touch()
    schema.migrate(storage.current())


def test_opening_a_file_again_takes_no_locks_from_it(tmp_path, open_site):
    file = tmp_path / "accounts.db"
    open_site(f"sqlite:///{file}")
    storage.current().connection()
    storage.open_database(f"sqlite:///{file}")
    outsider = (
        f"import sqlite3; sqlite3.connect({str(file)!r}).execute('PRAGMA journal_mode=DELETE')"
    )
    told = subprocess.run([sys.executable, "-c", outsider], capture_output=True, text=True)
    assert "database is locked" in told.stderr


# Processes that are killed


class Ledger:
    """What the clients of a server were told, and what they were not."""

    def __init__(self):
        self.attempted = set()
        self.registered = set()
        self.live = {}  # token: whose
        self.revoked = {}
        self.totals = Counter()

    def acknowledgements(self):
        return sum(self.totals.values())


def keep_busy(address, ledger, prefix):
    """Register, log in and out until the server is gone."""
    client = Client(address)
    with suppress(OSError, HTTPException):
        for number in itertools.count():
            name = f"{prefix}n{number}"
            ledger.attempted.add(name)
            assert client.ask("POST", "/auth/register", account_of(name))[0] == 201
            ledger.registered.add(name)
            ledger.totals["registrations"] += 1
            for _ in range(2):
                token = client.ask("POST", "/auth/login", account_of(name))[1]["access_token"]
                ledger.live[token] = name
                ledger.totals["logins"] += 1
            del ledger.live[token]  # whatever becomes of it, if the answer does not come
            assert client.ask("POST", "/auth/logout", token=token)[0] == 200
            ledger.revoked[token] = name
            ledger.totals["logouts"] += 1
    client.connection.close()


def audit(address, ledger):
    """Check that a server knows all that its predecessors have said."""
    client = Client(address)
    for token, name in ledger.live.items():
        assert client.ask("GET", "/", token=token)[1]["user"] == name
    for token in ledger.revoked:
        assert client.ask("GET", "/", token=token)[1]["user"] is None
    users = {user.username for user in User.select()}
    assert ledger.registered <= users <= ledger.attempted
    for name in users:
        assert client.ask("POST", "/auth/login", account_of(name))[0] == 200
    client.connection.close()


@pytest.mark.every_database
@pytest.mark.promise(27)
def test_a_kill_under_load_loses_nothing_and_leaves_nothing_half_done(database, settings, capsys):
    ledger = Ledger()
    url = settings.DATABASE_URL
    if isinstance(database, peewee.SqliteDatabase):
        url += "?timeout=60"  # seconds for a lock, because a disk can be slow
    for kill in range(KILLS):
        with (
            started(settings_of(url)) as (process, address),
            ThreadPoolExecutor(CLIENTS) as clients,
        ):
            audit(address, ledger)
            enough = ledger.acknowledgements() + random.randrange(4, 80)  # noqa: S311 - no secret
            busy = [
                clients.submit(keep_busy, address, ledger, f"kill{kill}client{number}")
                for number in range(CLIENTS)
            ]
            while ledger.acknowledgements() < enough and not any(each.done() for each in busy):
                time.sleep(random.random() / 500)  # noqa: S311 - likewise
            os.kill(process.pid, signal.SIGKILL)
            for each in busy:
                each.result()
    with started(settings_of(url)) as (_, address):
        audit(address, ledger)
    if isinstance(database, peewee.SqliteDatabase):
        assert database.pragma("integrity_check") == "ok"
        assert database.pragma("foreign_key_check") is None
    kind = type(database).__name__.strip("_")
    with capsys.disabled():
        if "KILLS" in os.environ:
            print(f"\n{kind}: {KILLS} kills, {dict(ledger.totals)}, none lost")
