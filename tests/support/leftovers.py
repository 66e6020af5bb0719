"""What a test run that is killed would leave behind: its processes and its databases."""

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

import peewee
from playhouse import db_url

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_STARTER = "PYTEST_STARTER"  # the number of the process of the tests that began this one
_libc = ctypes.CDLL(None)
_SETPRIV = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
_DATABASES = {"postgresql": "SELECT datname FROM pg_database", "mysql": "SHOW DATABASES"}


def end_with_tests():
    """End this process, and those that it forks, with the process of the tests that began it."""
    starter = os.environ.get(_STARTER)
    if starter:
        _end_with_parent()
        if not _is_running(int(starter)):  # killed before that
            os._exit(1)
    os.environ[_STARTER] = str(os.getpid())
    os.register_at_fork(after_in_child=_end_with_parent)


def ending_with_parent(command):
    """Return a command whose process the system kills when its parent ends, where it can."""
    return [*_SETPRIV, *command]


def script_ending_with_parent(program, folder):
    """Write a script that does the same for a program that others start, and return its path."""
    script = Path(folder, Path(program).name)
    command = shlex.join(ending_with_parent([program]))
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return str(script)


def drop_leftovers(server):
    """Drop the databases of test runs whose processes have ended, on a server of this machine."""
    parts = urlsplit(server)
    if parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        return
    connection = db_url.connect(server)
    for (name,) in connection.execute_sql(_DATABASES[parts.scheme]).fetchall():
        number = re.fullmatch(r"wsgiauth_test_(\d+)", name)
        if number and not _is_running(int(number[1])):
            with contextlib.suppress(peewee.DatabaseError):  # another worker drops it, too
                connection.execute_sql(f"DROP DATABASE IF EXISTS {name}")
    connection.close()


def _end_with_parent():
    """Let the system kill this process when its parent ends; only Linux can."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _is_running(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True
