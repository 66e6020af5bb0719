"""A database of a program's own on a server of the tests."""

from contextlib import contextmanager
from urllib.parse import urlsplit

from playhouse import db_url

from tests.conftest import SERVERS


@contextmanager
def own_database(kind, name):
    """Create a database on the server of a kind, and drop it; yields its URL."""
    server = SERVERS[kind]
    drop = f"DROP DATABASE IF EXISTS {name}" + (" WITH (FORCE)" if kind == "postgresql" else "")
    _execute(server, drop, f"CREATE DATABASE {name}")
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        _execute(server, drop)


def _execute(server, *statements):
    database = db_url.connect(server, autocommit=True)
    for statement in statements:
        database.execute_sql(statement)
    database.close()
