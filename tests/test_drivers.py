"""Peewee's drivers of database servers: a process loads at most the one of its URL."""

import pytest

from tests.conftest import require
from tests.storage.conftest import run_python

SHOW = """
import sys
print(*(name for name in ("psycopg", "pymysql") if name in sys.modules))
"""


@pytest.mark.parametrize(
    ("url", "loaded"),
    [
        ("postgresql://ada@127.0.0.1/accounts", "psycopg"),
        ("mysql://ada@127.0.0.1/accounts", "pymysql"),
    ],
)
def test_a_process_loads_only_the_driver_of_its_url(url, loaded, tmp_path):
    require("psycopg", "pymysql")
    program = f"""
import wsgiauth
from wsgiauth.storage.databases import make_database
make_database("sqlite:///accounts.db")
{SHOW}
make_database({url!r})
make_database({url!r})
{SHOW}"""
    assert run_python(program, tmp_path) == f"\n{loaded}\n"


def test_databases_of_the_application_have_their_drivers(tmp_path):
    require("psycopg", "pymysql")
    program = """
import wsgiauth, peewee, pymysql
from playhouse.pool import PooledPostgresqlDatabase
postgresql = PooledPostgresqlDatabase("a", host="127.0.0.1", port=1)
try:
    postgresql.connect()
except peewee.OperationalError:
    print(peewee.psycopg.__name__, postgresql._adapter.txn_inerror.name, peewee.Jsonb_pg3.__name__)
peewee.MySQLDatabase("a")
print(peewee.mysql is pymysql)
"""
    assert run_python(program, tmp_path) == "psycopg INERROR Jsonb\nTrue\n"


def test_peewee_that_was_imported_before_stays_as_it_is(tmp_path):
    require("psycopg", "pymysql")
    program = f"import peewee\ninit = peewee.MySQLDatabase.init\nimport wsgiauth\n{SHOW}"
    program += "print(peewee.MySQLDatabase.init is init)"
    assert run_python(program, tmp_path) == "psycopg pymysql\nTrue\n"
