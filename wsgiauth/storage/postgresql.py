"""PostgreSQL through Peewee and psycopg 3, behind poolers, and with several hosts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import peewee
from playhouse import pool

from wsgiauth.storage.connections import TimeLimitError, reason_of
from wsgiauth.storage.synchronous import PooledSynchronousServer, SynchronousServer

_IN_TRANSACTION = (2, 3)  # libpq's PQTRANS_INTRANS and PQTRANS_INERROR
_LOCK_NOT_AVAILABLE, _QUERY_CANCELED = "55P03", "57014"  # SQLSTATEs


class PostgreSQL(SynchronousServer, peewee.PostgresqlDatabase):
    """PostgreSQL, also behind a pooler.

    A pooler such as PgBouncer in transaction mode runs each transaction on any of its connections
    to the server. So no prepared statement and no setting must remain on one.

    A standby is refused, because a revoked session could still be valid there. With several hosts,
    libpq tries each until it finds one that accepts writes.
    """

    skip_locked: ClassVar[str] = "FOR UPDATE SKIP LOCKED"

    class psycopg3_adapter(peewee.Psycopg3Adapter):  # noqa: N801 - Peewee's name
        def connect(self, db: Any, **params: Any) -> Any:
            """Return a connection with a read timeout."""
            from wsgiauth.storage.psycopg_connection import Connection

            connection = Connection.connect(dbname=db.database, **params)
            connection.read_timeout = db.read_timeout
            return connection

    def make_probe(self, timeout: int) -> "PostgreSQL":
        """Return the same database, without a pool."""
        parameters = self.connect_params | {"connect_timeout": timeout}
        probe = PostgreSQL(self.database, prefer_psycopg3=True, **parameters)
        probe.read_timeout = probe.lock_timeout = timeout
        return probe

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Leave a `with` block with one change rather than wait for a lock or the disk."""
        try:
            with self.atomic(waits=False):
                self.execute_sql(
                    "SELECT set_config('lock_timeout', '1ms', true),"  # the minimum; 0: no limit
                    " set_config('synchronous_commit', 'off', true)"
                )
                yield
        except peewee.OperationalError as error:
            if _sqlstate(error) != _LOCK_NOT_AVAILABLE:
                raise

    @contextmanager
    def time_limit(self, seconds: float) -> Iterator[None]:
        """Cancel the SELECT in a `with` block with a TimeLimitError."""
        milliseconds = f"{seconds * 1000:.0f}ms"
        try:
            with self.atomic(waits=False):
                self.execute_sql("SELECT set_config('statement_timeout', %s, true)", [milliseconds])
                yield
        except peewee.OperationalError as error:
            if _sqlstate(error) != _QUERY_CANCELED:
                raise
            raise TimeLimitError from error

    def skip_numbers(self, table: str, skip: int) -> int:
        """Leave out the next numbers of a table; needs the right to change its sequence."""
        (last,) = self.execute_sql(
            "SELECT setval(ids, GREATEST(nextval(ids),"  # noqa: S608
            f" (SELECT MAX(id) FROM {table})) + %s)"
            " FROM pg_get_serial_sequence(%s, 'id') AS ids",
            (skip, table),
        ).fetchone()
        if last is None:
            raise peewee.OperationalError(f"no sequence belongs to {table}.id")
        return int(last)

    def _connect(self) -> Any:
        connection = super()._connect()
        self._begin_with(connection.info.host, str(connection.info.port))
        return connection

    def unusable_hosts(self) -> list[str]:
        """Return a sentence for each of several hosts that cannot be connected to."""
        import psycopg

        places = self._places()
        sentences = []
        for host, port in places if len(places) > 1 else ():
            place = {"host": host, "port": port, "target_session_attrs": "any"}
            try:
                psycopg.connect(dbname=self.database, **self.connect_params | place).close()
            except psycopg.Error as error:
                sentences.append(
                    f"{host}:{port} of DATABASE_URL cannot be used, also after a failover:"
                    f" {reason_of(error)}"
                )
        return sentences

    def _places(self) -> list[tuple[str, str]]:
        hosts = (self.connect_params.get("host") or "").split(",")
        ports = str(self.connect_params.get("port") or "").split(",")
        if len(ports) == 1:  # the port of all hosts
            ports *= len(hosts)
        return [*zip(hosts, ports, strict=True)]

    def _begin_with(self, host: str, port: str) -> None:
        """Try this host first for the next connection, which must not wait for a silent one."""
        places = self._places()
        if len(places) == 1 or "hostaddr" in self.connect_params:
            return
        places.sort(key=lambda place: place != (host, port))
        self.connect_params["host"] = ",".join(host for host, _ in places)
        self.connect_params["port"] = ",".join(port for _, port in places)

    def _set_up(self, connection: Any) -> None:
        # One round trip. A process id other than the one announced at connect means a pooler, which
        # announces its own number: then set nothing.
        announced = connection.info.backend_pid
        is_standby, is_direct = connection.execute(
            f"""
            SELECT pg_is_in_recovery(), CASE WHEN pg_backend_pid() = {announced} THEN
                set_config('lock_timeout', '{self.lock_timeout}s', false)
                || set_config('default_transaction_isolation', 'read committed', false)
            END
            """
        ).fetchone()
        if is_standby:
            connection.close()
            raise peewee.OperationalError("the server is a standby, whose data can be out of date")
        if is_direct is None:
            connection.prepare_threshold = None

    def _rows(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        rows: list[Any] = connection.fetchall(sql, parameters)
        return rows

    def _is_lost(self, connection: Any) -> bool:
        return bool(connection.closed)

    def _is_in_transaction(self, connection: Any) -> bool:
        return connection.pgconn.transaction_status in _IN_TRANSACTION


class PooledPostgreSQL(PooledSynchronousServer, pool.PooledPostgresqlDatabase, PostgreSQL):  # type: ignore[misc]
    """PostgreSQL with a connection pool."""


def _sqlstate(error: peewee.OperationalError) -> str | None:
    cause = getattr(error, "orig", None)  # none if it is our own error
    return getattr(cause, "sqlstate", None)
