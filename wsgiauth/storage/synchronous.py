"""Changes in PostgreSQL, whose commits can wait for a synchronous standby.

While no standby confirms a commit, the primary hides the change, and keeps the process of the
connection even after the client has closed it. Clients that open new connections after each timeout
would use up all connections of the primary. So wsgiauth keeps and counts the connection. Until the
commit is answered, it refuses further changes at once, and only reads.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from threading import TIMEOUT_MAX
from time import monotonic
from typing import Any

import peewee
from playhouse import pool

from wsgiauth.storage.postgres_mysql import PooledServer, Server

_ACTIVE = 1  # libpq's PQTRANS_ACTIVE: the answer is missing

# Whether any commit has waited for a standby for so many seconds. Behind a pooler, no connection
# knows its own process, but a role can see the processes of all its connections.
_IS_UNCONFIRMED = (
    "SELECT 1 FROM pg_stat_activity WHERE usename = session_user AND wait_event = 'SyncRep'"
    " AND state_change < now() - %s * interval '1 second' LIMIT 1"
)


class SynchronousServer(Server):
    """A PostgreSQL that can have synchronous standbys."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unconfirmed: list[Any] = []  # connections whose commit has timed out

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute. Outside a transaction, each statement but SELECT is a change of its own."""
        if sql.startswith("SELECT") or self.has_open_transaction():
            return super().execute_sql(sql, params)
        self._admit_change()
        with self._committing(self.connection()):
            return super().execute_sql(sql, params)

    def begin(self, isolation_level: Any = None, *, waits: bool = True) -> None:
        """Begin a transaction, whose commit can wait for a standby if it `waits`."""
        if waits and not self.in_transaction():
            self._admit_change()
        super().begin(isolation_level)
        self._state.conn.is_changing = waits  # on a new connection if the old one was lost

    def commit(self) -> None:
        """Commit. After a timeout, this thread continues with another connection."""
        with nullcontext() if self.is_closed() else self._committing(self._state.conn):
            super().commit()

    def rollback(self) -> None:
        """Roll back, unless the connection is still committing."""
        if self.is_closed():
            return
        connection = self._state.conn
        try:
            super().rollback()
        finally:
            self._end_change(connection)

    def _admit_change(self) -> None:
        """Refuse a change while an earlier one is not confirmed.

        A host that has vanished never answers a commit. So also ask the server, which can be the
        promoted standby. If no commit waits there, forget the unanswered ones.
        """
        for each in [*self._unconfirmed]:
            if each.is_answered():
                self._forget(each)
        unconfirmed = [*self._unconfirmed]
        if not unconfirmed:
            return
        if self.fetchone(_IS_UNCONFIRMED, ((self.read_timeout or 0) / 2,)):
            raise peewee.OperationalError("no synchronous standby confirms changes")
        for each in unconfirmed:
            self._forget(each)

    def _forget(self, connection: Any) -> None:
        with suppress(ValueError):  # another thread was faster
            self._unconfirmed.remove(connection)
        connection.close()
        self._close(connection)  # type: ignore[attr-defined]

    @contextmanager
    def _committing(self, connection: Any) -> Iterator[None]:
        """Set the connection aside if the change in the `with` block is not confirmed."""
        connection.is_committing = not self.in_transaction()
        try:
            yield
        finally:
            connection.is_committing = False
            if connection.pgconn.transaction_status == _ACTIVE:
                self._unconfirmed.append(connection)
                self._state.reset()
            else:
                self._end_change(connection)

    def _end_change(self, connection: Any) -> None:
        connection.is_changing = False


class PooledSynchronousServer(PooledServer, SynchronousServer):
    """A pool that uses at most half of its connections for changes at the same time.

    The others remain for requests that only read, also while all changes wait for a standby.
    """

    def _admit_change(self) -> None:
        super()._admit_change()
        end = monotonic() + (self._wait_timeout or 0)
        while not self._takes_place(self.connection()):
            self.close()  # others need it meanwhile
            with self._pool_available:
                seconds = min(end - monotonic(), TIMEOUT_MAX)
                if not self._pool_available.wait_for(self._has_place, seconds):
                    raise pool.MaxConnectionsExceeded("too many changes at the same time")

    def _takes_place(self, connection: Any) -> bool:
        with self._pool_lock:
            connection.is_changing = False
            connection.is_changing = has_place = self._has_place()
        return has_place

    def _has_place(self) -> bool:
        if not self._max_connections:
            return True
        changing = sum(each.connection.is_changing for each in self._in_use.values())
        return bool(changing < max(self._max_connections // 2, 1))

    def _end_change(self, connection: Any) -> None:
        with self._pool_available:
            super()._end_change(connection)
            self._pool_available.notify_all()

    def _close(self, connection: Any, close_conn: bool = False) -> None:
        super()._close(connection, close_conn)
        self._end_change(connection)
