"""Database servers of our own, to crash, stop and start."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import peewee
from playhouse import db_url

from tests.conftest import skip_or_fail
from tests.support.leftovers import ending_with_parent
from tests.support.sites import free_port


class PrivateServer:
    """A database server of our own, to stop and start."""

    options = ()  # of PostgreSQL's server

    def __init__(self, kind, folder):
        self.kind = kind
        self.folder = folder
        self.port = free_port()
        account = "postgres" if kind == "postgresql" else "mysql"
        self.user = account if os.geteuid() == 0 else None
        self.url = {
            "postgresql": f"postgresql://postgres@127.0.0.1:{self.port}/postgres",
            "mariadb": f"mysql://root@127.0.0.1:{self.port}/wsgiauth?ssl_disabled=true",
        }[kind]
        if self.user:
            shutil.chown(folder, self.user)
        self._make()
        self.start()

    def _make(self):
        data = f"{self.folder}/data"
        if self.kind == "postgresql":
            command = [program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N"]
        else:
            command = [
                *(program("mariadb-install-db"), "--no-defaults", f"--datadir={data}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
                "--skip-name-resolve",
            ]
        made = subprocess.run(command, user=self.user, cwd=self.folder, capture_output=True)
        assert made.returncode == 0, made.stderr

    def start(self):
        data = f"{self.folder}/data"
        if self.kind == "postgresql":
            command = [
                *(program("postgres"), "-D", data, "-p", str(self.port), "-h", "127.0.0.1"),
                *("-c", "unix_socket_directories=", "-c", "fsync=off"),
                *("-c", "dynamic_shared_memory_type=mmap", *self.options),  # in the folder
            ]
        else:
            command = [
                *(program("mariadbd"), "--no-defaults", f"--datadir={data}"),
                *(f"--port={self.port}", "--bind-address=127.0.0.1"),
                *(f"--socket={self.folder}/socket", f"--pid-file={self.folder}/pid"),
                *("--innodb-buffer-pool-size=8M", "--skip-name-resolve"),
            ]
        with Path(self.folder, "log").open("ab") as log:
            self.process = subprocess.Popen(
                ending_with_parent(command), user=self.user, stdout=log, stderr=log
            )
        while not self._answers():
            assert self.process.poll() is None, Path(self.folder, "log").read_text(encoding="utf-8")
            time.sleep(0.05)

    def _answers(self):
        try:
            server = db_url.connect(self.url.replace("/wsgiauth?", "/mysql?"))
            with server.connection_context():
                if self.kind == "mariadb":
                    server.execute_sql("CREATE DATABASE IF NOT EXISTS wsgiauth")
        except peewee.OperationalError:
            return False
        return True

    def crash(self):
        # PostgreSQL's is a family; SIGQUIT makes it drop everything at once, as a crash does.
        self.process.send_signal(signal.SIGQUIT if self.kind == "postgresql" else signal.SIGKILL)
        self.process.wait()


def program(name):
    """Return the path of a server's program."""
    places = [
        shutil.which(name),
        f"/usr/sbin/{name}",
        *Path("/usr/lib/postgresql").glob(f"*/bin/{name}"),
    ]
    for place in places:
        if place and Path(place).exists():
            return place
    return skip_or_fail(f"{name} is not installed")
