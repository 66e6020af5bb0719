"""PostgreSQL and MariaDB with Peewee's connection pool."""

from heapq import heappop, heappush
from time import time
from typing import Any

from playhouse import pool

from wsgiauth.storage.postgres_mysql import LOSS_ERRORS, MariaDB, PostgreSQL, Server


class PooledServer(pool.PooledDatabase, Server):
    """A server's database with a connection pool."""

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None, without Peewee's overhead.

        Takes an idle connection and puts it back at once, unless this thread has a connection.
        """
        if self.query_hooks or not self.is_closed():
            return super().fetchone(sql, parameters)
        idle = self._take_idle()
        if idle is None:  # open a connection, or wait for one
            return super().fetchone(sql, parameters)
        connection = idle[-1]
        try:
            row = self._select_one(connection, sql, parameters)
        except BaseException as error:
            self._close(connection)  # or put it back, after Peewee's checks
            if not isinstance(error, LOSS_ERRORS) or not self._is_lost(connection):
                raise
            self.close_idle()  # the other idle connections are lost too
            return super().fetchone(sql, parameters)
        self._put_back(idle)
        return row

    def _take_idle(self) -> tuple[Any, ...] | None:
        """Take an idle connection from the pool, in a third of the time of `_connect`.

        Returns:
            An item of Peewee's heap (time of opening, number, connection), or None.
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
            self._pool_available.notify()

    def _is_closed(self, connection: Any) -> bool:
        return self._is_lost(connection)  # asking the server would block all threads


class PooledPostgreSQL(PooledServer, pool.PooledPostgresqlDatabase, PostgreSQL):  # type: ignore[misc]
    """PostgreSQL with a connection pool."""


class PooledMariaDB(PooledServer, pool.PooledMySQLDatabase, MariaDB):  # type: ignore[misc]
    """MariaDB or MySQL with a connection pool."""
