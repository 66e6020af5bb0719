"""The request and the database of the current context (thread, greenlet).

`_request` holds the request until the application returns, and while its response is streamed.
`_default_database` holds the database of all other code, such as scripts and tests.
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

# `using` replaces the database, also outside requests.
ServedRequest = tuple[peewee.Database, WSGIEnvironment, DatabaseUses]
_Request = tuple[peewee.Database | None, WSGIEnvironment | None, DatabaseUses | None]

_request: ContextVar[_Request] = ContextVar("wsgiauth.request", default=(None, None, None))
_default_database: ContextVar[peewee.Database | None] = ContextVar(
    "wsgiauth.default_database", default=None
)

# The context variables' own methods, for speed, because every request calls them. After
# `token = enter_request((database, environ, {}))`, `leave_request(token)` restores the previous
# value, which for a nested request is the outer one.
current_request = _request.get
enter_request = _request.set
leave_request = _request.reset
default_database = _default_database.get


def use(database: peewee.Database) -> None:
    """Make `database` the database of this context outside requests."""
    _default_database.set(database)


@contextmanager
def using(database: peewee.Database | None) -> Iterator[None]:
    """Make `database` the database of this context in a `with` block; None changes nothing."""
    before, environ, uses = _request.get()
    token = _request.set((database or before, environ, uses))
    try:
        yield
    finally:
        _request.reset(token)


def database() -> peewee.Database | None:
    """Return the database of this context, or None."""
    return _request.get()[0] or _default_database.get()


def client_address() -> str | None:
    """Return the address of the client; None outside a request."""
    environ = _request.get()[1]
    return None if environ is None else clients.client_address(environ)
