"""PostgreSQL and MariaDB through Peewee, with connections that tolerate faults in production.

The faults are lost connections, locks, servers that do not answer, and connection poolers.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from time import monotonic
from typing import Any

import peewee
from playhouse import pool

from wsgiauth.storage.connections import BUSY_TIMEOUT, AccountDatabase, discard_connection

READ_TIMEOUT = 10  # seconds to wait for data from a server; longer than it waits for a lock
START_TIMEOUT = 30  # the same while a process starts; a migration has no such limit
_POSTGRESQL_IN_TRANSACTION = (2, 3)  # libpq's PQTRANS_INTRANS and PQTRANS_INERROR
_MARIADB_IN_TRANSACTION = 1  # the protocol's SERVER_STATUS_IN_TRANS
SILENCE = 5  # seconds without a new attempt, after one that took more than a second to fail


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
        if not sql.startswith("SELECT"):
            return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]
        attempt = super().execute_sql
        return self._retry_if_lost(lambda: attempt(sql, params))  # type: ignore[no-untyped-call]

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None."""
        with closing(self.execute_sql(sql, parameters)) as cursor:
            return cursor.fetchone()

    def begin(self, *args: Any, **kwargs: Any) -> None:
        """Begin a transaction, on a new connection if this one is lost."""
        attempt = super().begin
        self._retry_if_lost(lambda: attempt(*args, **kwargs))

    @contextmanager
    def patient(self, lock_timeout: int) -> Iterator[None]:
        """Use new connections without a read timeout in a `with` block.

        Args:
            lock_timeout: Seconds to wait for a lock.
        """
        usual = self.lock_timeout, self.read_timeout
        self.lock_timeout, self.read_timeout = lock_timeout, None
        discard_connection(self)
        try:
            yield
        finally:
            self.lock_timeout, self.read_timeout = usual
            discard_connection(self)

    def _retry_if_lost(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (peewee.OperationalError, peewee.InterfaceError):
            if self.in_transaction() or self.is_closed() or not _is_lost(self._state.conn):
                raise
            discard_connection(self)
            if isinstance(self, pool.PooledDatabase):
                self.close_idle()  # the other idle connections are lost too
            return action()

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

    @abstractmethod
    def _set_up(self, connection: Any) -> None:
        """Set the session settings of a new connection."""


def _is_lost(connection: Any) -> bool:  # psycopg has `closed`, PyMySQL has `open`
    return bool(getattr(connection, "closed", False)) or not getattr(connection, "open", True)


class PostgreSQL(Server, peewee.PostgresqlDatabase):
    """PostgreSQL, through psycopg 3.

    A pooler such as PgBouncer in transaction mode runs each transaction on any of its connections
    to the server. Therefore no prepared statement and no setting must remain on one.
    """

    class psycopg3_adapter(peewee.Psycopg3Adapter):  # noqa: N801 - Peewee's name
        def connect(self, db: Any, **params: Any) -> Any:
            """Return a connection with a read timeout."""
            return _psycopg_connection(db.read_timeout).connect(dbname=db.database, **params)

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

    def _is_in_transaction(self, connection: Any) -> bool:
        return connection.pgconn.transaction_status in _POSTGRESQL_IN_TRANSACTION


class MariaDB(Server, peewee.MySQLDatabase):
    """MariaDB or MySQL, through PyMySQL."""

    def _connect(self) -> Any:
        self.connect_params["read_timeout"] = self.read_timeout
        return super()._connect()

    def _set_up(self, connection: Any) -> None:
        seconds = self.lock_timeout
        connection.query(f"SET lock_wait_timeout = {seconds}, innodb_lock_wait_timeout = {seconds}")

    def _is_in_transaction(self, connection: Any) -> bool:
        return bool(connection.server_status & _MARIADB_IN_TRANSACTION)


@cache
def _psycopg_connection(read_timeout: float | None) -> Any:
    """Return psycopg's connection class with a read timeout, which PyMySQL's has already."""
    import psycopg

    class Connection(psycopg.Connection[Any]):
        def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
            return super().wait(self._bounded(gen), *args, **kwargs)

        def _bounded(self, gen: Any) -> Any:
            last_data = monotonic()
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted  # empty ten times a second while no data arrives
                    if ready:
                        last_data = monotonic()
                    elif read_timeout and monotonic() - last_data > read_timeout:
                        self.close()
                        raise psycopg.OperationalError("the server has stopped answering")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Connection


class PooledPostgreSQL(pool.PooledPostgresqlDatabase, PostgreSQL):  # type: ignore[misc]
    """PostgreSQL with a connection pool."""

    _is_closed = staticmethod(_is_lost)  # asking the server would block all threads


class PooledMariaDB(pool.PooledMySQLDatabase, MariaDB):  # type: ignore[misc]
    """MariaDB or MySQL with a connection pool."""

    _is_closed = staticmethod(_is_lost)
