"""The database and the request of the current context (thread, greenlet).

`middleware` sets them for each request; scripts and tests set the database themselves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from wsgiref.types import WSGIEnvironment

import peewee

from wsgiauth.web import clients

# The key is a database that the request has used (`connections.AccountDatabase`) and the thread
# that owns the connection. The value is whether the connection was in a transaction before. Threads
# to which the application passes its context share the dictionary.
DatabaseUses = dict[tuple[Any, int], bool]

_Serving = tuple[peewee.Database | None, WSGIEnvironment | None, DatabaseUses | None]

# During a request: the site's database, the request's environ, and the databases that it has used.
_serving: ContextVar[_Serving] = ContextVar("wsgiauth.serving", default=(None, None, None))
# After the request, for a response that is still being streamed; and outside requests.
_default: ContextVar[peewee.Database | None] = ContextVar("wsgiauth.default", default=None)

# The context variable's own methods, for speed, because every request calls them: `entered =
# enter((database, environ, {}))`, then `leave(entered)`, which restores the previous value. That
# can be another request, if the application made this one while it served that one.
enter = _serving.set
leave = _serving.reset

last_used = _default.get  # the database that `use` set last in this context


def use(database: peewee.Database) -> None:
    """Make `database` the database of this context outside requests."""
    _default.set(database)


@contextmanager
def using(database: peewee.Database | None) -> Iterator[None]:
    """Make `database` the database of this context in a `with` block; None changes nothing."""
    before, environ, uses = _serving.get()
    token = _serving.set((database or before, environ, uses))
    try:
        yield
    finally:
        _serving.reset(token)


def database() -> peewee.Database | None:
    """Return the database of this context, or None."""
    return _serving.get()[0] or _default.get()


def client_address() -> str | None:
    """Return the address of the client that sent this request; None outside a request."""
    environ = _serving.get()[1]
    return None if environ is None else clients.client_address(environ)


def database_uses() -> DatabaseUses | None:
    """Return the databases that this request has used; None outside a request."""
    return _serving.get()[2]
