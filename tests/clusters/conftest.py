"""A cluster that several tests share."""

import pytest

from tests.support.galera import galera
from tests.support.schema import emptying
from wsgiauth import storage
from wsgiauth.storage import schema

DATABASE = "accounts"


@pytest.fixture(scope="session")
def nodes_of_galera():
    """Return a cluster of three nodes, which have an empty database."""
    with galera() as cluster:
        first = cluster.nodes[0]
        first.execute(f"CREATE DATABASE {DATABASE}")
        opened = storage.open_database(first.url(DATABASE), prepare=schema.migrate)
        storage.discard_connection(opened)
        yield cluster


@pytest.fixture
def cluster(nodes_of_galera):
    """Return the same for a test, after which it is empty again."""
    yield nodes_of_galera
    for statement in emptying():
        nodes_of_galera.nodes[0].execute(statement.replace("FROM ", f"FROM {DATABASE}."))


@pytest.fixture
def urls(cluster):
    """Return the URL of the database at each node."""
    return [node.url(DATABASE) for node in cluster.nodes]
