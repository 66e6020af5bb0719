"""Keep processes from sharing a connection when a server loads the application and then forks.

For SQLite, this requires that the process forks before it starts threads, as servers do. A file
that another thread has open during the fork cannot be closed safely in the child.
"""

import os
import threading
from typing import Any
from weakref import WeakSet

import peewee
from playhouse.pool import PooledDatabase

from wsgiauth.storage.connections import discard_connection

_watched: WeakSet[peewee.Database] = WeakSet()
_inherited: list[object] = []  # the parent's connections


def watch(database: peewee.Database) -> None:
    """Let no child process use the connections of `database` after a fork."""
    _watched.add(database)


def _close_files() -> None:
    """Close SQLite's files before a fork: the child would rely on locks that it does not inherit.

    See "How To Corrupt An SQLite Database File", section 2.6.
    """
    for opened in list(_watched):
        if isinstance(opened, peewee.SqliteDatabase):
            discard_connection(opened)
            if isinstance(opened, PooledDatabase):
                opened.close_idle()


def _forget_connections() -> None:
    """Drop the connections in the child without closing them, which would close the parent's."""
    for each in list(_watched):
        opened: Any = each
        _inherited.append(vars(opened).copy())  # a connection without a reference would be closed
        opened._lock = threading.Lock()  # another thread may have held it
        opened._state = peewee._ConnectionLocal()
        if isinstance(opened, PooledDatabase):
            opened._connections, opened._in_use = [], {}
            opened._pool_lock = threading.RLock()
            opened._pool_available = threading.Condition(opened._pool_lock)


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    # The application may use the database while it is loaded, before the fork.
    os.register_at_fork(before=_close_files, after_in_child=_forget_connections)
