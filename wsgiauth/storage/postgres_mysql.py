"""PostgreSQL and MariaDB, by Peewee: connections that survive what happens to them in production.

They are lost, blocked by locks, left without an answer, and shared by a connection pooler.
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

READ_TIMEOUT = 10  # seconds to wait for a server to say something; more than it waits for a lock
START_TIMEOUT = 30  # the same while a process starts; a migration has no such limit
_POSTGRESQL_IN_TRANSACTION = (2, 3)  # libpq's PQTRANS_INTRANS and PQTRANS_INERROR
_MARIADB_IN_TRANSACTION = 1  # the protocol's SERVER_STATUS_IN_TRANS
SILENCE = 5  # seconds for which nobody tries to reach a server that was silent for more than one


class Server(AccountDatabase):
    """A server's database; a connection lost while idle is replaced without an error.

    Only what may run twice is run again: a SELECT, and the BEGIN that opens every transaction. A
    lone write is not repeated, for the lost connection may have carried it out.
    """

    lock_timeout = BUSY_TIMEOUT
    read_timeout: float | None = READ_TIMEOUT  # None: no limit
    _silent_until = 0.0

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute; a SELECT on a lost connection once more, on a new one."""
        if not sql.startswith("SELECT"):
            return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]
        attempt = super().execute_sql
        return self._twice(lambda: attempt(sql, params))  # type: ignore[no-untyped-call]

    def fetchone(self, sql: str, parameters: tuple[object, ...]) -> Any:
        """Return the first row of a SELECT, or None."""
        with closing(self.execute_sql(sql, parameters)) as cursor:
            return cursor.fetchone()

    def begin(self, *args: Any, **kwargs: Any) -> None:
        """Begin a transaction, on a new connection where this one is lost."""
        attempt = super().begin
        self._twice(lambda: attempt(*args, **kwargs))

    @contextmanager
    def patient(self, lock_timeout: int) -> Iterator[None]:
        """Meanwhile, let new connections wait for the server's answers as long as it takes.

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

    def _twice(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (peewee.OperationalError, peewee.InterfaceError):
            if self.in_transaction() or self.is_closed() or not _is_lost(self._state.conn):
                raise
            discard_connection(self)
            if isinstance(self, pool.PooledDatabase):
                self.close_idle()  # what was idle as well is lost as well
            return action()

    def _connect(self) -> Any:
        begun = monotonic()
        if begun < self._silent_until:
            # Peewee lets threads connect one by one. They shall not all wait for the same silence.
            raise peewee.OperationalError("the server did not answer a moment ago")
        try:
            connection = super()._connect()
        except Exception as error:
            if monotonic() - begun > 1:
                self._silent_until = monotonic() + SILENCE
            if isinstance(error, OSError):  # of a TLS file, which PyMySQL lets through
                raise peewee.OperationalError(str(error)) from error
            raise
        self._set_up(connection)
        return connection

    @abstractmethod
    def _set_up(self, connection: Any) -> None:
        """Give a new connection the settings of its session."""


def _is_lost(connection: Any) -> bool:  # in psycopg's words, or in PyMySQL's
    return bool(getattr(connection, "closed", False)) or not getattr(connection, "open", True)


class PostgreSQL(Server, peewee.PostgresqlDatabase):
    """PostgreSQL, by psycopg 3.

    A pooler such as PgBouncer in transaction mode gives each transaction any of its connections to
    the server. So neither prepared statements nor settings may stay behind on one.
    """

    class psycopg3_adapter(peewee.Psycopg3Adapter):  # noqa: N801 - Peewee's name
        def connect(self, db: Any, **params: Any) -> Any:
            """Return a connection that gives up a silent server."""
            return _psycopg_connection(db.read_timeout).connect(dbname=db.database, **params)

    def _set_up(self, connection: Any) -> None:
        # In one round trip, and only if the server process is the one that was announced. Poolers
        # announce a number of their own.
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
    """MariaDB or MySQL, by PyMySQL."""

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
    """Return psycopg's class, made to give up a server that says nothing, as PyMySQL's does."""
    import psycopg

    class Connection(psycopg.Connection[Any]):
        def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
            return super().wait(self._bounded(gen), *args, **kwargs)

        def _bounded(self, gen: Any) -> Any:
            heard = monotonic()
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted  # nothing, ten times a second, while nothing comes
                    if ready:
                        heard = monotonic()
                    elif read_timeout and monotonic() - heard > read_timeout:
                        self.close()
                        raise psycopg.OperationalError("the server has stopped answering")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Connection


class PooledPostgreSQL(pool.PooledPostgresqlDatabase, PostgreSQL):  # type: ignore[misc]
    """PostgreSQL whose connections are handed around."""

    _is_closed = staticmethod(_is_lost)  # to ask the server would hold all threads up


class PooledMariaDB(pool.PooledMySQLDatabase, MariaDB):  # type: ignore[misc]
    """MariaDB or MySQL whose connections are handed around."""

    _is_closed = staticmethod(_is_lost)
