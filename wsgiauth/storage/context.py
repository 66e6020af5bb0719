"""What is being served in this context (thread, greenlet): from which database, for which client.

Set by `middleware` on every request, and by whoever works outside one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from wsgiref.types import WSGIEnvironment

import peewee

from wsgiauth.web import clients

# By each database that a request has used (`connections.AccountDatabase`) and the thread that did,
# whose connection it is: whether the connection was in a transaction before. Threads to which the
# application hands its context share the dictionary.
DatabaseUses = dict[tuple[Any, int], bool]

_Serving = tuple[peewee.Database | None, WSGIEnvironment | None, DatabaseUses | None]

# While a request is answered: the site's database, the request, and what it has used.
_serving: ContextVar[_Serving] = ContextVar("wsgiauth.serving", default=(None, None, None))
# Afterwards, for an answer that is only now being streamed.
_left_behind: ContextVar[peewee.Database | None] = ContextVar("wsgiauth.left_behind", default=None)

# The ways in and out of a request, raw, for every request goes through them: `entered =
# enter((database, environ, {}))`, then `leave(entered)`, which brings back what was there before:
# another request, perhaps, within which this one was made.
enter = _serving.set
leave = _serving.reset

last_used = _left_behind.get  # the database that the last request here left behind


def use(database: peewee.Database) -> None:
    """Make `database` the one of this context, until another is."""
    _left_behind.set(database)


@contextmanager
def using(database: peewee.Database | None) -> Iterator[None]:
    """Make `database` the one of this context for a while; None leaves it as it is."""
    before, environ, uses = _serving.get()
    token = _serving.set((database or before, environ, uses))
    try:
        yield
    finally:
        _serving.reset(token)


def database() -> peewee.Database | None:
    """Return the database of this context, or None where it has none."""
    return _serving.get()[0] or _left_behind.get()


def client_address() -> str | None:
    """Return the address of the client whose request this context answers; None outside any."""
    environ = _serving.get()[1]
    return None if environ is None else clients.client_address(environ)


def database_uses() -> DatabaseUses | None:
    """Return the databases that the request of this context has used; None outside any request."""
    return _serving.get()[2]
