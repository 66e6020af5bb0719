"""A process whose packets to the database are dropped, as a firewall does, and its probes."""

import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.support.hosts import PORT, Host, OpenServer, Process, drop_networks
from tests.support.sites import SECRET_KEY
from wsgiauth import storage
from wsgiauth.storage.databases import make_database
from wsgiauth.storage.schema import migrate

LIVE, READY = "/auth/health/live", "/auth/health/ready"
PATIENCE = 30  # seconds, after which an answer counts as missing


@pytest.fixture
def host():
    """Return a host with a network of its own."""
    drop_networks()
    made = Host(0, 0)
    if not made.has_network:
        skip_or_fail("a network of its own needs root and `ip`")
    yield made
    made.close()


@pytest.fixture
def server():
    """Return a PostgreSQL that has been migrated."""
    with tempfile.TemporaryDirectory(prefix="wsgiauth-") as folder:
        Path(folder).chmod(0o755)  # for the user of the server
        (data := Path(folder, "server")).mkdir()
        made = OpenServer(str(data))
        storage.discard_connection(storage.open_database(made.url, prepare=migrate))
        yield made
        made.crash()


@pytest.mark.promise(102)
@pytest.mark.parametrize("begins", ["connected", "not connected"])
def test_probes_are_answered_while_packets_to_the_database_are_dropped(
    host, server, tmp_path, begins
):
    """Each of a thousand probes would take a thread for two seconds, and all of them minutes."""
    database = host.further_address()
    url = server.url.replace("127.0.0.1", database)
    process = Process(host, PORT, tmp_path)
    opened = make_database(server.url)
    process.start({"SECRET_KEY": SECRET_KEY, "DATABASE_URL": url})

    def has_connection():
        clients = "SELECT 1 FROM pg_stat_activity WHERE client_addr = %s"
        return opened.fetchone(clients, (host.address,)) is not None

    def ask(path):
        with closing(HTTPConnection(process.address, timeout=PATIENCE)) as connection:
            connection.request("GET", path)
            return path, connection.getresponse().status

    try:
        while begins == "connected" and not has_connection():
            ask(READY)
        with host.dropping_packets_to(database), ThreadPoolExecutor(40) as it:
            while ask(READY)[1] != 503:
                pass
            answers = Counter(it.map(ask, (LIVE, *[READY] * 18, "/") * 50))
        assert answers == {(LIVE, 200): 50, (READY, 503): 900, ("/", 200): 50}
        while ask(READY)[1] != 200:
            pass
    finally:
        process.kill()
        storage.discard_connection(opened)
