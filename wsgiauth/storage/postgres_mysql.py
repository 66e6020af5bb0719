"""Connections to PostgreSQL and MariaDB that tolerate lost connections and silent servers."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from heapq import heappop, heappush
from time import monotonic, time
from typing import Any

import peewee
from playhouse import pool

from wsgiauth.storage.connections import BUSY_TIMEOUT, AccountDatabase, discard_connection

READ_TIMEOUT = 10  # seconds to wait for data from a server; longer than it waits for a lock
START_TIMEOUT = 30  # the same while a process starts; a migration has no such limit
SILENCE = 5  # seconds without a new attempt, after one that took more than a second to fail
_LOSS_ERRORS = (peewee.OperationalError, peewee.InterfaceError)  # not only of lost connections


class Server(AccountDatabase):
    """A server's database, which replaces a connection that was lost while idle.

    It repeats only a SELECT, and the BEGIN that opens every transaction. The server may have
    executed a write outside a transaction before the connection was lost.
    """

    lock_timeout = BUSY_TIMEOUT
    read_timeout: float | None = READ_TIMEOUT  # None: no limit
    _silent_until = 0.0

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute; if the connection is lost, repeat a SELECT once."""
        execute: Callable[..., Any] = super().execute_sql
        if not sql.startswith("SELECT"):
            return execute(sql, params)
        return self._retry_if_lost(execute, sql, params)

    def fetchall(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a SELECT, without Peewee's overhead."""
        if self.query_hooks or self.has_open_transaction():
            with closing(self.execute_sql(sql, parameters)) as cursor:
                return list(cursor.fetchall())
        selected: list[Any] = self._retry_if_lost(
            lambda: self._select(self._quick_connection(), sql, parameters)
        )
        return selected

    def begin(self, *args: Any, **kwargs: Any) -> None:
        """Begin a transaction, on a new connection if this one is lost."""
        self._retry_if_lost(super().begin, *args, **kwargs)

    @contextmanager
    def patient(self, lock_timeout: int, read_timeout: float | None = None) -> Iterator[None]:
        """In a `with` block, use new connections with these timeouts in seconds."""
        usual = self.lock_timeout, self.read_timeout
        self.lock_timeout, self.read_timeout = lock_timeout, read_timeout
        discard_connection(self)
        try:
            yield
        finally:
            self.lock_timeout, self.read_timeout = usual
            discard_connection(self)

    def _retry_if_lost(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return action(*args, **kwargs)
        except _LOSS_ERRORS:
            if self.in_transaction() or self.is_closed() or not self._is_lost(self._state.conn):
                raise
            discard_connection(self)
            if isinstance(self, pool.PooledDatabase):
                self.close_idle()  # the other idle connections are lost too
            return action(*args, **kwargs)

    def _connect(self) -> Any:
        begun = monotonic()
        if begun < self._silent_until:
            # Peewee lets one thread connect at a time, so each would wait for its own timeout.
            raise peewee.OperationalError("the server did not answer the last attempt to connect")
        try:
            connection = super()._connect()
            self._set_up(connection)
        except Exception as error:
            if monotonic() - begun > 1:
                self._silent_until = monotonic() + SILENCE
            if isinstance(error, OSError):  # about a TLS file; PyMySQL does not convert it
                raise peewee.OperationalError(str(error)) from error
            raise
        return connection

    def _select(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        try:
            return self._rows(connection, sql, parameters)
        except Exception:
            with peewee.__exception_wrapper__:  # type: ignore[attr-defined]
                raise

    @abstractmethod
    def _rows(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a SELECT through the driver alone."""

    @abstractmethod
    def _is_lost(self, connection: Any) -> bool:
        """Return whether the connection is closed, without asking the server."""

    @abstractmethod
    def _set_up(self, connection: Any) -> None:
        """Set the session settings of a new connection."""


class PooledServer(pool.PooledDatabase, Server):
    """A server's database with a connection pool."""

    def fetchall(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a SELECT, by an idle connection unless this thread has one."""
        if self.query_hooks or not self.is_closed():
            return super().fetchall(sql, parameters)
        idle = self._take_idle()
        if idle is None:  # open a connection, or wait for one
            return super().fetchall(sql, parameters)
        connection = idle[-1]
        try:
            rows = self._select(connection, sql, parameters)
        except BaseException as error:
            self._close(connection)  # or put it back, after Peewee's checks
            if not isinstance(error, _LOSS_ERRORS) or not self._is_lost(connection):
                raise
            self.close_idle()  # the other idle connections are lost too
            return super().fetchall(sql, parameters)
        self._put_back(idle)
        return rows

    def _take_idle(self) -> tuple[Any, ...] | None:
        """Take an item from Peewee's heap (time of opening, number, connection), or None.

        This takes a third of the time of `_connect`.
        """
        with self._pool_lock:
            if not self._connections:
                return None
            idle: tuple[Any, ...] = self._connections[0]
            opened_at, _, connection = idle
            if self._stale_timeout and self._is_stale(opened_at):  # type: ignore[no-untyped-call]
                return None
            heappop(self._connections)
            self._in_use[id(connection)] = pool.PoolConnection(opened_at, connection, time())
            return idle

    def _put_back(self, idle: tuple[Any, ...]) -> None:
        with self._pool_lock:
            self._in_use.pop(id(idle[-1]), None)  # `close_all` may have removed it
            heappush(self._connections, idle)
            self._pool_available.notify_all()

    def _is_closed(self, connection: Any) -> bool:
        return self._is_lost(connection)  # asking the server would block all threads
