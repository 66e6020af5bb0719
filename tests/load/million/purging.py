"""What requests wait for while a million expired rows are purged."""

import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import NamedTuple

from tests.load.flood import Client, in_process
from tests.load.million.fill import add_expired
from tests.load.million.requests import as_user, credentials
from tests.support.sites import SECRET_KEY, echo, serving
from wsgiauth import AuthMiddleware, Settings, storage

CLIENTS = 8
RATE = 100  # requests in a second, whether those before have been answered or not
EACH_LOGIN = 50  # one request of so many is a login
EXPIRED, OTHERS = 1_000_000, 100_000  # sessions; counts, and events
WHILE = 20  # seconds without the purge
P99 = 0.150  # seconds


class Answers(NamedTuple):
    """How many seconds after it was due each request was answered."""

    identified: list[float]
    logins: list[float]

    def row(self, name):
        """Print it in ms, and return the p99 of all requests in seconds."""
        shown = "".join(
            f"{each * 1000:9.1f}" for each in (*_shown(self.identified), *_shown(self.logins))
        )
        p99 = _shown(self.identified + self.logins)[1]
        print(f"{name:22}{shown}{p99 * 1000:9.1f}", flush=True)
        return p99


def _shown(times):
    """Return the median, the p99 and the maximum."""
    return statistics.median(times), statistics.quantiles(times, n=100)[-1], max(times)


def serve(url, pipe):
    """Serve a site until told to end."""
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    site = AuthMiddleware(echo, settings)
    storage.discard_connection(storage.current())
    proxy = {"trusted_proxy": "*", "trusted_proxy_headers": {"x-forwarded-for"}}
    with serving(site, threads=CLIENTS, **proxy) as address:
        pipe.send(address.removeprefix("http://"))
        pipe.recv()


def offer(server, site, stop):
    """Send requests at `RATE` until `stop`, and return how long they took."""
    begun = time.perf_counter()

    def client(number):
        connection, chance = Client(server), random.Random(number)  # noqa: S311
        answers = Answers([], [])
        for turn in range(number, 10**9, CLIENTS):
            due = begun + turn / RATE
            if stop.wait(max(due - time.perf_counter(), 0)):
                break
            user = next(n for n in iter(lambda: chance.randrange(2, site.users), 0) if n % 18)
            is_login = turn % EACH_LOGIN == 0
            _send_login(connection, user) if is_login else _send(connection, site.token(user, 1))
            (answers.logins if is_login else answers.identified).append(time.perf_counter() - due)
        connection.close()
        return answers

    with ThreadPoolExecutor(CLIENTS) as threads:
        found = list(threads.map(client, range(CLIENTS)))
    return Answers(*(list(chain(*each)) for each in zip(*found, strict=True)))


def _send(connection, token):
    answer = connection.ask(
        "GET", "/", headers={"Authorization": as_user(token)["HTTP_AUTHORIZATION"]}
    )
    if json.loads(answer.document)["user"] is None:
        raise RuntimeError("a request was anonymous")


def _send_login(connection, user):
    address = f"10.{user >> 16 & 255}.{user >> 8 & 255}.{user & 255}"
    login = credentials(None, user - user % 10 + 3 if (user - user % 10 + 3) % 18 else 7)
    headers = {"Content-Type": "application/json", "X-Forwarded-For": address}
    status = connection.ask("POST", "/auth/login", json.dumps(login), headers).status
    if status != 200:
        raise RuntimeError(f"a login was answered with {status}")


def measure(site):
    """Print how long requests take without the purge, with it, and after it."""
    add_expired(site.database, site.users, EXPIRED, others=OTHERS)
    site.database.execute_sql("CHECKPOINT")
    print(f"\n{'ms':22}{'identified':>27}{'logins':>27}{'all':>9}")
    print(f"{'':22}" + f"{'median':>9}{'p99':>9}{'max':>9}" * 2 + f"{'p99':>9}")
    with in_process(serve, site.url) as pipe:
        server = pipe.recv()
        _during(WHILE, server, site).row("before")
        seconds, answers = _during_purge(server, site)
        p99 = answers.row("while it purges")
        _during(WHILE, server, site).row("after")
        pipe.send("stop")
    rows = EXPIRED + 2 * OTHERS  # and some that have expired since the filling
    print(f"{rows:,} rows were purged in {seconds:.0f} s: {rows / seconds:,.0f} in a second.")
    is_met = p99 < P99
    print(f"The p99 is {'below' if is_met else 'ABOVE'} {P99 * 1000:.0f} ms.")
    return is_met


def _during(seconds, server, site):
    stop = threading.Event()
    timer = threading.Timer(seconds, stop.set)
    timer.start()
    return offer(server, site, stop)


def _during_purge(server, site):
    stop = threading.Event()
    command = [sys.executable, "-m", "wsgiauth", "purge"]
    with ThreadPoolExecutor(1) as thread:
        answers = thread.submit(offer, server, site, stop)
        begun = time.perf_counter()
        environ = {**os.environ, "DATABASE_URL": site.url, "AUDIT_DAYS": "365"}
        try:
            subprocess.run(command, env=environ, check=True, timeout=3600)
            seconds = time.perf_counter() - begun
        finally:
            stop.set()
        return seconds, answers.result()
