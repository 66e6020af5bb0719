"""MariaDB and MySQL through Peewee and PyMySQL."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import peewee
from playhouse import pool

from wsgiauth.storage import conflicts
from wsgiauth.storage.connections import TimeLimitError
from wsgiauth.storage.postgres_mysql import PooledServer, Server

_LOCK_WAIT_TIMEOUT = 1205  # an error number
_TIME_LIMITS = (1969, 3024)  # of MariaDB and of MySQL
_UNKNOWN_VARIABLE = 1193
_FOLLOWING = re.compile(r"\bAUTO_INCREMENT=(\d+)")
_IN_TRANSACTION = 1  # the protocol's SERVER_STATUS_IN_TRANS
# Settings that MySQL and older versions of MariaDB do not know.
_SETTINGS_OF_SOME = (
    # A node of a Galera cluster then waits for earlier commits of other nodes: 1 before SELECT and
    # BEGIN, 2 before UPDATE and DELETE, 4 before INSERT. Otherwise a session would stay valid for
    # some milliseconds after a logout at another node. A node without a majority does not answer.
    # Without Galera, both settings have no effect.
    "wsrep_sync_wait = 7, wsrep_dirty_reads = 0",
    # By default, MariaDB 11.8 refuses to change rows that others changed since the first SELECT.
    "innodb_snapshot_isolation = 0",
)


class MariaDB(Server, peewee.MySQLDatabase):
    """MariaDB or MySQL."""

    shared_lock: ClassVar[str] = "LOCK IN SHARE MODE"
    # Nodes of a Galera cluster do not know each other's locks. But if two transactions change one
    # row, the second commit fails.
    locks_by_writing: ClassVar[bool] = True

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Execute; outside a transaction, repeat it after conflicts."""
        execute: Callable[..., Any] = super().execute_sql
        if self.has_open_transaction():
            return execute(sql, params)
        return conflicts.repeat(lambda: execute(sql, params))

    def rollback(self) -> None:
        """Roll back, unless the server reports that it has, because of a conflict."""
        try:
            super().rollback()
        except peewee.OperationalError as error:
            if not conflicts.is_conflict(error):
                raise

    def make_probe(self, timeout: int) -> "MariaDB":
        """Return the same database, without a pool."""
        limits = {"connect_timeout": timeout, "write_timeout": timeout}
        probe = MariaDB(self.database, **self.connect_params | limits)
        probe.read_timeout = probe.lock_timeout = timeout
        return probe

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Leave a `with` block rather than wait for a lock; MySQL waits for a second at least."""
        self.execute_sql(_lock_timeout(0))
        try:
            yield
        except peewee.OperationalError as error:
            if error.args[0] != _LOCK_WAIT_TIMEOUT:
                raise
        finally:
            self.execute_sql(_lock_timeout(self.lock_timeout))

    @contextmanager
    def time_limit(self, seconds: float) -> Iterator[None]:
        """Cancel the SELECT in a `with` block with a TimeLimitError."""
        self.execute_sql(_time_limit(f"{seconds:.3f}", f"{seconds * 1000:.0f}"))
        try:
            yield
        except peewee.OperationalError as error:
            if error.args[0] not in _TIME_LIMITS:
                raise
            raise TimeLimitError from error
        finally:
            self.execute_sql(_time_limit("DEFAULT", "DEFAULT"))

    def skip_numbers(self, table: str, skip: int) -> int:
        """Leave out the next numbers of a table; needs the right to alter it, and commits."""
        # Not from INFORMATION_SCHEMA, which MySQL caches for a day.
        _, created = self.execute_sql(f"SHOW CREATE TABLE {table}").fetchone()
        (largest,) = self.execute_sql(f"SELECT COALESCE(MAX(id), 0) FROM {table}").fetchone()  # noqa: S608
        following = _FOLLOWING.search(created)  # without a row yet, there is none
        last = max(largest, int(following[1]) - 1 if following else 0) + skip
        self.execute_sql(f"ALTER TABLE {table} AUTO_INCREMENT = {last + 1:d}")
        return int(last)

    def _connect(self) -> Any:
        self.connect_params["read_timeout"] = self.read_timeout
        return super()._connect()

    def _set_up(self, connection: Any) -> None:
        connection.query(_lock_timeout(self.lock_timeout))
        for setting in _SETTINGS_OF_SOME:
            try:
                connection.query(f"SET {setting}")
            except connection.Error as error:
                if error.args[0] != _UNKNOWN_VARIABLE:
                    raise

    def _rows(self, connection: Any, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        cursor = connection.cursor()
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())

    def _is_lost(self, connection: Any) -> bool:
        return not connection.open

    def _is_in_transaction(self, connection: Any) -> bool:
        return bool(connection.server_status & _IN_TRANSACTION)


class PooledMariaDB(PooledServer, pool.PooledMySQLDatabase, MariaDB):  # type: ignore[misc]
    """MariaDB or MySQL with a connection pool."""


def _lock_timeout(seconds: int) -> str:
    return f"SET lock_wait_timeout = {seconds}, innodb_lock_wait_timeout = {seconds}"


def _time_limit(seconds: str, milliseconds: str) -> str:
    # MariaDB executes the first comment, MySQL the second one.
    return (
        f"SET /*M! max_statement_time = {seconds} */"
        f" /*!50708 max_execution_time = {milliseconds} */"
    )
