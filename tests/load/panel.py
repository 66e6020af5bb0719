"""What the pages of the staff panel cost at a thousand users and at a million.

Run by `make measure NAME=panel`, or by hand with the URLs of two empty databases on a server,
which are left with the users: `python -m tests.load.panel postgresql://postgres@127.0.0.1/small
postgresql://postgres@127.0.0.1/large`. Prints the plans of the queries at a million, and the times,
measured in turn.
"""

import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import combinations
from tempfile import TemporaryDirectory

import peewee
from webtest import TestApp

from tests.conftest import HASH
from tests.support.sites import BROWSER, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership
from wsgiauth.storage import context
from wsgiauth.storage.schema import migrate
from wsgiauth.testing import bearer, make_user

SMALL, LARGE = 1_000, 1_000_000
REPEATED, REPEATED_SEARCH = 25, 5
LIMIT = 3  # times, for an order of all users
SECONDS = 2.5  # for a search or filters, which end after two seconds
DAY = datetime(2026, 1, 1, tzinfo=UTC)
FIRST_NAMES = ("ada", "bo", "chen", "dara", "eve", "finn", "grace", "hal", "ines", "jo")

RARE = "active=no&superuser=yes"
PAGES = {
    "the newest": "",
    "the middle": "after=-created:{middle}",
    "the last": "after=-created:40",
    "a common part": "q=a",
    "a domain": "q=example.org",
    "a rare part": "q={rare}",
    "a rare part, by email": "q={rare}&sort=email",
    "a domain after an at sign": "q=@example.org",
    "a rare domain": "q=rare.example",
    "a rare domain after an at sign": "q=@rare.example",
    "no such part": "q=nobody",
    "the middle of a search": "q=e&after=-created:{middle}",
    "inactive": "active=no",
    "active": "active=yes",
    "staff": "staff=yes",
    "superusers": "superuser=yes",
    "verified": "verified=yes",
    "not verified": "verified=no",
    "logged in": "seen=ever",
    "never logged in": "seen=never",
    "the middle of never logged in": "seen=never&after=-created:{middle}",
    "a common part, staff": "q=a&staff=yes",
    "a common part, not verified": "q=a&verified=no",
    "two filters, one of them rare": RARE,
    "two filters that exclude each other": "verified=yes&seen=never",
    "a group of the older half": "group=1",
    "a common part in the group": "q=a&group=1",
}

SORTS = ("created", "username", "-username", "email", "-email", "last_login", "-last_login")
PAGES |= {f"by {each}": f"sort={each}" for each in SORTS}
PAGES |= {f"two filters, one of them rare, by {each}": f"{RARE}&sort={each}" for each in SORTS}
PAGES |= {f"active, by {each}": f"active=yes&sort={each}" for each in SORTS}

FILTERS = (
    *("q=a", "q=e", "active=yes", "active=no", "staff=yes", "staff=no", "superuser=yes"),
    *("superuser=no", "verified=yes", "verified=no", "seen=ever", "seen=never", "group=1"),
)


def main():
    pages = set(PAGES.values()) | {
        "&".join(each)
        for size in (2, 3)
        for each in combinations(FILTERS, size)
        if len({one.partition("=")[0] for one in each}) == size
    }
    with TemporaryDirectory() as folder, ExitStack() as opened:
        urls = sys.argv[1:] or [f"sqlite:///{folder}/{each}.db" for each in ("small", "large")]
        small, large = (open_site(url) for url in urls)
        for site, number in ((small, SMALL), (large, LARGE)):
            opened.callback(storage.discard_connection, site.database)
            with context.using(site.database):
                fill(site, number)
        print_plans(large)
        measured = sorted((compare(small, large, page) for page in pages), reverse=True)
    print(f"\n{'times':>6}{SMALL:>12,}{LARGE:>15,}")
    for ratio, *times, page in measured:
        shown = "".join(f"{each * 1000:12.2f} ms" for each in times)
        if page in PAGES.values() or is_too_slow(ratio, times[-1], page):
            print(f"{ratio:6.2f}{shown}  {page or 'the newest'}")
    too_slow = sum(is_too_slow(ratio, slow, page) for ratio, _, slow, page in measured)
    print(f"of {len(measured)} pages, {too_slow} are too slow")


def is_order(page):
    """Return whether a page has neither a search nor a filter."""
    return page.partition("=")[0] in ("", "after", "sort")


def is_too_slow(ratio, slow, page):
    return ratio > LIMIT if is_order(page) else slow > SECONDS


def compare(small, large, page):
    """Return how many times as long a page takes at a million, and its times, and the page."""
    get_small, get_large = getter(small, SMALL, page), getter(large, LARGE, page)
    repeated = REPEATED if is_order(page) else REPEATED_SEARCH
    pairs = [(get_small(), get_large()) for _ in range(repeated)]
    fast, slow = (min(times) for times in zip(*pairs, strict=True))
    return slow / fast, fast, slow, page


def getter(site, number, page):
    """Return a function that gets a page as HTML, and returns how long that took."""
    client = TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]}, lint=False)
    url = url_of(page, number)
    with context.using(site.database):
        headers = bearer(site, User.get(User.username == "boss"))

    def get():
        start = time.process_time() if is_sqlite(site) else time.perf_counter()
        client.get(url, headers=headers, status=200)
        return (time.process_time() if is_sqlite(site) else time.perf_counter()) - start

    return get


def open_site(url):
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    storage.discard_connection(storage.open_database(url, prepare=migrate))
    return AuthMiddleware(echo, settings)


def fill(site, number):
    """Insert users of many kinds, up to a number."""
    if User.get_or_none(User.username == "boss") is None:
        make_user(site, "boss", is_staff=True, is_superuser=True)
    start = User.select().count()
    print(f"inserting {number - start:,} users", flush=True)
    fields = list(row_of(0))
    for first in range(start, number, 2000):
        rows = [tuple(row_of(each).values()) for each in range(first, min(first + 2000, number))]
        with site.database.atomic():
            User.insert_many(rows, fields).execute()
    if Group.get_or_none(Group.name == "Old") is None:
        group = Group.objects.create(name="Old")
        older = User.select(peewee.Value(group.id), User.id).where(User.id <= number // 2)
        Membership.insert_from(older, [Membership.group, Membership.user]).execute()
    tables = " TABLE wsgiauth_user, wsgiauth_membership" if is_mariadb(site) else ""
    site.database.execute_sql(f"ANALYZE{tables}")


def row_of(number):
    name = f"{FIRST_NAMES[number % 10]}.{number}"
    return {
        "username": name,
        "username_key": name,
        "email": email_of(name, number),
        "email_key": email_of(name, number),
        "hashed_password": HASH,
        "is_active": number % 18 != 0,
        "is_staff": number % 15 == 1,
        "is_superuser": number % 17 == 1,
        "email_verified_at": DAY + timedelta(hours=number % 5000) if number % 2 else None,
        "last_login_at": DAY + timedelta(hours=number % 3000) if number % 2 else None,
    }


def email_of(name, number):
    if number % 50_000 == 7:
        return f"{name}@rare.example"
    return f"{name}@example.org" if number % 3 else f"mail{number}@example.net"


def is_mariadb(site):
    return isinstance(site.database, peewee.MySQLDatabase)


def is_sqlite(site):
    return isinstance(site.database, peewee.SqliteDatabase)


def url_of(page, number):
    query = page.format(middle=number // 2, rare=f"grace.{number // 10 * 10 - 4}")
    return f"/auth/admin/users?{query}"


def print_plans(site):
    """Print how the database reads the users of each page."""
    explain = "EXPLAIN QUERY PLAN " if is_sqlite(site) else "EXPLAIN "
    with context.using(site.database):
        headers = bearer(site, User.get(User.username == "boss"))
    client = TestApp(site, lint=False)
    execute = site.database.execute_sql
    for name, page in PAGES.items():
        sent = []

        def record(sql, params=None, sent=sent):
            sent.append((sql, params))
            return execute(sql, params)

        site.database.execute_sql = record
        client.get(url_of(page, LARGE), headers=headers)
        site.database.execute_sql = execute
        print(f"\n{name}:")
        for sql, params in sent:
            if "username_key" in sql or "LIMIT" in sql:
                for row in execute(explain + sql, params).fetchall():
                    print("   ", row[-1] if len(row) < 5 else row)


if __name__ == "__main__":
    main()
