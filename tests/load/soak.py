"""Ten minutes of mixed traffic: `make soak`, or `python -m tests.load.soak SECONDS`.

Prints memory, descriptors and rows as they go, and fails if any of them grows once the server is
warm: after a fifth of the time.
"""

import json
import logging
import os
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode
from wsgiref.util import setup_testing_defaults

from peewee import chunked

from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, echo, serving, spawned
from wsgiauth import AuthMiddleware, Settings, User, hash_password, login_required
from wsgiauth.authentication.tokens import CACHE_SIZE, Tokens

DURATION = 600  # seconds
WARM_AFTER = 1 / 5  # of the duration
MEASUREMENTS = 20
CLIENTS = 6
PEOPLE = 10_000  # more than SQLite's caches hold, so that these are soon as large as they get
REGULARS = range(0, PEOPLE, 10)  # those who log in
MEMORY_TOLERANCE = 1.05
OTHERS_TOLERANCE = 1.25
TABLES = ("wsgiauth_user", "wsgiauth_session", "wsgiauth_permission", "wsgiauth_attempt_count")

AS_JSON = {"Content-Type": "application/json"}
AS_FORM = {"Content-Type": "application/x-www-form-urlencoded", **SAME_ORIGIN}


def serve(url, pipe):
    """Serve until told otherwise, in a process of its own."""
    settings = Settings(
        SECRET_KEY=SECRET_KEY,
        DATABASE_URL=url,
        BCRYPT_ROUNDS=4,
        JWT_EXPIRY_MINUTES=1,  # so that sessions expire and are purged meanwhile
        LOGIN_FAILURES_PER_ADDRESS=0,  # all clients are this machine
        REGISTRATIONS_PER_ADDRESS=0,
        HASHING_PER_ADDRESS=0,
    )
    logger = logging.getLogger("wsgiauth")
    logger.propagate = False
    logger.addHandler(logging.FileHandler(os.devnull))  # written, but not kept
    site = AuthMiddleware(login_required(echo), settings)
    fill_tables()
    fill_cache(site, settings)
    with serving(site, threads=4) as address:  # waitress's default
        pipe.send(address.removeprefix("http://"))
        pipe.recv()


def fill_tables():
    """Give accounts to people, who all have the same password."""
    hashed = hash_password(PASSWORD, rounds=4)
    names = [(f"person{number}", f"{number}{EMAIL}") for number in range(PEOPLE)]
    fields = [User.username, User.username_key, User.email, User.email_key, User.hashed_password]
    rows = [(username, username, email, email, hashed) for username, email in names]
    for batch in chunked(rows, 1000):
        User.insert_many(batch, fields=fields).execute()


def fill_cache(site, settings):
    """Show the site more tokens than it remembers, as one has seen that has run for a day."""
    tokens = Tokens(settings)
    expires_at = int(tokens.now()) + tokens.lifetime
    for number in range(2 * CACHE_SIZE):
        token = tokens.issue(PEOPLE - number % 5000, f"{number:022}", expires_at)
        environ = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
        setup_testing_defaults(environ)
        for _ in site(environ, lambda *_: None):
            pass


class Visitor:
    """Does at random what people, programs and strangers do.

    Args:
        address: The server's host and port.
        seed: Of the random choices.
    """

    def __init__(self, address, seed):
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self.answers = Counter()
        self.token = ""
        self._connection = HTTPConnection(address, timeout=30)

    def visit(self):
        """Send one request, and count its status."""
        action = self.random.choice(
            [*[self.log_in] * 4, self.fail, self.register, self.end, *[self.go] * 8]
        )
        action()

    def log_in(self):
        """Log in, as a program or in a browser."""
        account = {"username": f"person{self.random.choice(REGULARS)}", "password": PASSWORD}
        if self.random.random() < 0.5:
            self._ask("POST", "/auth/login", urlencode(account), AS_FORM)
            return
        answer = self._ask("POST", "/auth/login", json.dumps(account), AS_JSON)
        self.token = answer.get("access_token", self.token)

    def fail(self):
        """Fail to log in, with a name of somebody or nobody."""
        number = self.random.randrange(40)
        name = self.random.choice([f"stranger{number}", f"person{number % 4 + 1}"])
        self._ask("POST", "/auth/login", json.dumps({"username": name, "password": "x"}), AS_JSON)

    def register(self):
        """Try to register a name that is taken, or one that is none."""
        account = {"username": self.random.choice(["person1", "@"]), "email": "x@example.org"}
        self._ask("POST", "/auth/register", json.dumps(account | {"password": PASSWORD}), AS_JSON)

    def end(self):
        """Log out."""
        self._ask("POST", "/auth/logout", None, {"Authorization": f"Bearer {self.token}"})

    def go(self):
        """Open a page, with a token, a spoilt one, or none."""
        path = self.random.choice(
            ["/", "/auth/me", "/auth/login", "/auth/register", "/auth/nowhere"]
        )
        headers = {"Authorization": f"Bearer {self.token}{self.random.choice(['', '', 'x'])}"}
        self._ask("GET", path, None, self.random.choice([headers, headers, {}, SAME_ORIGIN]))

    def close(self):
        """Leave."""
        self._connection.close()

    def _ask(self, method, path, body, headers):
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        document = response.read()
        self.answers[response.status] += 1
        return json.loads(document) if response.headers.get_content_subtype() == "json" else {}


def measure(process, path):
    """Return the server's resident kilobytes, open descriptors, and rows of each table."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    resident = int(next(line for line in status.splitlines() if "VmRSS" in line).split()[1])
    descriptors = len(list(Path(f"/proc/{process}/fd").iterdir()))
    connection = sqlite3.connect(path)
    rows = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES]  # noqa: S608
    connection.close()
    return (resident, descriptors, *rows)


@contextmanager
def traffic(address):
    """Send requests meanwhile; yields the statuses, counted once it is over."""
    over = threading.Event()
    answers = Counter()

    def visit(visitor):
        while not over.is_set():
            visitor.visit()
        visitor.close()
        return visitor.answers

    with ThreadPoolExecutor(CLIENTS) as clients:
        visits = [clients.submit(visit, Visitor(address, seed)) for seed in range(CLIENTS)]
        try:
            yield answers
        finally:
            over.set()
            for each in visits:
                answers.update(each.result())


def main(duration):
    """Run, print the table, and return whether all is well."""
    print_row("seconds", "KiB", "descriptors", *(name.removeprefix("wsgiauth_") for name in TABLES))
    measurements = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soak.db"
        server = spawned(serve, f"sqlite:///{path}")
        with server as (process, address), traffic(address) as answers:
            began = time.monotonic()
            for step in range(1, MEASUREMENTS + 1):
                seconds = duration * step / MEASUREMENTS
                time.sleep(max(0, began + seconds - time.monotonic()))
                measurements.append(measure(process.pid, path))
                print_row(round(seconds), *measurements[-1])
    print(answers.total(), "requests, by status:", dict(sorted(answers.items())))
    warm = measurements[int(MEASUREMENTS * WARM_AFTER) - 1 :]
    complaints = growth(warm, ("resident memory", "descriptors", *TABLES))
    if answers[500]:
        complaints.append(f"{answers[500]} requests were answered 500")
    print(*complaints or ["Nothing grew, and nothing failed."], sep="\n")
    return not complaints


def print_row(*values):
    """Print one line of the table."""
    print("".join(f"{value:>15}" for value in values), flush=True)


def growth(warm, names):
    """Return a line for everything that grew from the first measurement to the last."""
    half = len(warm) // 2
    lines = []
    for name, *values in zip(names, *warm, strict=True):
        if name == "resident memory":
            before, after, tolerance = values[0], values[-1], MEMORY_TOLERANCE
        else:  # sessions and connections come and go: the second half is compared with the first
            before, after, tolerance = max(values[:half]), max(values[half:]), OTHERS_TOLERANCE
        if after > before * tolerance + 1:
            lines.append(f"{name} grew from {before} to {after}")
    return lines


if __name__ == "__main__":
    sys.exit(0 if main(float(sys.argv[1]) if len(sys.argv) > 1 else DURATION) else 1)
