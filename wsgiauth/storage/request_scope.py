"""The first stop of a request: its context and database, also while its response is streamed.

Afterwards no transaction of the request is open, and a pool has its connection back.
"""

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from playhouse.pool import PooledDatabase

from wsgiauth.storage import release_connection
from wsgiauth.storage.connections import AccountDatabase, roll_back_forgotten
from wsgiauth.storage.context import (
    DatabaseUses,
    ServedRequest,
    default_database,
    enter_request,
    leave_request,
    use,
)

# Response bodies that run no code of the application. uWSGI's file wrapper returns the file itself,
# and must get it back. (A union would be built on each request.)
_PASSIVE = (list, tuple, io.IOBase)

_Result = TypeVar("_Result")


class RequestScope:
    """Serves the requests of a site with its database."""

    def __init__(self, database: AccountDatabase) -> None:
        self.database: AccountDatabase = database
        self.is_pooled: bool = isinstance(database, PooledDatabase)

    def released_after(
        self, query: Callable[[WSGIEnvironment], _Result]
    ) -> Callable[[WSGIEnvironment], _Result]:
        """Return `query`, which with a pool then also returns its connection to the pool."""
        if not self.is_pooled:
            return query

        def query_and_release(environ: WSGIEnvironment) -> _Result:
            result = query(environ)
            release_connection(self.database)
            return result

        return query_and_release

    def serve(
        self, respond: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Return the response of `respond`, with this request and database in the context."""
        database = self.database
        uses: DatabaseUses = {}
        app_iter: Iterable[bytes] = ()
        request = database, environ, uses
        token = enter_request(request)
        try:
            app_iter = respond(environ, start_response)
        finally:
            leave_request(token)
            if default_database() is not database:
                use(database)  # for code after the request, such as a test
            if type(app_iter) is not list and _is_streamed(app_iter, environ):
                app_iter = _StreamedResponse(app_iter, self, request)
                release_connection(database)
            elif uses or self.is_pooled:
                self.end_uses(uses)
        return app_iter

    def end_uses(self, uses: DatabaseUses) -> None:
        """Roll back open transactions of the request, and return its connection to the pool."""
        here = threading.get_ident()
        for (each, thread), was_open in list(uses.items()):  # other threads may add items
            if thread == here and not was_open and each.has_open_transaction():
                roll_back_forgotten(each)
        release_connection(self.database)


class _StreamedResponse:
    """A streamed response body, whose code runs in the request; `close` ends its transactions.

    It enters the request for each chunk and leaves it after the chunk, because the server's thread
    can do other work in between, and another thread can ask for the next chunk.
    """

    def __init__(
        self, app_iter: Iterable[bytes], scope: RequestScope, request: ServedRequest
    ) -> None:
        self._app_iter = app_iter
        self._scope = scope
        self._request = request
        self._chunks: Iterator[bytes]

    def __iter__(self) -> Iterator[bytes]:
        token = enter_request(self._request)
        try:
            self._chunks = iter(self._app_iter)
        finally:
            leave_request(token)
        return self

    def __next__(self) -> bytes:
        token = enter_request(self._request)
        try:
            return next(self._chunks)
        finally:
            leave_request(token)
            if self._scope.is_pooled:  # the client decides how long the server sends this chunk
                release_connection(self._scope.database)

    def close(self) -> None:
        """Close the application's response body, then release its connection (PEP 3333)."""
        token = enter_request(self._request)
        try:
            if hasattr(self._app_iter, "close"):
                self._app_iter.close()
        finally:
            leave_request(token)
            self._scope.end_uses(self._request[2])


def _is_streamed(app_iter: Iterable[bytes], environ: WSGIEnvironment) -> bool:
    """Return whether application code can run while the server sends the response."""
    if isinstance(app_iter, _PASSIVE):
        return False
    return type(app_iter) is not environ.get("wsgi.file_wrapper")
