"""Servers that load the application and then fork: no two processes share a connection.

For SQLite that holds where the fork comes before the threads, as servers do it: what other threads
have open on a file at that moment, SQLite itself cannot undo in the child.
"""

import os
import threading
from typing import Any
from weakref import WeakSet

import peewee
from playhouse.pool import PooledDatabase

from wsgiauth.storage.connections import discard_connection

_watched: WeakSet[peewee.Database] = WeakSet()
_inherited: list[object] = []  # from the process that forked this one


def watch(database: peewee.Database) -> None:
    """See to it that no connection of `database` survives a fork in the child."""
    _watched.add(database)


def _close_files() -> None:
    """Before a fork: SQLite's locks are not inherited, while SQLite in the child would trust them.

    See "How To Corrupt An SQLite Database File", section 2.6.
    """
    for opened in list(_watched):
        if isinstance(opened, peewee.SqliteDatabase):
            discard_connection(opened)
            if isinstance(opened, PooledDatabase):
                opened.close_idle()


def _forget_connections() -> None:
    """In the child: connections to servers are the parent's, who would notice if we closed them."""
    for each in list(_watched):
        opened: Any = each
        _inherited.append(vars(opened).copy())  # what nothing refers to would be closed
        opened._lock = threading.Lock()  # another thread may have held it
        opened._state = peewee._ConnectionLocal()
        if isinstance(opened, PooledDatabase):
            opened._connections, opened._in_use = [], {}
            opened._pool_lock = threading.RLock()
            opened._pool_available = threading.Condition(opened._pool_lock)


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    # A server that loads the application before it forks may have used the database by then.
    os.register_at_fork(before=_close_files, after_in_child=_forget_connections)
