"""Repeat changes after a conflict, in which MariaDB rolls back one of two transactions.

On one server, a conflict is a deadlock. In a Galera cluster, it is also a change of the same rows
that another node committed first. Any statement can report it, also COMMIT.

Two things are safe to repeat:

- A statement outside a transaction (`mariadb.MariaDB.execute_sql`), because nothing was executed.
- A function with `repeated_after_conflict`, whose only effect is one transaction. It reads again
  all that it decides by, and its events and emails follow the commit. Inside another transaction,
  it is not repeated, because the conflict has ended that one.

Everything else is answered with 503. A transaction with code of the application can have any
effect, a changed object no longer knows which fields to write, and after a lost connection the
result of a COMMIT is unknown.
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
    """Return whether the server has rolled back a transaction or a statement for another one."""
    return error.args[:1] in ((_DEADLOCK,), (_NO_SAVEPOINT,))


def repeat(action: Callable[[], _Result]) -> _Result:
    """Call `action`, and repeat it after conflicts, as long as it could wait for locks.

    Each conflict has a winner, so any number of concurrent actions complete one after the other.
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
    """Repeat a function, whose only effect is one transaction, after conflicts.

    Example:
        @repeated_after_conflict
        def take_all(user: User) -> None:
            with database.atomic():
                Badge.delete().where(Badge.user == user.id).execute()
    """

    @wraps(change)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        database = context.database()
        if database is None or database.in_transaction():
            return change(*args, **kwargs)
        return repeat(lambda: change(*args, **kwargs))

    return call
