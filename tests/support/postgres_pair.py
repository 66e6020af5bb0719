"""A primary of PostgreSQL and its hot standby, by streaming replication."""

import os
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.support.private_servers import PrivateServer, program

STANDBY = "standby"  # its application_name


class Primary(PrivateServer):
    """A primary; `crash` kills all its processes."""

    options = (
        *("-c", "max_wal_senders=4", "-c", "wal_keep_size=256MB", "-c", "shared_buffers=16MB"),
        *("-c", "hot_standby=on", "-c", "max_connections=60"),
    )

    def crash(self):
        """Kill the server and its family, which a killed server leaves behind for a moment."""
        for process in (self.process.pid, *_children(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()

    def ask(self, sql):
        """Execute, and return the first column of the first row."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchone()[0] if cursor.description else None


class Standby(Primary):
    """A standby of a primary, with whose data it begins."""

    def __init__(self, primary, folder):
        self.primary = primary
        super().__init__("postgresql", folder)

    def _make(self):
        source = f"host=127.0.0.1 port={self.primary.port} user=postgres application_name={STANDBY}"
        command = [
            *(program("pg_basebackup"), "-D", f"{self.folder}/data", "-R", "-c", "fast", "-N"),
            *("-d", source),
        ]
        made = subprocess.run(command, user=self.user, cwd=self.folder, capture_output=True)
        assert made.returncode == 0, made.stderr

    def promote(self):
        assert self.ask("SELECT pg_promote()") is True


class Pair:
    """A primary and its standby.

    Attributes:
        url: A URL of both; the standby comes first.
    """

    def __init__(self, primary, standby):
        self.primary = primary
        self.standby = standby
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in (standby, primary))
        self.url = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"

    def replicate(self, *, synchronously):
        """Let the primary wait for the standby before it acknowledges a commit, or not."""
        names = STANDBY if synchronously else ""
        self.primary.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        self.primary.ask("SELECT pg_reload_conf()")
        wanted = "sync" if synchronously else "async"
        while self.primary.ask("SELECT max(sync_state) FROM pg_stat_replication") != wanted:
            time.sleep(0.05)

    def wait_until_replayed(self):
        """Return when the standby has replayed all that the primary has written."""
        position = self.primary.ask("SELECT pg_current_wal_lsn()::text")
        while not self.standby.ask(f"SELECT pg_last_wal_replay_lsn() >= '{position}'"):
            time.sleep(0.05)


@contextmanager
def running_pair():
    """Yield a pair with an empty database."""
    with tempfile.TemporaryDirectory(prefix="wsgiauth-") as folder:
        Path(folder).chmod(0o755)  # for the servers' own user
        primary = standby = None
        try:
            primary = Primary("postgresql", _subfolder(folder, "primary"))
            standby = Standby(primary, _subfolder(folder, "standby"))
            yield Pair(primary, standby)
        finally:
            for server in (primary, standby):
                if server is not None:
                    server.crash()


def _subfolder(folder, name):
    made = Path(folder, name)
    made.mkdir()
    return made


def _children(parent):
    """Return the numbers of a process's children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            _, parent_of_it = path.read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
            if int(parent_of_it) == parent:
                found.append(int(path.parent.name))
    return found
