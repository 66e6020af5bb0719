"""Probes of a real server: with one free thread, in a flood of logins, while the database hangs."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.support.silent_proxy import running_proxy
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import Settings, storage
from wsgiauth.accounts import create_user

LIVE, READY = "/auth/health/live", "/auth/health/ready"
PATIENCE = 30  # seconds, after which an answer counts as missing
APPLICATION = """
import pathlib, time
from wsgiauth import AuthMiddleware

def view(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        open("begun", "a").write(".")
        while not pathlib.Path("go_on").exists():
            time.sleep(0.01)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"Hello"]

application = AuthMiddleware(view)
"""
NO_LIMITS = dict.fromkeys(
    ("LOGIN_FAILURES_PER_ACCOUNT", "LOGIN_FAILURES_PER_ADDRESS", "HASHING_PER_ADDRESS"), "0"
)


@pytest.fixture
def serve(tmp_path, empty_file):
    """Return a context manager that serves with some threads; yields the host and port."""
    file = tmp_path / "accounts.db"
    shutil.copy(empty_file, file)
    (tmp_path / "slow.py").write_text(APPLICATION)

    @contextmanager
    def run(threads, **variables):
        command = [sys.executable, "-m", "wsgiauth", "serve", "slow:application"]
        command += [f"--threads={threads}", "--listen=127.0.0.1:0", "--trusted-proxy=*"]
        environ = os.environ | NO_LIMITS | {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "8"}
        environ |= {"DATABASE_URL": f"sqlite:///{file}", **variables}
        with (
            (tmp_path / "log").open("w") as log,
            subprocess.Popen(
                command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=log, text=True
            ) as served,
        ):
            try:
                yield urlsplit(re.search(r"http://\S+", served.stdout.readline())[0]).netloc
            finally:
                served.kill()

    return run


def ask(address, path, fields=None):
    """Return the status and the JSON of an answer, or its text."""
    with closing(HTTPConnection(address, timeout=PATIENCE)) as connection:
        body = None if fields is None else json.dumps(fields)
        headers = {} if fields is None else {"Content-Type": "application/json"}
        connection.request("GET" if fields is None else "POST", path, body, headers)
        found = connection.getresponse()
        text = found.read().decode()
        return found.status, text


def health(address):
    return [ask(address, each)[0] for each in (LIVE, READY)]


def wait_for(address, statuses):
    """Return when the endpoints answer so: the last answer is shared for a while."""
    while health(address) != statuses:
        pass


@pytest.mark.promise(102)
def test_one_free_thread_is_enough(serve, tmp_path):
    with serve(3) as address, ThreadPoolExecutor(2) as it:
        slow = [it.submit(ask, address, "/slow") for _ in range(2)]
        while not (tmp_path / "begun").exists() or (tmp_path / "begun").stat().st_size < 2:
            health(address)
        found = [health(address) for _ in range(20)]
        (tmp_path / "go_on").touch()
        assert [each.result() for each in slow] == [(200, "Hello")] * 2
    assert found == [[200, 200]] * 20


@pytest.mark.promise(102)
def test_a_flood_of_logins_leaves_the_process_healthy(serve, tmp_path):
    url = f"sqlite:///{tmp_path}/accounts.db"
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=8, DATABASE_URL=url)
    storage.discard_connection(storage.open_database(url))
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    storage.discard_connection(storage.current())
    ended = threading.Event()

    def log_in(address):
        statuses = Counter()
        while not ended.is_set():
            fields = {"username": USERNAME, "password": "a wrong guess"}
            statuses[ask(address, "/auth/login", fields)[0]] += 1
        return statuses

    with serve(8, HASHING_THREADS="1") as address, ThreadPoolExecutor(20) as it:
        flood = [it.submit(log_in, address) for _ in range(20)]
        found = [health(address) for _ in range(20)]
        ended.set()
        statuses = sum((each.result() for each in flood), Counter())
    assert found == [[200, 200]] * 20
    assert {*statuses} <= {401, 503}  # wrong, or the site is busy
    assert statuses.total() > 20


def probe_and_read(address):
    """Return how a thousand probes and the requests among them are answered, by path."""

    def send(number):
        path = READY if number % 10 else LIVE if number % 20 else "/"
        return path, *ask(address, path)

    with ThreadPoolExecutor(40) as it:
        return Counter(it.map(send, range(1000)))


def assert_unhurt(answers):
    """Check that the probes took no other request its answer."""
    assert answers["/", 200, "Hello"] == 50
    assert answers[LIVE, 200, '{"status":"ok"}'] == 50
    assert {each[1:] for each in answers if each[0] == READY} <= {
        (200, '{"status":"ok"}'),  # the last answer
        (503, '{"status":"unavailable"}'),
    }
    assert answers[READY, 503, '{"status":"unavailable"}']


@pytest.mark.promise(102)
def test_a_thousand_probes_of_a_locked_file_keep_no_request_from_its_answer(serve, tmp_path):
    """If each waited for two seconds, two threads would answer a client after forty."""
    with serve(2) as address, closing(sqlite3.connect(tmp_path / "accounts.db")) as holder:
        holder.execute("PRAGMA locking_mode = exclusive")
        holder.execute("BEGIN EXCLUSIVE")
        wait_for(address, [200, 503])
        assert_unhurt(probe_and_read(address))
    log = (tmp_path / "log").read_text()
    assert log.count("not ready") == 1


@pytest.mark.promise(102)
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
@pytest.mark.parametrize("pooling", ["", "+pool"])
def test_a_thousand_probes_of_a_silent_server_keep_no_request_from_its_answer(
    serve, server_urls, kind, pooling, tmp_path
):
    url = urlsplit(server_urls(kind))
    upstream = ("127.0.0.1", url.port or {"postgresql": 5432, "mariadb": 3306}[kind])
    with ExitStack() as stack:
        proxy = stack.enter_context(running_proxy(upstream))
        user, port = url.netloc.rpartition("@")[0], proxy.server_address[1]
        behind = url._replace(
            scheme=f"{url.scheme}{pooling}", netloc=f"{user}@127.0.0.1:{port}"
        ).geturl()
        address = stack.enter_context(serve(2, DATABASE_URL=behind))
        assert health(address) == [200, 200]
        proxy.is_silent = True
        wait_for(address, [200, 503])
        assert_unhurt(probe_and_read(address))
        proxy.is_silent = False
        wait_for(address, [200, 200])
    assert (tmp_path / "log").read_text().count("not ready") == 1
