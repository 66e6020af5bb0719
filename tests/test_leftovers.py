"""A test run that is killed leaves no process, and the next one drops its databases."""

import secrets
import signal
import subprocess
import sys

import pytest
from playhouse import db_url

from tests.conftest import NAME, SERVERS, require_program
from tests.docs.pages import ROOT
from tests.support.leftovers import drop_leftovers

MAX_PID = 2**22  # of Linux

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


@pytest.mark.parametrize("kind", SERVERS)
def test_the_databases_of_processes_that_have_ended_are_dropped(server_urls, kind):
    server_urls(kind)
    left = f"wsgiauth_test_{MAX_PID + 1 + secrets.randbelow(10**9)}"
    connection = db_url.connect(SERVERS[kind])
    connection.execute_sql(f"CREATE DATABASE {left}")
    drop_leftovers(SERVERS[kind])
    query = "SELECT datname FROM pg_database" if kind == "postgresql" else "SHOW DATABASES"
    names = {name for (name,) in connection.execute_sql(query).fetchall()}
    connection.close()
    assert left not in names
    assert NAME in names


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
