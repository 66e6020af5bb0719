"""Import Peewee without the drivers of database servers, which it loads when it needs one.

Peewee imports every driver that is installed, which takes as long as all else that wsgiauth
imports. So psycopg and PyMySQL are hidden from Peewee's own import, and loaded by the first
database of their kind, also one of the application. If the application has imported Peewee before
wsgiauth, nothing changes.
"""

import importlib
import sys
import threading
from typing import Any

HIDDEN = ("psycopg", "pymysql", "MySQLdb")


class _Hiding:
    """Finds no driver for this thread; other threads can import drivers meanwhile."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname in HIDDEN and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is loaded later", name=fullname)


def import_peewee() -> None:
    """Import Peewee so that it loads drivers later, unless it is imported already."""
    if "peewee" in sys.modules:
        return
    hiding = _Hiding()
    sys.meta_path.insert(0, hiding)
    try:
        peewee: Any = importlib.import_module("peewee")
    finally:
        sys.meta_path.remove(hiding)
    _load_before(peewee.PostgresqlDatabase, lambda: _load_psycopg(peewee))
    _load_before(peewee.MySQLDatabase, lambda: _load_mysql(peewee))


def _load_before(database: Any, load: Any) -> None:
    """Load the driver before `init` of a Peewee database, which chooses the driver."""
    original = database.init

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        load()
        original(self, *arguments, **options)

    database.init = init


def _load_psycopg(peewee: Any) -> None:
    """Set what Peewee's own import of psycopg sets."""
    if peewee.psycopg is not None:
        return
    try:
        status = importlib.import_module("psycopg.pq").TransactionStatus
        types = importlib.import_module("psycopg.types.json")
    except ImportError:
        return  # Peewee names the missing driver
    peewee.TransactionStatus = status
    peewee.Json_pg3, peewee.Jsonb_pg3 = types.Json, types.Jsonb
    adapter = peewee.Psycopg3Adapter
    adapter.txn_idle, adapter.txn_inerror = status.IDLE, status.INERROR
    adapter.txn_unknown = status.UNKNOWN
    peewee.psycopg = importlib.import_module("psycopg")  # last: other threads look at it


def _load_mysql(peewee: Any) -> None:
    for name in ("pymysql", "MySQLdb"):
        if peewee.mysql is None:
            try:
                peewee.mysql = importlib.import_module(name)
            except ImportError:
                continue


import_peewee()
