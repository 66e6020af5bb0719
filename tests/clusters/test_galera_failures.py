"""MariaDB Galera under traffic at all three nodes: one is killed and comes back, or is cut off."""

from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from json import dumps, loads

import pytest

from tests.support.processes import started
from tests.support.sites import PASSWORD
from tests.support.traffic import Traffic, settings_for_traffic
from wsgiauth import Settings
from wsgiauth.storage.failures import RETRY_AFTER

ACCOUNT = {"username": "nobody", "email": "nobody@example.org", "password": PASSWORD}
PATIENCE = 60  # seconds


@contextmanager
def traffic_on(urls, letters):
    """Yield traffic on three processes, one for each node."""
    with ExitStack() as stack:
        settings = [Settings(**settings_for_traffic(url, letters)) for url in urls]
        addresses = [stack.enter_context(started(each))[1] for each in settings]
        yield Traffic(addresses, letters)


def ask(address, path, fields, token=""):
    """Return the status, the seconds of Retry-After, if it has any, and the document."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    with closing(HTTPConnection(address, timeout=PATIENCE)) as connection:
        connection.request("POST", path, dumps(fields), headers)
        response = connection.getresponse()
        document = loads(response.read())
        return response.status, response.headers["Retry-After"], document


@pytest.mark.promise(28)
@pytest.mark.promise(77)
def test_a_node_is_killed_and_comes_back_and_nothing_acknowledged_is_lost(cluster, urls, tmp_path):
    with traffic_on(urls, tmp_path) as traffic:
        with traffic:
            traffic.wait(150)
            cluster.nodes[2].kill()
            traffic.wait(150)
            cluster.nodes[2].rejoin()
            traffic.wait(150)
        assert traffic.compare() == []


@pytest.mark.promise(28)
@pytest.mark.promise(77)
def test_a_node_without_the_others_answers_503_and_nothing_acknowledged_is_lost(
    cluster, urls, tmp_path
):
    with traffic_on(urls, tmp_path) as traffic:
        first, *_, cut_off = traffic.addresses
        assert ask(first, "/auth/register", ACCOUNT)[0] == 201
        token = ask(first, "/auth/login", ACCOUNT)[2]["access_token"]
        with traffic:
            traffic.wait(150)
            with cluster.split(cluster.nodes[2]):
                for path in ("/", "/auth/login", "/auth/logout"):
                    assert ask(cut_off, path, ACCOUNT, token)[:2] == (503, str(RETRY_AFTER))
                assert ask(first, "/auth/logout", {}, token)[0] == 200
                traffic.wait(150)
            traffic.wait(150)
        assert ask(cut_off, "/", {}, token)[2]["user"] is None
        assert traffic.compare() == []
