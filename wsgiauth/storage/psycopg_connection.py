"""psycopg's connection with a read timeout, and with a quick SELECT for every request.

Imported only for a PostgreSQL database, because psycopg is optional. psycopg has no timeout for a
silent server, and a SELECT through its cursor takes a third longer.
"""

from itertools import count
from time import monotonic
from typing import Any

import psycopg
from psycopg import generators, pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName, error_from_result

_TEXT, _BINARY = PyFormat.TEXT, pq.Format.BINARY  # of parameters and of results
_ERROR = pq.ExecStatus.FATAL_ERROR

# A prepared statement was deallocated, as psycopg does after a ROLLBACK, or its table was altered.
_STALE = (InvalidSqlStatementName, FeatureNotSupported)


class Connection(psycopg.Connection[Any]):
    """A connection that closes itself when the server stops answering."""

    read_timeout: float | None = None  # seconds to wait for data; None: no limit
    is_committing = False  # then it stays open after the timeout; see `synchronous`
    is_changing = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # It does not refer to this connection, because a cycle would keep the connection open after
        # its thread has ended.
        self._transformer = Transformer()
        self._statement_names: dict[str, bytes] = {}
        self._numbers = count(1)

    def fetchall(self, sql: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT, without the overhead of a cursor.

        Prepares the statement on first use, unless `prepare_threshold` is None. Not for use in a
        transaction, which a stale prepared statement would abort.
        """
        transformer = self._transformer
        with self.lock:
            values = transformer.dump_sequence(parameters, [_TEXT] * len(parameters))
            result = self._select(sql, values)
            if not result.ntuples:
                return []
            transformer.set_pgresult(result)
            return transformer.load_rows(0, result.ntuples, tuple)

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """Run one of psycopg's generators within the read timeout."""
        return super().wait(self._bounded(gen), *args, **kwargs)

    def is_answered(self) -> bool:
        """Return whether the server has answered since the timeout or closed the connection."""
        with self.lock:
            try:
                self.pgconn.consume_input()
                return not self.pgconn.is_busy()
            except psycopg.OperationalError:
                return True

    def _select(self, sql: str, values: Any) -> Any:
        if self.prepare_threshold is None:
            self.pgconn.send_query_params(_numbered(sql), values, result_format=_BINARY)
            return self._result()
        if sql in self._statement_names:
            try:
                return self._execute_prepared(sql, values)
            except _STALE:
                pass
        self._prepare(sql)
        return self._execute_prepared(sql, values)

    def _execute_prepared(self, sql: str, values: Any) -> Any:
        name = self._statement_names[sql]
        self.pgconn.send_query_prepared(name, values, result_format=_BINARY)
        return self._result()

    def _prepare(self, sql: str) -> None:
        name = b"wsgiauth_%d" % next(self._numbers)
        self.pgconn.send_prepare(name, _numbered(sql))
        self._result()
        self._statement_names[sql] = name

    def _result(self) -> Any:
        result, *_ = self.wait(generators.execute(self.pgconn))  # a pooler that stops sends two
        if result.status == _ERROR:
            raise error_from_result(result)
        return result

    def _bounded(self, gen: Any) -> Any:
        last_data = monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted  # empty ten times a second while no data arrives
                if ready:
                    last_data = monotonic()
                elif self.read_timeout and monotonic() - last_data > self.read_timeout:
                    if not self.is_committing:
                        self.close()
                    raise psycopg.OperationalError("the server has stopped answering")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


def _numbered(sql: str) -> bytes:
    """Return Peewee's SQL with libpq's placeholders `$1`, `$2` and so on."""
    first, *others = sql.split("%s")
    numbered = (f"${number}{part}" for number, part in enumerate(others, 1))
    return "".join((first, *numbered)).encode()
