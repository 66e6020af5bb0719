"""Three nodes of MariaDB Galera on this machine: nodes are killed, join again and are cut off."""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pymysql
import pytest

from tests.conftest import skip_or_fail
from tests.support.leftovers import MEMORY, ending_with_parent, own_name
from tests.support.sites import end, free_port

LIBRARY = Path("/usr/lib/galera/libgalera_smm.so")
NODES = 3
PATIENCE = 60  # seconds for a node to be ready
# wsrep_sync_wait and wsrep_dirty_reads are as unsafe as an operator can set them.
# A node that is silent is given up after a second and a half, not after five, so that tests are
# quick. (The period of the checks must be the shortest of these times.)
PROVIDER = (
    "gcache.size=16M;gcs.fc_limit=64;evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;"
    "evs.suspect_timeout=PT1.5S;evs.inactive_timeout=PT3S;evs.install_timeout=PT3S"
)
CONFIGURATION = """
[mariadbd]
datadir = {folder}/data
socket = {folder}/socket
pid_file = {folder}/pid
log_error = {folder}/log
bind_address = 127.0.0.1
port = {port}
skip_name_resolve
innodb_buffer_pool_size = 32M
innodb_log_file_size = 16M
innodb_flush_log_at_trx_commit = 0
binlog_format = ROW
default_storage_engine = InnoDB
innodb_autoinc_lock_mode = 2
wsrep_on = ON
wsrep_dirty_reads = ON
wsrep_provider = {library}
wsrep_cluster_name = tests
wsrep_cluster_address = gcomm://{others}
wsrep_node_name = node{number}
wsrep_node_address = 127.0.0.1
wsrep_node_incoming_address = 127.0.0.1:{port}
wsrep_sst_method = rsync
wsrep_sst_receive_address = 127.0.0.1:{transfer_port}
wsrep_provider_options = "{options}"
"""


class Node:
    """A node of a cluster, which can be killed and started again."""

    def __init__(self, number, folder):
        self.number = number
        self.folder = folder
        self.port = free_port()
        self.group_port = free_port()
        self._process = None

    def url(self, database):
        """Return DATABASE_URL for this node."""
        return f"mysql://root@127.0.0.1:{self.port}/{database}?ssl_disabled=true"

    def write_configuration(self, nodes):
        """Write the node's file, which names the other nodes."""
        options = (
            f"gmcast.listen_addr=tcp://127.0.0.1:{self.group_port};"
            f"ist.recv_addr=127.0.0.1:{free_port()};{PROVIDER}"
        )
        text = CONFIGURATION.format(
            folder=self.folder,
            port=self.port,
            library=LIBRARY,
            others=",".join(f"127.0.0.1:{each.group_port}" for each in nodes if each != self),
            number=self.number,
            transfer_port=free_port(),
            options=options,
        )
        (self.folder / "node.cnf").write_text(text, encoding="utf-8")

    def start(self, *options):
        """Start the node; it joins the others, or begins a cluster with `--wsrep-new-cluster`."""
        command = ["mariadbd", f"--defaults-file={self.folder}/node.cnf", *options]
        self._process = subprocess.Popen(
            ending_with_parent(command), stderr=subprocess.DEVNULL, **_as_mysql()
        )

    def rejoin(self):
        """Start the node again; return when it is ready and in the cluster with both others."""
        self.start()
        self.wait_until_ready()

    def kill(self):
        """Kill the node, as a failure of its machine would."""
        self._process.kill()
        self._process.wait()

    def end(self):
        """End the node."""
        if self._process is not None:
            end(self._process)

    def isolate(self, is_isolated=True):
        """Let the node hear nothing of the others, or hear them again; SQL is answered."""
        self.execute(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={int(is_isolated)}'")

    @contextmanager
    def paused(self):
        """Let the node apply nothing of what the others commit, so that it is behind."""
        with self._connected() as connection:
            connection.query("FLUSH TABLES WITH READ LOCK")
            yield

    def execute(self, sql, *parameters):
        """Execute a statement on a connection of its own, and return the rows."""
        with self._connected() as connection, connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall()

    def _connected(self):
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", autocommit=True, ssl_disabled=True
        )

    def status(self, name):
        """Return a status variable of wsrep."""
        return self.execute("SHOW STATUS LIKE %s", f"wsrep_{name}")[0][1]

    def wait_until_ready(self, size=NODES):
        """Wait until the node answers in a cluster of this size."""
        self.wait_for(ready="ON", cluster_size=str(size), local_state_comment="Synced")

    def wait_for(self, **wanted):
        """Wait until the status variables have these values."""
        deadline = time.monotonic() + PATIENCE
        while True:
            if self._process.poll() is not None:
                raise AssertionError(f"node {self.number} has ended:\n{self._end_of_log()}")
            with suppress(pymysql.err.OperationalError):
                if all(self.status(name) == value for name, value in wanted.items()):
                    return
            if time.monotonic() > deadline:
                raise AssertionError(f"node {self.number} is not {wanted}:\n{self._end_of_log()}")
            time.sleep(0.05)

    def _end_of_log(self):
        return "\n".join((self.folder / "log").read_text("utf-8", "replace").splitlines()[-30:])


class Cluster:
    """Three nodes."""

    def __init__(self, folder):
        self.nodes = [Node(number, folder / str(number)) for number in range(NODES)]
        for node in self.nodes:
            node.write_configuration(self.nodes)

    def start(self):
        """Start the nodes; return when all are ready."""
        first, *others = self.nodes
        first.start("--wsrep-new-cluster")
        first.wait_until_ready(1)
        for size, node in enumerate(others, 2):  # one donor serves one joiner at a time
            node.start()
            node.wait_until_ready(size)

    def end(self):
        """End the nodes."""
        for node in self.nodes:
            node.end()

    @contextmanager
    def split(self, node):
        """Cut a node off from the two others, until both sides know, and connect it afterwards."""
        others = [each for each in self.nodes if each is not node]
        node.isolate()
        try:
            node.wait_for(cluster_status="non-Primary")
            others[0].wait_until_ready(NODES - 1)
            yield others
        finally:
            node.isolate(is_isolated=False)
            for each in self.nodes:
                each.wait_until_ready()


@contextmanager
def galera():
    """Yield a running cluster of three nodes."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"  # which not every user's PATH has
    if not LIBRARY.exists() or shutil.which("mariadbd", path=path) is None:
        skip_or_fail("mariadb-server with galera-4 is not installed")
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory(prefix=f"{own_name()}_", dir=MEMORY) as name,
    ):
        patch.setenv("PATH", path)
        folder = Path(name)
        _make_data(folder)
        cluster = Cluster(folder)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.end()


def _make_data(folder):
    """Make an empty database server for each node."""
    if not os.geteuid():
        shutil.chown(folder, "mysql")
    for number in range(NODES):
        node = folder / str(number)
        run = partial(subprocess.run, check=True, capture_output=True, **_as_mysql())
        run(["mkdir", node])
        run(
            [
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={node}/data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--innodb-log-file-size=16M",
            ]
        )


def _as_mysql():
    """Return options of a process, which root has to run as another user."""
    return {} if os.geteuid() else {"user": "mysql", "group": "mysql", "extra_groups": []}
