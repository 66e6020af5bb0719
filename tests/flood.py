"""What a flood of logins does to everybody else, on a real server: `make flood`.

A server with waitress's four threads and bcrypt's usual cost, in a process of its own; clients who
guess as fast as they can, in another. The throttle is off: this is about hashing. Meanwhile one
visitor opens a protected page again and again, and somebody else logs in from another address.

A flood from many addresses fills all places, and all that there are to wait in: on two processors,
that is as many as waitress has threads. So it is sent to a server with more of them as well.
"""

import http.client
import json
import logging
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import bcrypt

from tests.sites import EMAIL, PASSWORD, SECRET_KEY, SPAWN, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, Settings, context, login_required, storage
from wsgiauth.accounts import create_user

THREADS = 4  # waitress's default
MORE_THREADS = 8
FLOODERS = 16
DURATION = 10  # seconds of each flood
PAUSE = 0.02  # seconds between two visits of the protected page
PATIENCE = 30  # seconds, after which an answer counts as missing

FLOOD, OWNER = "127.0.0.1", "127.0.0.2"
ONE_ADDRESS = [FLOOD] * FLOODERS
MANY_ADDRESSES = [f"127.0.0.{number}" for number in range(3, 3 + FLOODERS)]
JSON = {"Content-Type": "application/json"}

LINE = "{:28}{:>10}{:>12}{:>6}{:>8}{:>10}{:>11}{:>11}"
HEAD = (
    ("page, ms", "hashes", "", "places", "refusals", "logins at", "their"),
    ("med / p99", "a second", "", "in use", "a second", "first try", "median, s"),
)

MAX_P99 = 0.150  # seconds for the protected page
MIN_SHARE = 0.80  # of the time; how many hashes that makes depends on what else runs


def settings_of(folder):
    """Return the defaults, less the throttle."""
    return Settings(
        SECRET_KEY=SECRET_KEY,
        DATABASE_URL=f"sqlite:///{folder}/flood.db",
        LOGIN_FAILURES_PER_ACCOUNT=0,
        LOGIN_FAILURES_PER_ADDRESS=0,
        REGISTRATIONS_PER_ADDRESS=0,
    )


# The server, in its process


def serve(folder, threads, pipe):
    """Serve until told to end; asked before, tell for how long each address has hashed since."""
    hashed = Counter()
    compare = bcrypt.checkpw

    def timed(*arguments):
        begun = time.perf_counter()
        try:
            return compare(*arguments)
        finally:
            hashed[context.client_address()] += time.perf_counter() - begun

    bcrypt.checkpw = timed
    logging.basicConfig(filename=f"{folder}/log")
    settings = settings_of(folder)
    site = AuthMiddleware(login_required(echo), settings)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    storage.discard_connection(storage.current())
    with serving(site, threads=threads) as address:
        pipe.send(address.removeprefix("http://"))
        while pipe.recv() != "stop":
            pipe.send(Counter(hashed))
            hashed.clear()


# The flood, in its process


def flood(server, addresses, is_obedient, pipe):
    """Guess from each address at once until told to end; sends back how often what came of it."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(addresses)) as threads:
        begun = time.perf_counter()
        calls = [threads.submit(guess, server, each, is_obedient, stop) for each in addresses]
        pipe.recv()
        stop.set()
        elapsed = time.perf_counter() - begun
        pipe.send((sum((call.result() for call in calls), Counter()), elapsed))


def guess(server, address, is_obedient, stop):
    """Guess, on one connection; returns how often each status was the answer."""
    statuses = Counter()
    client = Client(server, address)
    while not stop.is_set():
        answer = client.log_in("wrong")
        if stop.is_set():
            break  # too late to count
        statuses[answer.status] += 1
        if is_obedient:
            stop.wait(int(answer.headers.get("Retry-After", 0)))
    client.close()
    return statuses


@contextmanager
def in_process(target, *arguments):
    """Run `target` in a process until the end of the body; yields a pipe to it."""
    pipe, its_end = SPAWN.Pipe()
    process = SPAWN.Process(target=target, args=(*arguments, its_end))
    process.start()
    try:
        yield pipe
    finally:
        pipe.close()
        process.join(PATIENCE)
        process.kill()
        process.join()


@contextmanager
def running(threads):
    """Run the server; yields the pipe to it, its address, and the token of a login."""
    with tempfile.TemporaryDirectory() as folder, in_process(serve, folder, threads) as pipe:
        server = pipe.recv()
        owner = Client(server, OWNER)
        token = json.loads(owner.log_in(PASSWORD).document)["access_token"]
        owner.close()
        yield pipe, server, token
        pipe.send("stop")


# The clients


class Client:
    """One keep-alive connection from an address of its own."""

    def __init__(self, server, address):
        self._connection = http.client.HTTPConnection(
            server, timeout=PATIENCE, source_address=(address, 0)
        )

    def log_in(self, password):
        """Return the answer to a login, read."""
        body = json.dumps({"username": USERNAME, "password": password})
        return self.ask("POST", "/auth/login", body, JSON)

    def ask(self, method, path, body=None, headers=None):
        """Return the answer to a request, read; its body is `document`."""
        self._connection.request(method, path, body, headers or {})
        answer = self._connection.getresponse()
        answer.document = answer.read()
        return answer

    def close(self):
        self._connection.close()


@dataclass
class Phase:
    """What was seen during a while; times in seconds."""

    visits: list[float]
    logins: list[float]
    refused: int
    statuses: Counter[int]
    elapsed: float
    hashed: float

    @property
    def p99(self):
        return statistics.quantiles(self.visits, n=100)[-1]

    @property
    def hashes(self):
        """Hashes for the flood, in a second."""
        return self.statuses[401] / self.elapsed


def repeatedly(action: Callable[[], object], stop, pause):
    """Do it until `stop`; returns the times."""
    times = []
    while not stop.is_set():
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
        stop.wait(pause)
    return times


def observe(pipe, server, token, addresses=(), *, is_obedient=False):
    """Visit the protected page and log in for a while, during a flood from these addresses."""
    visitor, owner = Client(server, FLOOD), Client(server, OWNER)
    refused = []

    def visit():
        answer = visitor.ask("GET", "/", headers={"Authorization": f"Bearer {token}"})
        assert answer.status == 200

    def log_in():
        if owner.log_in(PASSWORD).status != 200:
            refused.append(1)

    def watch():
        stop = threading.Event()
        with ThreadPoolExecutor(2) as threads:
            visits = threads.submit(repeatedly, visit, stop, PAUSE)
            logins = threads.submit(repeatedly, log_in, stop, 0.5)
            hashing_time(pipe)
            time.sleep(DURATION)
            hashed = hashing_time(pipe)
            stop.set()
        visitor.close()
        owner.close()
        return visits.result(), logins.result(), hashed

    if not addresses:
        visits, logins, _ = watch()
        return Phase(visits, logins, len(refused), Counter(), DURATION, 0)
    with in_process(flood, server, addresses, is_obedient) as its_pipe:
        time.sleep(1.5)  # until all of them are there
        visits, logins, hashed = watch()
        its_pipe.send("stop")
        assert its_pipe.poll(PATIENCE)
        statuses, elapsed = its_pipe.recv()
    return Phase(visits, logins, len(refused), statuses, elapsed, hashed)


def hashing_time(pipe):
    """Return for how many seconds the server has hashed for the flood since it was asked last."""
    pipe.send("how long")
    return sum(seconds for address, seconds in pipe.recv().items() if address != OWNER)


def logins_at_once(server, addresses):
    """Return how many of as many logins at the same moment succeed."""
    barrier = threading.Barrier(len(addresses))

    def log_in(address):
        client = Client(server, address)
        barrier.wait()
        status = client.log_in(PASSWORD).status
        client.close()
        return status

    with ThreadPoolExecutor(len(addresses)) as threads:
        return list(threads.map(log_in, addresses)).count(200)


def hashes_alone(places):
    """Return how many hashes a second so many threads compute when nothing else goes on."""
    hashed = bcrypt.hashpw(b"x", bcrypt.gensalt(Settings().BCRYPT_ROUNDS))
    stop = threading.Event()
    with ThreadPoolExecutor(places) as threads:
        calls = [
            threads.submit(repeatedly, lambda: bcrypt.checkpw(b"y", hashed), stop, 0)
            for _ in range(places)
        ]
        time.sleep(3)
        stop.set()
        return sum(1 / statistics.mean(call.result()) for call in calls)


def row(name, phase, allowed=None, places=1):
    """Print what was seen in a phase."""
    tries = len(phase.logins)
    hashes = "" if allowed is None else f"{phase.hashes:.1f} of {allowed:.1f}"
    share = "" if allowed is None else f"{phase.hashes / allowed:.0%}"
    busy = "" if allowed is None else f"{phase.hashed / DURATION / places:.0%}"
    page = f"{statistics.median(phase.visits) * 1000:.0f} / {phase.p99 * 1000:.0f}"
    logins = f"{tries - phase.refused} of {tries}"
    refusals = f"{phase.statuses[503] / phase.elapsed:.0f}"
    median = f"{statistics.median(phase.logins):.2f}"
    print(LINE.format(name, page, hashes, share, busy, refusals, logins, median), flush=True)


def main():
    """Print the table; returns whether a goal was missed."""
    places = settings_of("").HASHING_THREADS
    one, all_places = hashes_alone(1), hashes_alone(places)
    with running(THREADS) as (pipe, server, token):
        four = logins_at_once(server, [f"127.0.0.{number}" for number in range(1, 5)])
        two = logins_at_once(server, [FLOOD] * 2)
        print(f"{places} places; alone, one hashes {one:.1f} times a second, all {all_places:.1f}")
        print(f"At once, without a flood: {four} of 4 logins from four addresses succeed,")
        print(f"{two} of 2 from one address.\n")
        for line in HEAD:
            print(LINE.format("", *line))
        quiet = observe(pipe, server, token)
        row("no flood", quiet)
        rude = observe(pipe, server, token, ONE_ADDRESS)
        row("flood from one address", rude, one)
        obedient = observe(pipe, server, token, ONE_ADDRESS, is_obedient=True)
        row("... that obeys Retry-After", obedient, one)
        spread = observe(pipe, server, token, MANY_ADDRESSES)
        row(f"flood from {FLOODERS} addresses", spread, all_places, places)
    with running(MORE_THREADS) as (pipe, server, token):
        roomy = observe(pipe, server, token, MANY_ADDRESSES)
        row(f"... of a server with {MORE_THREADS} threads", roomy, all_places, places)
    print()
    goals = {
        "without a flood, all logins at once succeed": (four, two) == (4, 2),
        f"a flood leaves the page below {MAX_P99 * 1000:.0f} ms (p99)": rude.p99 < MAX_P99,
        "so does one that obeys": obedient.p99 < MAX_P99,
        f"who obeys keeps its place in use for {MIN_SHARE:.0%} of the time": (
            obedient.hashed > MIN_SHARE * DURATION
        ),
        f"with {MORE_THREADS} threads, so does one from many addresses": roomy.p99 < MAX_P99,
        "from another address, each login succeeds at once": rude.refused + obedient.refused == 0,
    }
    for goal, is_met in goals.items():
        print(f"{'met   ' if is_met else 'MISSED'} {goal}")
    return not all(goals.values())


if __name__ == "__main__":
    sys.exit(main())
