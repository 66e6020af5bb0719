"""The plans of databases with many rows."""

import re

from tests.support.plans import EXPLAINED, whole_reads

TABLES = ("user", "session", "oauth_client", "oauth_consent", "oauth_grant")
_LARGE = frozenset(f"wsgiauth_{each}" for each in TABLES)
_ALIAS = re.compile(r"[`\"](wsgiauth_\w+)[`\"] AS [`\"](t\d+)[`\"]")


def scanned(kind, database, statements):
    """Return the SQL of each statement that reads a large table as a whole, with the tables."""
    found = {}
    for each in statements:
        if each.sql.startswith(EXPLAINED):
            names = dict(map(reversed, _ALIAS.findall(each.sql)))
            tables = {names.get(t, t) for t in _SCANNED[kind](database, each.sql, each.parameters)}
            if tables & _LARGE:
                found[each.sql] = tables & _LARGE
    return found


def _in_sqlite(database, sql, parameters):
    rows = database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall()
    return [detail.split()[1] for *_, detail in rows if detail.startswith("SCAN ")]


def _in_mariadb(database, sql, parameters):
    rows = database.execute_sql(f"EXPLAIN {sql}", parameters).fetchall()
    return [
        table
        for _, kind, table, access, *_ in rows
        if kind != "INSERT" and access in ("ALL", "index")
    ]


_SCANNED = {"sqlite": _in_sqlite, "postgresql": whole_reads, "mariadb": _in_mariadb}
