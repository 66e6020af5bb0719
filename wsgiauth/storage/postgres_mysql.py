"""PostgreSQL and MariaDB through Peewee, with connections that tolerate faults in production.

The faults are lost connections, locks, servers that do not answer, and connection poolers.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from heapq import heappop, heappush
from time import monotonic, time
from typing import Any, ClassVar

import peewee
from playhouse import pool

from wsgiauth.storage.connections import BUSY_TIMEOUT, AccountDatabase, discard_connection

READ_TIMEOUT = 10  # seconds to wait for data from a server; longer than it waits for a lock
START_TIMEOUT = 30  # the same while a process starts; a migration has no such limit
SILENCE = 5  # seconds without a new attempt, after one that took more than a second to fail
_POSTGRESQL_IN_TRANSACTION = (2, 3)  # libpq's PQTRANS_INTRANS and PQTRANS_INERROR
_POSTGRESQL_LOCK_NOT_AVAILABLE = "55P03"  # an SQLSTATE
_MARIADB_LOCK_WAIT_TIMEOUT = 1205  # an error number
_MARIADB_IN_TRANSACTION = 1  # the protocol's SERVER_STATUS_IN_TRANS
_LOSS_ERRORS = (peewee.OperationalError, peewee.InterfaceError)  # not only of lost connections


class Server(AccountDatabase):
    """A server's database; a connection that was lost while idle is replaced without an error.

    Only statements that are safe to repeat are repeated: a SELECT, and the BEGIN that opens every
    transaction. A write outside a transaction is not, because the server may have executed it.
    """

    lock_timeout = BUSY_TIMEOUT
    read_timeout: float | None = READ_TIMEOUT  # None: no limit
    _silent_until = 0.0

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute; if the connection is lost, repeat a SELECT once on a new one."""
        execute: Callable[..., Any] = super().execute_sql
        if not sql.startswith("SELECT"):
            return execute(sql, params)
        return self._retry_if_lost(execute, sql, params)

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None, without Peewee's overhead."""
        rows = self.fetchall(sql, parameters)
        return rows[0] if rows else None

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
        """Use new connections with other timeouts, in seconds, in a `with` block."""
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
        except Exception as error:
            if monotonic() - begun > 1:
                self._silent_until = monotonic() + SILENCE
            if isinstance(error, OSError):  # about a TLS file; PyMySQL does not convert it
                raise peewee.OperationalError(str(error)) from error
            raise
        self._set_up(connection)
        return connection

    def _select(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        try:
            return self._rows(connection, sql, parameters)
        except Exception:
            with peewee.__exception_wrapper__:  # type: ignore[attr-defined]
                raise

    @abstractmethod
    def _rows(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a SELECT, through the driver alone."""

    @abstractmethod
    def _is_lost(self, connection: Any) -> bool:
        """Return whether the connection is known to be closed; does not ask the server."""

    @abstractmethod
    def _set_up(self, connection: Any) -> None:
        """Set the session settings of a new connection."""


class PostgreSQL(Server, peewee.PostgresqlDatabase):
    """PostgreSQL, through psycopg 3.

    A pooler such as PgBouncer in transaction mode runs each transaction on any of its connections
    to the server. Therefore no prepared statement and no setting must remain on one.
    """

    class psycopg3_adapter(peewee.Psycopg3Adapter):  # noqa: N801 - Peewee's name
        def connect(self, db: Any, **params: Any) -> Any:
            """Return a connection with a read timeout."""
            from wsgiauth.storage.psycopg_connection import Connection

            connection = Connection.connect(dbname=db.database, **params)
            connection.read_timeout = db.read_timeout
            return connection

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Leave a `with` block that contains one change, rather than wait for a lock or the disk.

        Settings of a transaction, because behind a pooler no other setting stays on a connection.
        """
        try:
            with self.atomic():
                self.execute_sql(
                    "SELECT set_config('lock_timeout', '1ms', true),"  # the minimum; 0: no limit
                    " set_config('synchronous_commit', 'off', true)"
                )
                yield
        except peewee.OperationalError as error:
            cause = getattr(error, "orig", None)
            if getattr(cause, "sqlstate", None) != _POSTGRESQL_LOCK_NOT_AVAILABLE:
                raise

    def _set_up(self, connection: Any) -> None:
        # One round trip. Set nothing if the process id differs from the one that was announced at
        # connect: then it is a pooler, which announces a number of its own.
        is_direct = connection.execute(
            f"""
            SELECT CASE WHEN pg_backend_pid() = {connection.info.backend_pid} THEN
                set_config('lock_timeout', '{self.lock_timeout}s', false)
                || set_config('default_transaction_isolation', 'read committed', false)
            END
            """
        ).fetchone()[0]
        if is_direct is None:
            connection.prepare_threshold = None

    def _rows(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        rows: list[Any] = connection.fetchall(sql, parameters)
        return rows

    def _is_lost(self, connection: Any) -> bool:
        return bool(connection.closed)

    def _is_in_transaction(self, connection: Any) -> bool:
        return connection.pgconn.transaction_status in _POSTGRESQL_IN_TRANSACTION


class MariaDB(Server, peewee.MySQLDatabase):
    """MariaDB or MySQL, through PyMySQL."""

    shared_lock: ClassVar[str] = "LOCK IN SHARE MODE"

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Leave a `with` block that contains one change, rather than wait for a lock.

        MySQL waits for a second, its minimum.
        """
        self.execute_sql(_mariadb_lock_timeout(0))
        try:
            yield
        except peewee.OperationalError as error:
            if error.args[0] != _MARIADB_LOCK_WAIT_TIMEOUT:
                raise
        finally:
            self.execute_sql(_mariadb_lock_timeout(self.lock_timeout))

    def _connect(self) -> Any:
        self.connect_params["read_timeout"] = self.read_timeout
        return super()._connect()

    def _set_up(self, connection: Any) -> None:
        connection.query(_mariadb_lock_timeout(self.lock_timeout))

    def _rows(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        cursor = connection.cursor()
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())

    def _is_lost(self, connection: Any) -> bool:
        return not connection.open

    def _is_in_transaction(self, connection: Any) -> bool:
        return bool(connection.server_status & _MARIADB_IN_TRANSACTION)


class PooledServer(pool.PooledDatabase, Server):
    """A server's database with a connection pool."""

    def fetchall(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a SELECT, without Peewee's overhead.

        Takes an idle connection and puts it back at once, unless this thread has a connection.
        """
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


def _mariadb_lock_timeout(seconds: int) -> str:
    return f"SET lock_wait_timeout = {seconds}, innodb_lock_wait_timeout = {seconds}"
