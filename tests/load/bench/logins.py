"""Logins a second, beside what bcrypt alone does on all cores."""

import io
import itertools
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from wsgiref.util import setup_testing_defaults

import bcrypt

from tests.load.bench import print_table
from tests.support.sites import PASSWORD, SECRET_KEY
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.accounts import create_user

ROUNDS, SECONDS = 5, 4
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def per_second(action):
    """Return how often a second `action` is done by as many threads as there are cores."""
    over = time.perf_counter() + SECONDS

    def repeat(thread):
        times = 0
        while time.perf_counter() < over:
            action(thread)
            times += 1
        return times / (time.perf_counter() - over + SECONDS)

    with ThreadPoolExecutor(CORES) as threads:
        return sum(threads.map(repeat, range(CORES)))


def report(folder):
    """Print the table."""
    url = f"sqlite:///{folder / 'logins.db'}"
    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url, LOGINS_PER_ACCOUNT=0)
    site = AuthMiddleware(lambda environ, start_response: [], settings)
    users = [
        create_user(f"user{thread}", f"{thread}@example.org", PASSWORD, settings=settings)
        for thread in range(CORES)
    ]
    hashed = users[0].hashed_password.encode()
    bodies = [
        json.dumps({"username": user.username, "password": PASSWORD}).encode() for user in users
    ]
    statuses = set()

    # One account, and one address, hashes once at a time.
    def log_in(thread):
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": "/auth/login",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(bodies[thread])),
            "REMOTE_ADDR": f"192.0.2.{thread + 1}",
            "wsgi.input": io.BytesIO(bodies[thread]),
        }
        setup_testing_defaults(environ)
        list(site(environ, lambda status, headers: statuses.add(status)))

    actions = {
        "bcrypt.checkpw": lambda _: bcrypt.checkpw(PASSWORD.encode(), hashed),
        "POST /auth/login": log_in,
    }
    counted = {name: [] for name in actions}
    for _, (name, action) in itertools.product(range(ROUNDS), actions.items()):
        counted[name].append(per_second(action))
    assert statuses == {"200 OK"}, statuses
    rates = {name: statistics.median(each) for name, each in counted.items()}
    print(f"\nLogins a second, bcrypt at cost {settings.BCRYPT_ROUNDS}, {CORES} cores")
    print_table(
        ("", "a second", "of bcrypt alone"),
        *((name, rate, rate / rates["bcrypt.checkpw"]) for name, rate in rates.items()),
    )
