"""What a million users cost on PostgreSQL, beside ten thousand: `make measure NAME=million`.

It creates two databases on the server of the tests, or of TEST_POSTGRESQL, and drops them at the
end: 6 GB. Everything is sent to both in turn, for users all over the tables, without HTTP and with
`BCRYPT_ROUNDS=4`, so that hashing does not hide the database. The large one should fit into
`shared_buffers`; otherwise, most of the difference is that its pages have to be read. The program,
the site and the database share the processors. docs/capacity.md has some of the medians.
"""

import logging
import os
import platform
import sys
from contextlib import ExitStack, contextmanager
from datetime import date

import peewee

from tests.load.million import purging
from tests.load.million.comparing import compare_all
from tests.load.million.fill import add_mails, fill
from tests.load.million.requests import MEASURED
from tests.load.million.site import Filled
from tests.support.own_databases import own_database
from wsgiauth import storage
from wsgiauth.storage.schema import migrate

SMALL, LARGE = 10_000, 1_000_000  # users
WAITING = {SMALL: 1_000, LARGE: 100_000}  # emails


def main():
    logging.disable(logging.CRITICAL)
    with ExitStack() as opened:
        small, large = (Filled(opened.enter_context(filled(n)), n) for n in (SMALL, LARGE))
        opened.callback(small.close)
        opened.callback(large.close)
        report_server(large)
        report_sizes(large)
        print(f"\n{'ms':42}{SMALL:>9,}{LARGE:>11,}{'times':>7}")
        is_met = compare_all(MEASURED, small, large)
        is_met &= purging.measure(large)
    return 0 if is_met else 1


@contextmanager
def filled(users):
    """Create a database with so many users, and drop it; yields its URL."""
    with own_database("postgresql", f"wsgiauth_million_{users}") as url:
        database = storage.open_database(url, prepare=migrate)
        with database.patient(3600):
            fill(database, users)
            add_mails(database, WAITING[users])
            warm_up(database)
        yield url


def warm_up(database):
    """Read all pages once, as a server has after a while; needs an extension of PostgreSQL's."""
    try:
        database.execute_sql("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
    except peewee.DatabaseError:
        print("pg_prewarm is not installed: pages are read while others are measured")
        return
    database.execute_sql(
        "SELECT SUM(pg_prewarm(oid)) FROM pg_class"
        " WHERE relname LIKE 'wsgiauth%%' AND relkind IN ('r', 'i')"
    )


def report_server(site):
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, {date.today()}")
    names = "server_version", "shared_buffers", "fsync", "synchronous_commit"
    for name in names:
        print(f"{name}: {site.database.execute_sql(f'SHOW {name}').fetchone()[0]}")


def report_sizes(site):
    """Print how much the tables and their indexes take."""
    found = site.database.execute_sql(
        "SELECT relname, reltuples::bigint, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class"
        " WHERE relname LIKE 'wsgiauth%%' AND relkind = 'r' ORDER BY pg_total_relation_size(oid)"
        " DESC"
    )
    print(f"\n{'table':28}{'rows':>12}{'table, MB':>11}{'indexes, MB':>13}{'bytes a row':>13}")
    for table, rows, size, indexes in found.fetchall():
        if rows >= LARGE / 100:
            each = (size + indexes) / rows
            print(f"{table:28}{rows:12,}{size / 1e6:11,.0f}{indexes / 1e6:13,.0f}{each:13,.0f}")
    size = site.database.execute_sql("SELECT pg_database_size(current_database())").fetchone()[0]
    print(f"The database takes {size / 1e9:.1f} GB.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
