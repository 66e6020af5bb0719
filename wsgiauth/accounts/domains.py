"""Users by the domain of their email address, which an index of each database finds.

The index has an expression instead of a column that wsgiauth would write, so that processes of the
version before cannot leave it outdated. MariaDB has no such index, but one of a virtual column.
"""

from typing import Any

import peewee

from wsgiauth import storage
from wsgiauth.accounts import names

# As in the migration: PostgreSQL and SQLite compare the text of the expression.
_POSTGRESQL = "split_part(email_key, '@', 2)"
_SQLITE = "substr(email_key, instr(email_key, '@') + 1)"
_MARIADB = "email_domain"


def domain_of(text: str) -> str:
    """Return the domain in `example.org` or `@example.org`, as it is compared; empty if none is."""
    email = f"x@{text.removeprefix('@')}"
    return "" if names.email_problem(email) else names.key(email).partition("@")[2]


def is_at(domain: str) -> Any:
    """Return the condition that the address of a `User` is at a domain."""
    return peewee.NodeList((peewee.SQL(f"{_expression()} ="), peewee.Value(domain)))


def _expression() -> str:
    database = storage.current()
    if isinstance(database, peewee.MySQLDatabase):
        return _MARIADB
    return _SQLITE if isinstance(database, peewee.SqliteDatabase) else _POSTGRESQL
