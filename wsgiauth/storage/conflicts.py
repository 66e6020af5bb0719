"""Conflicts between transactions, which MariaDB ends: it rolls one of them back.

On one server, that is a deadlock. In a Galera cluster, it is also a change of the same rows that
another node has committed first: the loser learns it from any statement, or from COMMIT.

What is repeated, and why that is safe:

- A statement outside a transaction (`mariadb.MariaDB.execute_sql`): nothing of it was executed. So
  the counts of attempts, which all logins from one address change, are complete.
- A function with `repeated_after_conflict`, whose only effect is one transaction: the whole of it.
  It reads again whatever it decides by. Its events and emails follow the commit, so what was
  rolled back has caused none. In another transaction, it is not repeated, because that is gone.

All else is answered with 503, which clients may repeat: a transaction with code of the application,
which can have any effect, and changes of objects, which do not know any more what they have to
write. Neither is a COMMIT repeated whose result is unknown, because a connection was lost.
"""

from collections.abc import Callable
from functools import wraps
from time import monotonic
from typing import ParamSpec, TypeVar

import peewee

from wsgiauth.storage import context
from wsgiauth.storage.connections import BUSY_TIMEOUT

_DEADLOCK = 1213  # an error number
_NO_SAVEPOINT = 1305  # in a transaction, after a deadlock, which has ended all savepoints

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def is_conflict(error: peewee.OperationalError) -> bool:
    """Return whether the server has rolled back a transaction, or a statement, for another one."""
    return error.args[:1] in ((_DEADLOCK,), (_NO_SAVEPOINT,))


def repeat(action: Callable[[], _Result]) -> _Result:
    """Return what `action` returns; repeat it after conflicts, as long as it could wait for locks.

    In a conflict, one wins. So however many there are at once, they go on, one after the other.
    """
    end = monotonic() + BUSY_TIMEOUT
    while True:
        try:
            return action()
        except peewee.OperationalError as error:
            if not is_conflict(error) or monotonic() > end:
                raise


def repeated_after_conflict(
    change: Callable[_Parameters, _Result],
) -> Callable[_Parameters, _Result]:
    """Let a function be repeated whose only effect is one transaction."""

    @wraps(change)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        database = context.database()
        if database is None or database.in_transaction():
            return change(*args, **kwargs)
        return repeat(lambda: change(*args, **kwargs))

    return call
