"""The metrics of a million users: `python -m tests.load.million.metrics`.

On SQLite, PostgreSQL and MariaDB, or those that are named: the first scrape, one that counts, and
the others, which get the figures that were counted last.
"""

import logging
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.conftest import HASH
from tests.load.million.requests import as_user
from tests.load.million.site import Asked
from tests.support.mails import MAIL, Post
from tests.support.own_databases import own_database
from tests.support.sites import SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.features.metrics.metrics import PERMISSION
from wsgiauth.figures import LIMIT, Figures
from wsgiauth.mail.outbox import LIFETIME
from wsgiauth.storage.schema import migrate
from wsgiauth.testing import api_key, make_user

KINDS = ("sqlite", "postgresql", "mariadb")
USERS = 1_000_000
REPEATED = 200
MOST = 0.1  # seconds for a scrape after the first
MOMENT = "'2026-01-01 00:00:00'"
NUMBERS = {
    "sqlite": "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {})"
    " SELECT n FROM s)",
    "postgresql": "(SELECT n FROM generate_series(1, {}) AS n)",
    "mariadb": "(SELECT seq AS n FROM seq_1_to_{})",
}
USER = {
    "id": "n",
    **dict.fromkeys(("username", "username_key"), "'user' || n"),
    **dict.fromkeys(("email", "email_key"), "'user' || n || '@example.net'"),
    "hashed_password": f"'{HASH}'",
    "security_stamp": "0",
    "is_active": "n % 50 <> 0",
    **dict.fromkeys(("is_staff", "is_superuser"), "n < 0"),
    "created_at": MOMENT,
    "email_verified_by": "''",
    "language": "''",
    "locks": "0",
}
SESSION = {
    "id": "'session' || n",
    "user_id": "n",
    "created_at": MOMENT,
    "expires_at": "{now} + n % 1000000 - 100000",
    **dict.fromkeys(
        ("stamp", "last_seen_at", "ends_at", "idle", "authenticated_at", "generation"), "0"
    ),
    **dict.fromkeys(("refreshed_at", "unused", "reissued", "reissued_for"), "0"),
    **dict.fromkeys(("methods", "address", "agent"), "''"),
}
APP = {
    "id": "'app' || n",
    "user_id": "n * 5",
    "name": "'Phone'",
    "salt": "'0'",
    "key_id": "''",
    "counter": "0",
    "created_at": "1",
    "confirmed_at": "n % 10",
}
PASSKEY = {
    "id": "'passkey' || n",
    "user_id": "n * 3",
    "name": "'Key'",
    **dict.fromkeys(("credential_id", "public_key", "user_handle", "transports"), "'x'"),
    **dict.fromkeys(("sign_count", "created_at", "last_used_at"), "0"),
    "relying_party": "'example.org'",
    "is_backed_up": "n < 0",
}
EMAIL = {
    "id": "'mail' || n",
    "kind": "'notice'",
    **dict.fromkeys(("name", "language"), "''"),
    "data": """'{{"mount": "/auth", "values": "of an email"}}'""",
    "due_at": "{now} + n",
    "attempts": "0",
    "expires_at": f"{{now}} + {LIFETIME} - n % 3600",
}
SECRET = {
    "id": "'secret' || n",
    "purpose": "'login code'",
    "stamp": "0",
    "data": "'x'",
    "expires_at": "{now} + 600",
}
COUNT = {
    "id": "'count' || n",
    "retry_at": "{now} + n % 100",
    "count": "1",
    "expires_at": "{now} + 1000",
    "kind": "CASE n % 2 WHEN 0 THEN 'name' END",
}
EVENTS = {"minute": "{now} / 60 - n % 2880", "name": "'event' || (n / 2880)", "count": "5"}
TABLES = (
    ("user", USER, USERS),
    ("session", SESSION, USERS),
    ("totp", APP, USERS // 5),
    ("passkey", PASSKEY, USERS // 5),
    ("mail", EMAIL, 100_000),
    ("one_time", SECRET, 100_000),
    ("attempt_count", COUNT, 100_000),
    ("event_count", EVENTS, 50 * 2880 - 1),
)


def main(kinds):
    logging.disable(logging.CRITICAL)
    print(f"{'ms, ' + format(USERS, ',') + ' users':26}{'first':>9}{'counting':>10}{'others':>9}")
    met = [measure(kind) for kind in kinds]
    return 0 if all(met) else 1


def measure(kind):
    """Print how long the scrapes of a database take; return whether they are quick enough."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/accounts.db"
        if kind != "sqlite":
            url = opened.enter_context(own_database(kind, "wsgiauth_metrics"))
        database = storage.open_database(url, prepare=migrate)
        opened.callback(database.close)
        with database.patient(3600):
            fill(kind, database)
        database.close()
        given = {"SECRET_KEY": SECRET_KEY, "DATABASE_URL": url, "METRICS": "on", **MAIL}
        site = AuthMiddleware(echo, Settings.from_mapping(given), send_mail=Post())
        opened.callback(site.database.close)
        site.site.outbox.keep_messages()
        return scrape_all(kind, site)


def fill(kind, database):
    """Insert the rows of all tables, by one statement for each."""
    if kind == "mariadb":
        database.execute_sql("SET sql_mode = 'PIPES_AS_CONCAT', foreign_key_checks = 0")
    now = int(time.time())
    for table, row, number in TABLES:
        values = ", ".join(row.values()).replace("{{", "{").replace("}}", "}")
        values = values.replace("{now}", str(now))
        if kind == "mariadb":
            values = values.replace(" / ", " DIV ")
        if kind == "postgresql":
            values = values.replace(MOMENT, f"timestamp {MOMENT}")
        rows = NUMBERS[kind].format(number)
        sql = f"INSERT INTO wsgiauth_{table} ({', '.join(row)}) SELECT {values} FROM {rows} AS r"  # noqa: S608
        with database.atomic():
            database.execute_sql(sql.replace("%", "%%") if kind != "sqlite" else sql)
    if kind == "postgresql":
        database.execute_sql("SELECT setval('wsgiauth_user_id_seq', MAX(id)) FROM wsgiauth_user")
        database.execute_sql("VACUUM ANALYZE")
    else:
        database.execute_sql("ANALYZE" if kind == "sqlite" else "ANALYZE TABLE wsgiauth_user")


def scrape_all(kind, site):
    """Print the times, with the figures that take longest; return whether they are short."""
    asked = Asked(site)
    user = make_user(site, "meter", permissions=[PERMISSION])
    key = api_key(site, user, [PERMISSION])["Authorization"].removeprefix("Bearer ")

    def scrape():
        return asked.ask("GET", "/auth/metrics", **as_user(key))[0]

    figures = site.site.require(Figures)
    first = scrape()
    figures._began_at = -1e9  # forgets that it has counted
    counting = scrape()
    others = sorted(scrape() for _ in range(REPEATED))
    slowest = others[-1 - REPEATED // 100]
    times = first, counting, statistics.median(others)
    print(f"{kind:26}" + "".join(f"{each * 1000:{9 + n % 2}.1f}" for n, each in enumerate(times)))
    with asked.using():
        by_name = {each.name: time_of(each) for each in figures.declared}
    longest = sorted(by_name.items(), key=lambda each: -each[1])[:4]
    print("  " + ", ".join(f"{name} {seconds * 1000:.0f}" for name, seconds in longest), flush=True)
    return slowest <= MOST and counting <= LIMIT + 0.1


def time_of(figure):
    begun = time.perf_counter()
    figure.measure(int(time.time()))
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or KINDS))
