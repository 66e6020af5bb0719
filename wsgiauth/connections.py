"""What is true of a connection to any database: how it fails, and how it is given up."""

import sqlite3

import peewee
from playhouse import pool

# What a database raises when it is unreachable, busy past its timeout, full or damaged. Peewee lets
# through what SQLite raises while rows are fetched.
FAILURES = (peewee.DatabaseError, peewee.InterfaceError, pool.MaxConnectionsExceeded, sqlite3.Error)

BUSY_TIMEOUT = 5  # seconds to wait for a lock: SQLite's write lock, a server's row or table


def reason_of(failure: Exception) -> str:
    """Return why a database failed, in one line that shows none of its rows."""
    # PostgreSQL's second line may show the row that it refused, hash and all.
    return (str(failure).strip().splitlines() or [""])[0].strip()


def discard_connection(database: peewee.Database) -> None:
    """Close this thread's connection for good, broken or not; the next query makes a new one.

    One with a transaction on it is left to whoever opened that, and will meet the same fault.
    """
    if database.in_transaction():
        return
    if isinstance(database, pool.PooledDatabase):
        database.manual_close()  # type: ignore[no-untyped-call]
    else:
        database.close()
