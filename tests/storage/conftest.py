"""Databases that tests open, and close after them."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playhouse.pool import PooledDatabase

from tests.conftest import SERVERS, empty_tables
from tests.support.sites import PASSWORD
from wsgiauth import hash_password, storage
from wsgiauth.storage import context

HASH = hash_password(PASSWORD, rounds=4)
SQLITE = pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pool"])


@pytest.fixture
def open_database():
    """Return `storage.open_database`, whose connections are closed after the test."""
    opened = []

    def open_one(url, **options):
        opened.append(storage.open_database(url, **options))
        return opened[-1]

    yield open_one
    for each in opened:
        close(each)


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def pooling(request):
    """Return what follows the scheme of a URL."""
    return request.param


@pytest.fixture(params=SERVERS)
def server(request, server_urls, pooling, open_database):
    """Return an empty database on a server."""
    opened = open_database(server_urls(request.param).replace(":", f"{pooling}:", 1))
    yield opened
    context.use(opened)
    empty_tables()


def close(database):
    if isinstance(database, PooledDatabase):
        database.close_all()
    storage.discard_connection(database)


def in_another_thread(action):
    """Return what `action` returns in a thread that closes its connection."""

    def act():
        try:
            return action()
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(act).result()


def run_python(program, folder, **environ):
    """Run a program that only knows the package."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(storage.__file__).parents[1]), **environ},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
