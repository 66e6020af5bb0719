"""What a request costs on PostgreSQL, behind PgBouncer and on MariaDB, beside the driver's SELECT.

The driver uses the connection of wsgiauth. Another connection can be twice as fast or as slow, as
the scheduler may put its server process on the processor of the client, or on another one.
"""

import itertools
import os
import time
from contextlib import contextmanager, nullcontext
from functools import partial
from urllib.parse import urlsplit

import peewee
import psycopg
import pytest
from playhouse import db_url

from tests.conftest import SERVERS
from tests.load.bench import measure, print_table
from tests.load.bench.requests import PEOPLE, SELECT, request
from tests.load.bench.sites import Site
from tests.support.pgbouncer import pgbouncer
from wsgiauth import storage
from wsgiauth.storage.schema import migrate

MODES = ("session", "transaction")  # of PgBouncer
TOKENS = 1_000  # spread over all sessions
COLUMNS = """
    u.id, u.username, u.email, u.hashed_password, u.security_stamp, u.is_staff, u.is_superuser,
    u.created_at, u.email_verified_at, u.last_login_at
"""
ANALYZE = {"postgresql": "ANALYZE", "mysql": "ANALYZE TABLE wsgiauth_user, wsgiauth_session"}
NAME = f"wsgiauth_bench_{os.getpid()}"
DATABASES = ("sqlite", *SERVERS)


def identified(environ, start_response):
    """Answer nothing to a user."""
    assert environ["wsgiauth.user"] is not None
    return ()


def report(folder):
    """Print the table."""
    kinds = [
        ("postgresql", SERVERS["postgresql"], nullcontext),
        *(
            (f"PgBouncer, {mode}", SERVERS["postgresql"], partial(pgbouncer, mode=mode))
            for mode in MODES
        ),
        ("mariadb", SERVERS["mariadb"], nullcontext),
    ]
    rows = [
        (f"{name}{pooling}", ours, floor, ours / floor)
        for name, server, front in kinds
        for pooling in ("", "+pool")
        for ours, floor in _costs(name, server, pooling, front)
    ]
    print(f"\nA request, in µs, on servers with {PEOPLE} users and sessions; token seen before")
    print_table(("database", "wsgiauth", "the driver's SELECT", "times"), *rows)


def _costs(name, server, pooling, front):
    """Yield the cost of a request and of its floor, if there is such a server."""
    with _database_on(server) as url:
        if url is None:
            return
        try:
            with front(url) as in_front:
                site = Site((in_front or url).replace(":", f"{pooling}:", 1), identified, PEOPLE)
                site.app.database.execute_sql(ANALYZE[url.partition(":")[0]])
                storage.discard_connection(site.app.database)
                yield _measured(site)
                storage.discard_connection(site.app.database)
                if pooling:
                    site.app.database.close_all()
        except pytest.skip.Exception as error:  # there is no PgBouncer
            print(f"{name} is left out: {error}")


def fresh_database(kind, folder):
    """Yield the URL of an empty database of a kind; None if there is no such server."""
    if kind == "sqlite":
        return nullcontext(f"sqlite:///{folder}/accounts.db")
    return _database_on(SERVERS[kind])


@contextmanager
def _database_on(server):
    try:
        admin = db_url.connect(server)
    except peewee.OperationalError as error:
        print(f"{urlsplit(server).scheme} is left out: {error}")
        yield None
        return
    admin.execute_sql(f"CREATE DATABASE {NAME}")
    try:
        url = urlsplit(server)._replace(path=f"/{NAME}").geturl()
        storage.discard_connection(storage.open_database(url, prepare=migrate))
        yield url
    finally:
        admin.execute_sql(f"DROP DATABASE {NAME}")
        admin.close()


def _measured(site):
    select = _driver_select(site.app.database)
    storage.release_connection(site.app.database)
    bearers = itertools.cycle(f"Bearer {token}" for token in site.tokens(TOKENS))
    ids, now = itertools.cycle(site.session_ids(TOKENS)), int(time.time())

    def ours():
        assert request(site.app, HTTP_AUTHORIZATION=next(bearers)) == ()

    def floor():
        assert select((next(ids), now)) is not None

    actions = {"ours": ours, "floor": floor}
    for action in actions.values():
        for _ in range(TOKENS):
            action()
    medians = measure(actions, rounds=61, calls=200)
    return medians["ours"], medians["floor"]


def _driver_select(database):
    """Return the SELECT of a request as the driver alone does it; PostgreSQL prepares it."""
    sql = SELECT.replace("u.id, u.username", COLUMNS).replace("?", "%s")
    connection, options = database.connection(), {}
    if isinstance(database, peewee.PostgresqlDatabase):
        is_prepared = connection.prepare_threshold is not None  # not behind a pooler
        connection, options = psycopg.Connection(connection.pgconn), {"prepare": is_prepared}
        connection.autocommit = True
        connection._prepared._prepared_idx = 1_000  # the names of prepared statements are unique
    cursor = connection.cursor()

    def select(parameters):
        cursor.execute(sql, parameters, **options)
        return cursor.fetchone()

    return select
