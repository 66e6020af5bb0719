"""The account database during a request, and while its response is streamed.

On the way of a request, this module comes first: it surrounds `AuthMiddleware.__call__`. Afterwards
no transaction of the request is open, and a pool has its connection back.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar
from wsgiref.types import StartResponse, WSGIEnvironment

from playhouse.pool import PooledDatabase

from wsgiauth.storage import release_connection
from wsgiauth.storage.connections import AccountDatabase, roll_back_forgotten
from wsgiauth.storage.context import (
    DatabaseUses,
    default_database,
    enter_request,
    leave_request,
    use,
)

_SEQUENCES = (list, tuple)  # `list | tuple` would be built on each request

_Result = TypeVar("_Result")


class RequestScope:
    """What every request does with the account database, decided once.

    Args:
        database: The account database.
    """

    def __init__(self, database: AccountDatabase) -> None:
        self.database: AccountDatabase = database
        self.is_pooled: bool = isinstance(database, PooledDatabase)

    def released_after(
        self, query: Callable[[WSGIEnvironment], _Result]
    ) -> Callable[[WSGIEnvironment], _Result]:
        """Return `query`; with a pool, it then also returns its connection to the pool."""
        if not self.is_pooled:
            return query

        def query_and_release(environ: WSGIEnvironment) -> _Result:
            result = query(environ)
            release_connection(self.database)
            return result

        return query_and_release

    def end_uses(
        self, app_iter: Iterable[bytes], environ: WSGIEnvironment, uses: DatabaseUses
    ) -> Iterable[bytes]:
        """Roll back what the request left open, for a streamed response when it is closed."""
        left_open = _left_open(uses) if uses else []
        if (left_open or self.is_pooled) and _is_streamed(app_iter, environ):
            own = self.database, threading.get_ident()
            ongoing = {own: self.database.has_open_transaction(), **uses}
            app_iter = _StreamedResponse(app_iter, self.database, ongoing)
        elif left_open:
            _roll_back(left_open)
        release_connection(self.database)
        return app_iter


class _HasScope(Protocol):
    @property
    def scope(self) -> RequestScope: ...


_Site = TypeVar("_Site", bound=_HasScope)
_Method = Callable[[_Site, WSGIEnvironment, StartResponse], Iterable[bytes]]


def in_request_scope(respond: _Method[_Site]) -> _Method[_Site]:
    """Run a WSGI method in the `scope` of its object.

    While the method runs, the database and the request are those of the context. Afterwards, what
    it left open is closed.
    """

    @functools.wraps(respond)
    def serve(
        site: _Site, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        scope = site.scope
        uses: DatabaseUses = {}
        app_iter: Iterable[bytes] = ()
        token = enter_request((scope.database, environ, uses))
        try:
            app_iter = respond(site, environ, start_response)
        finally:
            leave_request(token)
            if default_database() is not scope.database:
                use(scope.database)  # for a response that is still being streamed
            if uses or scope.is_pooled:
                app_iter = scope.end_uses(app_iter, environ, uses)
        return app_iter

    return serve


class _StreamedResponse:
    """A streamed response body; when the server closes it, its transactions end.

    Args:
        app_iter: The application's response body.
        database: The account database, whose connection goes back to its pool, if it has one.
        uses: The databases whose open transactions are rolled back.
    """

    def __init__(
        self, app_iter: Iterable[bytes], database: AccountDatabase, uses: DatabaseUses
    ) -> None:
        self._app_iter = app_iter
        self._database = database
        self._uses = uses

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._app_iter)

    def close(self) -> None:
        """Close the application's response body, then release its connection (PEP 3333)."""
        try:
            if hasattr(self._app_iter, "close"):
                self._app_iter.close()
        finally:
            _roll_back(_left_open(self._uses))
            release_connection(self._database)


def _is_streamed(app_iter: Iterable[bytes], environ: WSGIEnvironment) -> bool:
    """Return whether application code can run while the server sends the response."""
    if isinstance(app_iter, _SEQUENCES):
        return False
    return type(app_iter) is not environ.get("wsgi.file_wrapper")


def _roll_back(left_open: list[Any]) -> None:
    for each in left_open:
        roll_back_forgotten(each)


def _left_open(uses: DatabaseUses) -> list[Any]:
    """Return the databases in which the request left a transaction of this thread open."""
    here = threading.get_ident()
    found = []
    for (each, thread), was_open in list(uses.items()):  # other threads may add items
        if thread == here and not was_open and each.has_open_transaction():
            found.append(each)
    return found
