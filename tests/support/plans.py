"""How PostgreSQL would execute statements on tables with a million rows."""

from contextlib import contextmanager

MANY, FEW = 1_000_000, 100  # rows

# Tables whose size is up to the operator, and not to the number of users.
SMALL = ("wsgiauth_group", "wsgiauth_group_permission", "wsgiauth_migration")

EXPLAINED = ("SELECT", "UPDATE", "DELETE", "INSERT")
_INDEX_SCANS = ("Index Scan", "Index Only Scan", "Bitmap Index Scan")
_EQUAL = (" = ", " IS NULL")

# They read all of what is below them, before a limit can end it.
_GREEDY = ("Sort", "Aggregate", "Hash", "Group")

# Of a column with numbers of other rows: few rows have the same. Nothing else is known.
_STATISTIC = (
    "INSERT INTO pg_statistic SELECT attrelid, attnum, false, 0, 8, -0.3, 0, 0, 0, 0, 0,"
    " 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM pg_attribute WHERE attrelid IN"
    " (SELECT oid FROM pg_class WHERE relname LIKE 'wsgiauth%%' AND relkind = 'r')"
    " AND attname LIKE '%%\\_id' AND attnum > 0"
)


# Few users have rights. Otherwise, the planner would find any of them soon in the table itself, if
# that has few pages, as after a vacuum.
_RIGHTS = (
    "INSERT INTO pg_statistic SELECT attrelid, attnum, false, 0, 1, 2, 1, 0, 0, 0, 0,"
    " (SELECT oid FROM pg_operator WHERE oprname = '=' AND oprleft = 'bool'::regtype"
    " AND oprright = 'bool'::regtype), 0, 0, 0, 0, 0, 0, 0, 0, 0, '{0.999}'::real[],"
    " NULL, NULL, NULL, NULL,"
    " array_in('{f}'::cstring, 'bool'::regtype, -1) FROM pg_attribute WHERE attrelid ="
    " 'wsgiauth_user'::regclass AND attname IN ('is_superuser', 'is_staff')"
)


@contextmanager
def forged_sizes(database):
    """Let the planner believe that the tables are large; nothing of it stays."""
    with database.atomic() as transaction:
        database.execute_sql("DELETE FROM pg_statistic")
        database.execute_sql(_STATISTIC)
        database.execute_sql(_RIGHTS)
        database.execute_sql(
            "UPDATE pg_class SET relpages = pg_relation_size(oid) / 8192,"
            " reltuples = CASE WHEN relname = ANY(%s) THEN %s ELSE %s END"
            " WHERE relname LIKE 'wsgiauth%%' AND relkind = 'r'",
            (list(SMALL), FEW, MANY),
        )
        yield
        transaction.rollback()


def whole_reads(database, sql, parameters):
    """Return what a statement can read as a whole: a table, itself or in an index; or `part of` it.

    `part of` is a range of an index in which rows are passed over. A part of an index that is
    ordered and limited is nothing, if no row of it is passed over.
    """
    if not sql.startswith(EXPLAINED):
        return set()
    cursor = database.execute_sql(f"EXPLAIN (FORMAT JSON) {sql}", parameters)
    ((plan,),) = cursor.fetchone()
    return set(_reads(plan["Plan"], is_limited=False))


def _reads(node, *, is_limited):
    kind = node["Node Type"]
    table = node.get("Relation Name") or node.get("Index Name", "")
    if table.startswith("wsgiauth_") and table not in SMALL:
        if kind == "Seq Scan" or (kind in _INDEX_SCANS and _reads_all(node, is_limited)):
            yield table
        elif kind in _INDEX_SCANS and "Index Cond" in node and _reads_range(node, is_limited):
            yield f"part of {table}"
    is_limited = kind == "Limit" or (is_limited and kind not in _GREEDY)
    for each in node.get("Plans", ()):
        yield from _reads(each, is_limited=is_limited)


def _reads_all(node, is_limited):
    return "Index Cond" not in node and ("Filter" in node or not is_limited)


def _reads_range(node, is_limited):
    is_range = not any(each in node["Index Cond"] for each in _EQUAL)
    return is_range and ("Filter" in node or not is_limited)
