"""A test run that is killed leaves no process, no database and no folder."""

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import peewee
import pytest
from playhouse import db_url

from tests.conftest import SERVERS, require_program
from tests.docs.pages import ROOT
from tests.support.leftovers import MEMORY, PREFIX, drop_leftovers, own_name, remove_leftovers

MAX_PID = 2**22  # of Linux
PATIENCE = 60  # seconds

BY_COMMAND = """
import subprocess
from tests.support.leftovers import ending_with_parent

command = ["sh", "-c", "echo started; sleep 5 >/dev/null; echo survived"]
subprocess.Popen(ending_with_parent(command)).wait()
"""
BY_SCRIPT = """
import subprocess, sys
from tests.support.leftovers import script_ending_with_parent

script = script_ending_with_parent("sh", sys.argv[1])
subprocess.Popen([script, "-c", "echo started; sleep 5 >/dev/null; echo survived"]).wait()
"""
BY_FORK = """
import os, time
import tests.conftest

if os.fork() == 0:
    print("started", flush=True)
    time.sleep(30)
    print("survived", flush=True)
else:
    os.wait()
"""


# A plugin for pytest that keeps the first test from ending.
WAITING = """
import os, time

def pytest_runtest_call(item):
    print("started", os.getpid(), flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=SERVERS)
def server(request, server_urls):
    """Return a connection to a server that has the database of this process."""
    server_urls(request.param)
    connection = db_url.connect(SERVERS[request.param])
    yield connection
    connection.close()


def databases(server):
    is_postgresql = isinstance(server, peewee.PostgresqlDatabase)
    query = "SELECT datname FROM pg_database" if is_postgresql else "SHOW DATABASES"
    return {name for (name,) in server.execute_sql(query).fetchall()}


def left_name():
    """Return the name of a database or folder of a process that has ended."""
    return f"{PREFIX}{MAX_PID + 1 + secrets.randbelow(10**9)}"


@pytest.mark.parametrize("end", ["", "_dump"])
def test_the_databases_of_processes_that_have_ended_are_dropped(server, end):
    left = left_name() + end
    server.execute_sql(f"CREATE DATABASE {left}")
    for each in SERVERS.values():
        drop_leftovers(each)
    assert left not in databases(server)
    assert own_name() in databases(server)


@pytest.mark.parametrize("place", sorted({tempfile.gettempdir(), MEMORY or tempfile.gettempdir()}))
def test_the_folders_of_processes_that_have_ended_are_removed(place, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", place)
    own, left = Path(place, f"{own_name()}_own"), Path(place, f"{left_name()}_files")
    for each in (own, left):
        each.mkdir()
    remove_leftovers()
    assert not left.exists()
    own.rmdir()


def test_a_run_that_is_killed_is_cleaned_up_at_once(server, tmp_path):
    (tmp_path / "waiting.py").write_text(WAITING)
    is_postgresql = isinstance(server, peewee.PostgresqlDatabase)
    command = [
        *(sys.executable, "-m", "pytest", "-s", "-p", "waiting", "--target", "databases"),
        *("-k", "postgresql" if is_postgresql else "mariadb", f"--basetemp={tmp_path / 'files'}"),
        "tests/accounts/test_locks.py",
    ]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as run:
        number = next(line.split()[-1] for line in run.stdout if "started" in line)
        name = f"{PREFIX}{number}"

        def left():
            folders = Path(tempfile.gettempdir()).glob(f"{name}_*")
            return [*({name} & databases(server)), *folders, *tmp_path.glob("files")]

        made = left()
        run.kill()  # it stays as a zombie until the end of the block
        deadline = time.monotonic() + PATIENCE
        while left() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert (len(made), left()) == (3, [])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends processes with their parent")
@pytest.mark.parametrize(
    "code", [BY_COMMAND, BY_SCRIPT, BY_FORK], ids=["command", "script", "fork"]
)
def test_a_process_ends_when_its_parent_is_killed(code, tmp_path):
    require_program("setpriv")
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout.readline() == "started\n"
        parent.send_signal(signal.SIGKILL)
        assert parent.stdout.read() == ""  # at once, as the pipe has no other end any more
