"""What a flood of logins does to all other requests, on a real server: `make measure NAME=flood`.

A server with the default settings and bcrypt's usual cost runs in one process, the flood in
another. Meanwhile a visitor opens a protected page again and again, the owner of an account logs in
from an address that the account knows, and newcomers log in for the first time. Addresses are
those that a trusted proxy forwards, so that one machine can have as many as an attacker.
"""

import http.client
import itertools
import json
import logging
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs, urlsplit

import bcrypt

from tests.support.hostile_provider import Provider
from tests.support.provider_answers import Drip, Slow
from tests.support.sites import FORKSERVER, PASSWORD, SECRET_KEY, echo, serving
from wsgiauth import AuthMiddleware, Settings, User, login_required, storage

THREADS = 8  # of waitress, as the README recommends
DURATION = 20  # seconds of each flood
PAUSE = 0.02  # seconds between two visits of the protected page
PATIENCE = 60  # seconds, after which an answer counts as missing

OWNER, OWNERS_ADDRESS = "owner", "192.0.2.1"
NEWCOMERS = [f"newcomer{number}" for number in range(20)]
ATTACKERS = [f"attacker{number}" for number in range(16)]
PEOPLE = [OWNER, *NEWCOMERS, *ATTACKERS]
CONNECTIONS = 64

LINE = "{:44}{:>12}{:>12}{:>15}{:>15}{:>10}{:>10}"
HEAD = (
    ("page, ms", "owner at", "owner, s", "newcomers in", "hashes", "refusals"),
    ("med / p99", "first try", "med / worst", "after s: med", "a second", "a second"),
)

MAX_P99 = 0.150  # seconds for the protected page
MAX_MEDIAN, MAX_WORST = 2, 5  # seconds for the owner's login


# The server, in its process


def serve(folder, threads, further, pipe):
    """Serve, with further settings, until told to end."""
    logging.basicConfig(filename=f"{folder}/log")
    database = f"sqlite:///{folder}/flood.db"
    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=database, **further)
    site = AuthMiddleware(login_required(echo), settings)
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(settings.BCRYPT_ROUNDS)).decode()
    for name in PEOPLE:
        User.objects.create(username=name, email=f"{name}@example.org", hashed_password=hashed)
    storage.discard_connection(storage.current())
    proxy = {"trusted_proxy": "*", "trusted_proxy_headers": {"x-forwarded-for"}}
    with serving(site, threads=threads, **proxy) as address:
        pipe.send(address.removeprefix("http://"))
        pipe.recv()


@contextmanager
def in_process(target, *arguments):
    """Run `target` in a process until the end of the body; yields a pipe to it."""
    pipe, its_end = FORKSERVER.Pipe()
    process = FORKSERVER.Process(target=target, args=(*arguments, its_end))
    process.start()
    try:
        yield pipe
    finally:
        pipe.close()
        process.join(PATIENCE)
        process.kill()
        process.join()


@contextmanager
def running(threads, **further):
    """Run the server, with further settings; yields its address."""
    with (
        tempfile.TemporaryDirectory() as folder,
        in_process(serve, folder, threads, further) as pipe,
    ):
        yield pipe.recv()
        pipe.send("stop")


# The flood, in its process: each attack yields functions of a client that return a status


def guess(address, name, password):
    return lambda client: client.log_in(address, name, password).status


def ipv4(number):
    return f"198.51.100.{number % 16}"


def with_one_account(connection) -> Iterator[Callable]:
    """One account, to which four addresses log in."""
    return itertools.repeat(guess(ipv4(connection % 4), ATTACKERS[0], PASSWORD))


def from_one_address(connection):
    """Guesses at one name after another."""
    return (guess(ipv4(0), f"{connection}-{number}", "wrong") for number in itertools.count())


def from_one_site(connection):
    """Guesses from another /64 of one /48 each time."""
    networks = (f"2001:db8:1:{connection:x}{number % 256:02x}::1" for number in itertools.count())
    return (
        guess(network, f"{connection}-{number}", "wrong") for number, network in enumerate(networks)
    )


def with_accounts(connection):
    """Sixteen addresses that log in to sixteen accounts, and guess at the owner's meanwhile."""
    address = ipv4(connection)
    if connection >= CONNECTIONS // 2:
        return itertools.repeat(guess(address, OWNER, "wrong"))
    accounts = ATTACKERS[connection % 16 :] + ATTACKERS[: connection % 16]
    return (guess(address, name, PASSWORD) for name in itertools.cycle(accounts))


def flood(server, attack, connections, pipe):
    """Attack on so many connections until told to end; sends back how often what came of it."""
    stop = threading.Event()
    with ThreadPoolExecutor(connections) as threads:
        begun = time.perf_counter()
        calls = [threads.submit(act_on, server, attack(n), stop) for n in range(connections)]
        pipe.recv()
        stop.set()
        elapsed = time.perf_counter() - begun
        statuses = sum((call.result() for call in calls), Counter())
        pipe.send({status: count / elapsed for status, count in statuses.items()})


def act_on(server, actions, stop):
    """Act on one connection; returns how often each status was the answer."""
    statuses = Counter()
    client = Client(server)
    for act in actions:
        if stop.is_set():
            break
        statuses[act(client)] += 1
    client.close()
    return statuses


# A flood of callbacks: every browser comes back from the provider with a code that is none


def serve_provider(name, pipe):
    """Serve one of `PROVIDERS` until told to end; sends the settings of its site."""
    with Provider() as provider:
        provider.answers |= PROVIDERS[name]
        entry = provider.entry("google")
        pipe.send({"OIDC_PROVIDERS": (entry,), "PUBLIC_URL": "http://localhost"})
        pipe.recv()


def through_callbacks(connection):
    """Come back from a provider again and again, each time from another address."""
    for number in itertools.count():
        address = f"10.{connection}.{number // 256 % 256}.{number % 256}"
        yield partial(come_back, address=address)


def come_back(client, address):
    """Go to the provider, and come back from it at once; returns the status of the latter."""
    headers = {"X-Forwarded-For": address, "Sec-Fetch-Site": "same-origin"}
    form = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    begun = client.ask("POST", "/auth/oidc/google", "", form)
    if begun.status != 303:
        return begun.status
    state = parse_qs(urlsplit(begun.headers["Location"]).query)["state"][0]
    headers["Cookie"] = begun.headers["Set-Cookie"].partition(";")[0]
    path = f"/auth/oidc/google/callback?code=none&state={state}"
    return client.ask("GET", path, headers=headers).status


# The others


class Client:
    """One keep-alive connection to the server."""

    def __init__(self, server):
        self._connection = http.client.HTTPConnection(server, timeout=PATIENCE)

    def log_in(self, address, name, password=PASSWORD):
        """Return the answer to a login, read."""
        body = json.dumps({"username": name, "password": password})
        headers = {"Content-Type": "application/json", "X-Forwarded-For": address}
        return self.ask("POST", "/auth/login", body, headers)

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
    newcomers: list[float]
    flood: dict[int, float]

    @property
    def p99(self):
        return statistics.quantiles(self.visits, n=100)[-1]


def repeatedly(action: Callable[[], object], stop, pause):
    """Do it until `stop`; returns the times."""
    times = []
    while not stop.is_set():
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
        stop.wait(pause)
    return times


def observe(server, attack=None, connections=CONNECTIONS):
    """Visit the protected page and log in for a while, during an attack."""
    visitor, owner = Client(server), Client(server)
    token = json.loads(owner.log_in(OWNERS_ADDRESS, OWNER).document)["access_token"]
    newcomers = iter(NEWCOMERS)
    refused = []

    def visit():
        answer = visitor.ask("GET", "/", headers={"Authorization": f"Bearer {token}"})
        assert answer.status == 200

    def log_in():
        if owner.log_in(OWNERS_ADDRESS, OWNER).status != 200:
            refused.append(1)

    def arrive():
        """Log in for the first time, and try again when the server says so."""
        name = next(newcomers)
        client = Client(server)
        answer = client.log_in(f"203.0.113.{NEWCOMERS.index(name)}", name)
        while answer.status != 200 and not stop.is_set():
            stop.wait(int(answer.headers["Retry-After"]))
            answer = client.log_in(f"203.0.113.{NEWCOMERS.index(name)}", name)
        client.close()

    stop = threading.Event()
    with ThreadPoolExecutor(3) as threads, attacking(server, attack, connections) as seen:
        visits = threads.submit(repeatedly, visit, stop, PAUSE)
        logins = threads.submit(repeatedly, log_in, stop, 0.5)
        arrivals = threads.submit(repeatedly, arrive, stop, 2)
        time.sleep(DURATION)
        stop.set()
    visitor.close()
    owner.close()
    return Phase(visits.result(), logins.result(), len(refused), arrivals.result(), seen)


@contextmanager
def attacking(server, attack, connections):
    """Attack during the body; yields what fills with the answers of each status in a second."""
    seen = {}
    if attack is None:
        yield seen
        return
    with in_process(flood, server, attack, connections) as pipe:
        time.sleep(2)  # until all connections are there
        yield seen
        pipe.send("stop")
        assert pipe.poll(PATIENCE)
        seen.update(pipe.recv())


def row(name, phase):
    """Print what was seen in a phase."""
    tries = len(phase.logins)
    hashes = sum(phase.flood.get(status, 0) for status in (200, 401))
    refusals = sum(phase.flood.get(status, 0) for status in (429, 503))
    print(
        LINE.format(
            name,
            f"{statistics.median(phase.visits) * 1000:.0f} / {phase.p99 * 1000:.0f}",
            f"{tries - phase.refused} of {tries}",
            f"{statistics.median(phase.logins):.2f} / {max(phase.logins):.2f}",
            f"{len(phase.newcomers)}: {statistics.median(phase.newcomers):.1f}",
            f"{hashes:.1f}",
            f"{refusals:.0f}",
        ),
        flush=True,
    )


PROVIDERS = {
    "64 connections, callbacks, honest provider": {},
    "64 connections, callbacks, slow provider": {"/token": Slow(3)},
    "64 connections, callbacks, silent provider": {"/token": Slow(60)},
    "64 connections, callbacks, dripping provider": {"/token": Drip(0.5)},
}
ATTACKS = {
    "16 connections, one address, guesses": (from_one_address, 16),
    "16 connections, 4 addresses, one account": (with_one_account, 16),
    "64 connections, one IPv6 /48, guesses": (from_one_site, CONNECTIONS),
    "64 connections, 16 addresses, 16 accounts": (with_accounts, CONNECTIONS),
}


def main():
    """Print the table; returns whether a goal was missed."""
    for line in HEAD:
        print(LINE.format("", *line))
    missed = []
    with running(THREADS) as server:
        row("no flood", observe(server))
    for name, (attack, connections) in ATTACKS.items():
        with running(THREADS) as server:
            phase = observe(server, attack, connections)
        missed += judged(name, phase)
    for name in PROVIDERS:
        with in_process(serve_provider, name) as pipe, running(THREADS, **pipe.recv()) as server:
            phase = observe(server, through_callbacks, CONNECTIONS)
            pipe.send("stop")
        missed += judged(name, phase)
    print("".join(f"\nMISSED {goal}" for goal in missed) or "\nAll goals are met.")
    return bool(missed)


def judged(name, phase):
    """Print what was seen in a phase; returns the goals that were missed."""
    row(name, phase)
    goals = {
        f"pages stay below {MAX_P99 * 1000:.0f} ms (p99)": phase.p99 < MAX_P99,
        "the owner gets in at each first try": phase.refused == 0,
        f"in {MAX_MEDIAN} s (median)": statistics.median(phase.logins) < MAX_MEDIAN,
        f"and {MAX_WORST} s (worst)": max(phase.logins) < MAX_WORST,
        "newcomers get in": len(phase.newcomers) > 1,
    }
    return [f"{name}: {goal}" for goal, is_met in goals.items() if not is_met]


if __name__ == "__main__":
    sys.exit(main())
