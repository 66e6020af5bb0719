"""What changes of an account cost PostgreSQL's primary, which alone can write.

On a server of our own, where nobody else writes. Bytes of WAL are what the primary writes to its
disk and sends to each standby; without full images of pages, which depend on the checkpoints.
"""

import os
import tempfile
import time
from pathlib import Path

from webtest import TestApp

from tests.conftest import HASH_OF_PASSWORD
from tests.load.bench import print_table
from tests.load.bench.sites import Site
from tests.support.private_servers import PrivateServer
from tests.support.sites import PASSWORD, echo
from wsgiauth import storage
from wsgiauth.storage.schema import migrate

PEOPLE = 10_000
TIMES = 500
IDLE = 3600  # seconds
TICKS = os.sysconf("SC_CLK_TCK")  # in a second
UNLIMITED = {
    "HASHING_PER_ADDRESS": 0,
    "LOGIN_FAILURES_PER_ADDRESS": 1_000_000,  # counted, but not refused
    "REGISTRATIONS_PER_ADDRESS": 1_000_000,
}
OTHER_PASSWORD = "four other words"


class Server(PrivateServer):
    """A server that waits for its disk, as in production."""

    options = ("-c", "fsync=on", "-c", "full_page_writes=off", "-c", "shared_buffers=256MB")


def report(_folder):
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="wsgiauth-") as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "server").mkdir()
        server = Server("postgresql", Path(folder) / "server")
        try:
            rows = _costs(server.url)
        finally:
            server.crash()
    print(f"\nWhat {TIMES} changes of as many users cost the primary, each")
    print_table(
        ("change", "statements", "waits for the disk", "bytes of WAL", "µs of its processor"), *rows
    )


def _costs(url):
    storage.discard_connection(storage.open_database(url, prepare=migrate))
    site = Site(url, echo, PEOPLE, idle=IDLE, BCRYPT_ROUNDS=4, **UNLIMITED)
    database = site.app.database
    database.execute_sql("UPDATE wsgiauth_user SET hashed_password = %s", (HASH_OF_PASSWORD,))
    database.execute_sql(
        "UPDATE wsgiauth_session SET expires_at = %s, ends_at = %s",
        (int(time.time()) + IDLE // 2, int(time.time()) + 10 * IDLE),
    )
    database.execute_sql("SELECT setval('wsgiauth_user_id_seq', %s)", (PEOPLE,))
    database.execute_sql("VACUUM ANALYZE")
    meter = _Meter(database)
    costs = [(name, *meter.measure(action)) for name, action in _actions(site).items()]
    storage.discard_connection(database)
    return costs


def _actions(site):
    """Return functions of a number; those after the first two continue with its login."""
    client = TestApp(site.app, extra_environ={"REMOTE_ADDR": "192.0.2.1"}, lint=False)
    tokens = site.tokens(TIMES)
    logins = {}

    def post(path, number=None, status=200, **fields):
        headers = {}
        if number is not None:
            headers["Authorization"] = f"Bearer {logins[number]['access_token']}"
        return client.post_json(f"/auth/{path}", fields, headers=headers, status=status).json

    def move(number):
        client.get("/", headers={"Authorization": f"Bearer {tokens[number]}"})

    def log_in(number):
        account = {"username": f"user{number + 1}", "password": PASSWORD}
        logins[number] = post("login", **account, refresh=True)

    def fail(number):
        post("login", username=f"user{number + 1}", password="wrong words", status=401)

    def register(number):
        name = f"new{number}"
        post("register", username=name, email=f"{name}@example.org", password=PASSWORD, status=201)

    def refresh(number):
        logins[number] = post("refresh", refresh_token=logins[number]["refresh_token"])

    def use(number):
        client.get("/", headers={"Authorization": f"Bearer {logins[number]['access_token']}"})

    def change(number):
        passwords = {"current_password": PASSWORD, "new_password": OTHER_PASSWORD}
        logins[number] = post("password", number, **passwords)

    def log_out(number):
        post("logout", number)

    return {
        "a request that moves the end of its session": move,
        "a request that does not": move,
        "a first login from an address": log_in,
        "a further login": log_in,
        "a failed login": fail,
        "a refresh": refresh,
        "the first request after a refresh": use,
        "a new password": change,
        "a logout": log_out,
        "a registration": register,
    }


class _Meter:
    """Measures what the database does for one connection."""

    def __init__(self, database):
        self._database = database
        (self._process,) = self._ask("SELECT pg_backend_pid()")
        self._statements = 0
        database.query_hooks.append(self._count)

    def measure(self, action):
        """Return what an action costs, by the order of the table."""
        before = self._read()
        for number in range(TIMES):
            action(number)
        after = self._read()
        statements, syncs, written, ticks = (
            (late - early) / TIMES for late, early in zip(after, before, strict=True)
        )
        return statements, syncs, written, ticks / TICKS * 1e6

    def _read(self):
        statements = self._statements
        self._ask("SELECT pg_stat_force_next_flush()")
        syncs, written = self._ask(
            "SELECT wal_sync, pg_current_wal_insert_lsn() - '0/0' FROM pg_stat_wal"
        )
        self._statements = statements
        fields = Path(f"/proc/{self._process}/stat").read_text(encoding="ascii").split()
        return statements, syncs, float(written), int(fields[13]) + int(fields[14])

    def _ask(self, sql):
        return self._database.execute_sql(sql).fetchone()

    def _count(self, *_):
        self._statements += 1
