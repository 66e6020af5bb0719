"""The check for probes: its answers, that one request alone waits, and its connection."""

import gc
import logging
import os
import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.silent_proxy import running_proxy
from wsgiauth import storage
from wsgiauth.storage.databases import make_database
from wsgiauth.storage.readiness import SHARED, STALE, Readiness

PATIENCE = 60  # seconds, after which an answer counts as missing
SERVERS = ("postgresql", "mysql")
THREAD = "wsgiauth-readiness"
GOODBYE = {"postgresql": b"X\0\0\0\4", "mariadb": b"\1\0\0\0\1"}  # Terminate, COM_QUIT


class Clock:
    """Shows a time that tests move on."""

    def __init__(self, readiness):
        self.seconds = readiness.now()
        readiness.now = lambda: self.seconds

    def pass_by(self, seconds=SHARED):
        self.seconds += seconds


def checked(database, **options):
    """Return a `Readiness` that is due for a check, and its clock."""
    readiness = Readiness(**options)
    clock = Clock(readiness)
    clock.pass_by()
    return readiness, clock


def answer(database, readiness, clock):
    """Return the next answer of a check."""
    clock.pass_by()
    return readiness.is_ready(database)


def running():
    """Return the threads of checks."""
    return [each for each in threading.enumerate() if each.name == THREAD]


@pytest.fixture(autouse=True)
def _no_thread_stays():
    yield
    for each in running():
        each.join(PATIENCE)
    assert running() == []


@contextmanager
def locked(database):
    """Keep every other connection from reading an SQLite file."""
    holder = sqlite3.connect(database.database, isolation_level=None)
    holder.execute("PRAGMA locking_mode = exclusive")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        holder.close()


@pytest.fixture
def messages(caplog):
    """Return the levels and messages of the log."""
    caplog.set_level("INFO", "wsgiauth")
    return lambda: [(each.levelno, each.getMessage()) for each in caplog.records]


# Answers


@pytest.mark.every_database
def test_a_database_with_the_tables_of_this_version_is_ready(database, messages):
    readiness, clock = checked(database)
    assert readiness.is_ready(database)
    assert answer(database, readiness, clock)
    assert messages() == []


def test_a_database_in_memory_is_ready():
    database = storage.open_database("sqlite:///:memory:")
    readiness, _ = checked(database)
    assert readiness.is_ready(database)
    storage.discard_connection(database)


@pytest.mark.every_database
def test_a_missing_migration_is_not_ready_and_a_later_one_is(database, messages):
    def rename(old, new):
        renamed = f"UPDATE wsgiauth_migration SET name = '{new}' WHERE name = '{old}'"  # noqa: S608
        database.execute_sql(renamed)

    readiness, clock = checked(database)
    insert = "INSERT INTO wsgiauth_migration (name, applied) SELECT '9999_later', applied"
    database.execute_sql(f"{insert} FROM wsgiauth_migration WHERE name = '0001_schema'")
    try:
        assert readiness.is_ready(database)
        rename("0004_terms", "9998_other")
        assert not answer(database, readiness, clock)
        assert [each for _, each in messages() if "lacks 0004_terms" in each]
    finally:
        rename("9998_other", "0004_terms")
        database.execute_sql("DELETE FROM wsgiauth_migration WHERE name = '9999_later'")
    assert answer(database, readiness, clock)


def test_a_file_that_is_missing_is_not_ready_and_stays_missing(database):
    readiness, clock = checked(database)
    assert readiness.is_ready(database)
    storage.discard_connection(database)
    file = Path(database.database)
    moved = file.rename(file.with_suffix(".moved"))
    assert not answer(database, readiness, clock)
    assert not file.exists()
    moved.rename(file)
    assert answer(database, readiness, clock)


def test_a_file_that_was_replaced_by_an_empty_one_is_not_ready(database, messages):
    readiness, clock = checked(database)
    assert readiness.is_ready(database)
    storage.discard_connection(database)
    file = Path(database.database)
    file.rename(file.with_suffix(".moved"))
    file.touch()
    assert not answer(database, readiness, clock)
    assert "no such table" in messages()[0][1]


def test_the_migrations_are_those_of_the_start(database, monkeypatch, tmp_path):
    readiness, _ = checked(database)
    (tmp_path / "9999_later.py").touch()
    monkeypatch.setattr("wsgiauth.storage.schema.MIGRATIONS", tmp_path)
    assert readiness.is_ready(database)
    assert not checked(database)[0].is_ready(database)


@pytest.fixture
def impatient(monkeypatch):
    """Let a check wait only briefly for a file that is locked."""
    monkeypatch.setattr("wsgiauth.storage.readiness.LIMIT", 0.01)


@pytest.mark.usefixtures("impatient")
def test_an_answer_is_shared_for_a_second(database):
    readiness, clock = checked(database)
    assert readiness.is_ready(database)
    with locked(database):
        clock.pass_by(SHARED * 0.9)
        assert readiness.is_ready(database)
        clock.pass_by(SHARED * 0.1)
        assert not readiness.is_ready(database)
    clock.pass_by(SHARED * 0.9)
    assert not readiness.is_ready(database)


@pytest.mark.usefixtures("impatient")
def test_the_start_of_a_process_counts_as_an_answer(database):
    readiness = Readiness()
    clock = Clock(readiness)
    with locked(database):
        assert readiness.is_ready(database)
        clock.pass_by()
        assert not readiness.is_ready(database)


def test_only_changes_are_logged_and_without_the_password(closed_port, messages, database):
    away = make_database(f"postgresql://site:secret@127.0.0.1:{closed_port}/site")
    readiness, clock = checked(away)
    for _ in range(3):
        assert not answer(away, readiness, clock)
    for _ in range(3):
        assert answer(database, readiness, clock)
    (warned, failed), (informed, ready) = messages()
    assert (warned, informed) == (logging.WARNING, logging.INFO)
    assert "not ready" in failed
    assert "secret" not in failed
    assert "postgresql://" not in failed
    assert "\n" not in failed
    assert ready.startswith("ready again")


# One request waits


@pytest.fixture
def silent():
    """Return a server that accepts connections and answers nothing; `close` ends them all."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        yield listening


@pytest.fixture
def full():
    """Return a port to which the kernel drops all packets that open a connection."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = []
        for _ in range(4):  # Linux takes one or two more than were asked for
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listening.getsockname())
            waiting.append(client)
        yield listening.getsockname()[1]
        for each in waiting:
            each.close()


def at(kind, listening):
    """Return the database of a driver at a server that is none."""
    return make_database(f"{kind}://site:secret@127.0.0.1:{listening.getsockname()[1]}/site")


@pytest.mark.promise(102)
@pytest.mark.parametrize("kind", SERVERS)
def test_while_a_request_waits_others_get_the_last_answer_at_once(kind, silent):
    database = at(kind, silent)
    readiness, clock = checked(database, limit=PATIENCE)
    with ThreadPoolExecutor(1) as it:
        waiting = it.submit(readiness.is_ready, database)
        connection, _ = silent.accept()
        assert {readiness.is_ready(database) for _ in range(1000)} == {True}
        clock.pass_by(STALE)
        assert {readiness.is_ready(database) for _ in range(1000)} == {False}
        assert len(running()) == 1
        assert not waiting.done()
        connection.close()
        silent.close()  # a driver may try once more
        assert not waiting.result()


@pytest.mark.promise(102)
@pytest.mark.parametrize("kind", SERVERS)
def test_while_a_late_check_hangs_in_the_driver_no_other_begins(kind, silent, messages):
    database = at(kind, silent)
    readiness, clock = checked(database, limit=0.01)
    assert not readiness.is_ready(database)
    connection, _ = silent.accept()
    for _ in range(1000):
        assert not answer(database, readiness, clock)
    assert len(running()) == 1
    assert [each for _, each in messages()] == [
        "not ready, as the account database failed: no answer within 0.01 seconds"
    ]
    connection.close()
    silent.close()


@pytest.mark.promise(102)
@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("option", ["", "?connect_timeout=60&read_timeout=60"])
def test_a_server_whose_packets_are_dropped_is_not_ready(kind, option, full):
    database = make_database(f"{kind}://site@127.0.0.1:{full}/site{option}")
    readiness, clock = checked(database, limit=0.01)
    assert not readiness.is_ready(database)
    assert not answer(database, readiness, clock)  # the thread ends soon: see the fixture


def test_a_late_success_counts_from_the_next_check(database):
    readiness, clock = checked(database, limit=0.01)
    with locked(database):
        assert not readiness.is_ready(database)
    for each in running():
        each.join(PATIENCE)
    assert not readiness.is_ready(database)
    readiness.limit = PATIENCE
    assert answer(database, readiness, clock)


def test_without_a_thread_it_is_not_ready(database, monkeypatch):
    readiness, clock = checked(database)
    with monkeypatch.context() as patch:

        def refuse(thread):
            raise RuntimeError("can't start new thread")

        patch.setattr(threading.Thread, "start", refuse)
        assert not readiness.is_ready(database)
    assert answer(database, readiness, clock)


def test_a_check_that_ends_as_its_request_gives_up_keeps_its_answer(database, monkeypatch):
    readiness, _ = checked(database)
    wait = threading.Event.wait

    def give_up(event, timeout=None):
        wait(event, PATIENCE)
        return timeout is None  # of the request, but not of the start of a thread

    monkeypatch.setattr(threading.Event, "wait", give_up)
    assert readiness.is_ready(database)


# Connections


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def pooling(request):
    """Return what follows the scheme of a URL."""
    return request.param


@pytest.fixture
def proxied(server_urls, pooling):
    """Return a function that makes a database of a kind of server behind a proxy."""

    @contextmanager
    def make(kind):
        url = urlsplit(server_urls(kind))
        upstream = ("127.0.0.1", url.port or {"postgresql": 5432, "mariadb": 3306}[kind])
        with running_proxy(upstream) as proxy:
            port = proxy.server_address[1]
            user = url.netloc.rpartition("@")[0]
            changed = url._replace(
                scheme=f"{url.scheme}{pooling}", netloc=f"{user}@127.0.0.1:{port}"
            )
            try:
                yield make_database(changed.geturl()), proxy
            except BaseException:
                proxy.block_on_close = False  # the test still has its connection
                raise
            gc.collect()  # connections that a driver could not open

    return make


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_the_connection_is_its_own_and_kept_until_a_check_fails(kind, proxied):
    with proxied(kind) as (database, proxy):
        readiness, clock = checked(database)
        for _ in range(3):
            assert answer(database, readiness, clock)
        assert database.is_closed()
        assert proxy.accepted == 1
        proxy.is_silent = True
        assert not answer(database, readiness, clock)
        for each in running():
            each.join(PATIENCE)
        proxy.is_silent = False
        assert answer(database, readiness, clock)
        before = proxy.accepted
        assert before > 1
        assert answer(database, readiness, clock)
        assert proxy.accepted == before
        del readiness


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_locked_table_is_not_ready(kind, proxied, server_urls):
    lock = {
        "postgresql": ("BEGIN", "LOCK TABLE wsgiauth_migration IN ACCESS EXCLUSIVE MODE"),
        "mariadb": ("LOCK TABLES wsgiauth_migration WRITE",),
    }[kind]
    unlock = {"postgresql": "ROLLBACK", "mariadb": "UNLOCK TABLES"}[kind]
    holder = make_database(server_urls(kind))
    with proxied(kind) as (database, _):
        readiness, clock = checked(database)
        connection = holder.connection()
        for each in lock:
            connection.cursor().execute(each)
        assert not readiness.is_ready(database)
        connection.cursor().execute(unlock)
        for each in running():
            each.join(PATIENCE)
        assert answer(database, readiness, clock)
        del readiness
    storage.discard_connection(holder)


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_its_connection_ends_with_it(kind, proxied):
    with proxied(kind) as (database, proxy):
        readiness, _ = checked(database)
        assert readiness.is_ready(database)
        gc.disable()  # which would only close it later
        del readiness
        gc.enable()
    assert proxy.received[-1] == GOODBYE[kind]  # the proxy waits for the end of its connections


@pytest.mark.every_database
def test_a_forked_process_has_a_connection_of_its_own(database):
    readiness, clock = checked(database)
    assert readiness.is_ready(database)
    storage.discard_connection(database)
    process = os.fork()
    if process == 0:
        is_right = False
        try:
            is_right = answer(database, readiness, clock)
        finally:
            os._exit(0 if is_right else 1)
    assert os.waitpid(process, 0)[1] == 0
    assert answer(database, readiness, clock)
