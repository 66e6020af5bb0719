"""MariaDB and MySQL through Peewee and PyMySQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import peewee
from playhouse import pool

from wsgiauth.storage.postgres_mysql import PooledServer, Server

_LOCK_WAIT_TIMEOUT = 1205  # an error number
_IN_TRANSACTION = 1  # the protocol's SERVER_STATUS_IN_TRANS


class MariaDB(Server, peewee.MySQLDatabase):
    """MariaDB or MySQL."""

    shared_lock: ClassVar[str] = "LOCK IN SHARE MODE"

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Leave a `with` block that contains one change, rather than wait for a lock.

        MySQL waits for a second, its minimum.
        """
        self.execute_sql(_lock_timeout(0))
        try:
            yield
        except peewee.OperationalError as error:
            if error.args[0] != _LOCK_WAIT_TIMEOUT:
                raise
        finally:
            self.execute_sql(_lock_timeout(self.lock_timeout))

    def _connect(self) -> Any:
        self.connect_params["read_timeout"] = self.read_timeout
        return super()._connect()

    def _set_up(self, connection: Any) -> None:
        connection.query(_lock_timeout(self.lock_timeout))

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
