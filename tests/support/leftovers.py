"""What a test run that is killed would leave behind: its processes, databases and folders.

`python -m tests.support.leftovers NUMBER FOLDER` removes those of the process with this number.
"""

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import peewee
from playhouse import db_url

from tests.support.database_servers import SERVERS

ROOT = Path(__file__).parents[2]
PREFIX = "wsgiauth_test_"  # of databases and folders; then comes the number of the process
_SHM = "/dev/shm"  # noqa: S108 - the folders in it have names that cannot be guessed
MEMORY = _SHM if os.access(_SHM, os.W_OK) else None  # for temporary folders

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_STARTER = "PYTEST_STARTER"  # the number of the process of the tests that began this one
_libc = ctypes.CDLL(None)
_SETPRIV = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
_DATABASES = {"postgresql": "SELECT datname FROM pg_database", "mysql": "SHOW DATABASES"}


def own_name():
    """Return what the names of this process's databases and folders begin with."""
    return f"{PREFIX}{os.getpid()}"


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


def drop_leftovers(server, ended=None):
    """Drop the databases of test processes that have ended.

    Args:
        server: The URL of the database server.
        ended: The number of the process; by default all that have ended, on a server of this
            machine.
    """
    parts = urlsplit(server)
    if ended is None and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
        return
    connection = db_url.connect(server)
    force = " WITH (FORCE)" if parts.scheme == "postgresql" else ""
    for (name,) in connection.execute_sql(_DATABASES[parts.scheme]).fetchall():
        if _is_left(name, ended):
            with contextlib.suppress(peewee.DatabaseError):  # another worker drops it, too
                connection.execute_sql(f"DROP DATABASE IF EXISTS {name}{force}")
    connection.close()


def remove_leftovers(ended=None):
    """Remove the temporary folders of a test process that has ended, or of all that have."""
    for place in filter(None, (MEMORY, tempfile.gettempdir())):
        for folder in Path(place).glob(f"{PREFIX}*"):
            if _is_left(folder.name, ended):
                shutil.rmtree(folder, ignore_errors=True)  # another worker removes it, too


@contextlib.contextmanager
def cleaned_up_if_killed(*folders):
    """Run a body, and if this process is killed meanwhile, remove what it leaves.

    Args:
        folders: Others than those with its name.
    """
    # The pipe ends with this process and those that it has forked. Until then, a shell waits,
    # which costs less than Python, and gets no signal of the terminal.
    program = [sys.executable, "-m", __name__, str(os.getpid()), *map(str, folders)]
    watcher = subprocess.Popen(
        ["sh", "-c", 'read -r end || exec "$@"', "sh", *program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        watcher.communicate(b"end\n")


def _clean_up(number, *folders):
    """Remove everything that a test process has left."""
    remove_leftovers(number)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    for server in SERVERS.values():
        with contextlib.suppress(peewee.OperationalError, peewee.ImproperlyConfigured):
            drop_leftovers(server, number)


def _is_left(name, ended):
    """Return whether a name is of a process: of `ended`, or by default of one that has ended."""
    found = re.fullmatch(rf"{PREFIX}(\d+)(_\w+)?", name)
    return bool(found) and (found[1] == ended if ended else not _is_running(int(found[1])))


def _end_with_parent():
    """Let the system kill this process when its parent ends; only Linux can."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _is_running(number):
    """Return whether a process runs. A killed one can stay as a zombie, as in containers."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    with contextlib.suppress(OSError):  # only Linux has the file
        stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(") ")[2][0] != "Z"
    return True


if __name__ == "__main__":
    _clean_up(*sys.argv[1:])
