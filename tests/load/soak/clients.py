"""Clients that send requests at a common pace, and what is noted of the answers."""

import json
import random
import re
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from typing import NamedTuple
from urllib.parse import urlencode

from tests.support.sites import SAME_ORIGIN

HOST = "localhost:8080"  # that of PUBLIC_URL
ADDRESSES = 2000  # of clients
SHOWN = 20  # unexpected answers


class Answer(NamedTuple):
    """An answer.

    Attributes:
        document: Of JSON; otherwise empty.
    """

    status: int
    headers: object
    body: bytes
    document: dict


class Pace:
    """Lets so many requests begin in a second, but does not make up for a delay."""

    def __init__(self, rate):
        self._pause = 1 / rate
        self._next = time.monotonic()
        self._lock = threading.Lock()

    def wait(self):
        """Return when it is the caller's turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(self._next, now)
            self._next = turn + self._pause
        time.sleep(turn - now)


class Notes:
    """What was answered.

    Attributes:
        answers: How often each request got each status.
        times: Seconds of each request since `take_times`.
        mistakes: The first unexpected answers.
        mistaken: How many there were.
    """

    def __init__(self):
        self.answers = Counter()
        self.times = []
        self.mistakes = []
        self.mistaken = 0
        self._lock = threading.Lock()

    def add(self, request, status, seconds):
        with self._lock:
            self.answers[request, status] += 1
            self.times.append(seconds)

    def add_mistake(self, sentence):
        with self._lock:
            self.mistaken += 1
            self.mistakes[SHOWN:] = []
            self.mistakes.append(sentence)

    def take_times(self):
        """Return the sorted times since the last call."""
        with self._lock:
            taken, self.times = self.times, []
        return sorted(taken)


class UnexpectedError(Exception):
    """An answer that ends a story."""


class Client:
    """A browser or a program, with an address and cookies, which are new for each story.

    Args:
        address: The server's host and port.
        seed: Of the random choices.
    """

    def __init__(self, address, pace, notes, seed):
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self.numbers = count()
        self.seed = seed
        self._connection = HTTPConnection(address, timeout=60)
        self._pace, self._notes = pace, notes

    def begin(self):
        """Forget the cookies, and be somewhere else."""
        self.cookies = {}
        number = self.random.randrange(ADDRESSES)
        self._address = f"10.0.{number // 250}.{number % 250}"

    def get(self, path, token=None, *, status=200, **headers):
        return self._ask("GET", path, None, token, status, headers)

    def post(self, path, fields, token=None, *, status=200, **headers):
        """Send JSON."""
        headers["Content-Type"] = "application/json"
        return self._ask("POST", path, json.dumps(fields), token, status, headers)

    def submit(self, path, fields, *, status=303, **headers):
        """Send a form, as a page of the site does."""
        headers = SAME_ORIGIN | {"Content-Type": "application/x-www-form-urlencoded"} | headers
        return self._ask("POST", path, urlencode(fields), None, status, headers)

    def send(self, method, path, body, headers, *, status):
        """Send anything."""
        return self._ask(method, path, body, None, status, headers)

    def close(self):
        """Leave."""
        self._connection.close()

    def _ask(self, method, path, body, token, status, headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"Host": HOST, "X-Forwarded-For": self._address}
        if token is not None:
            headers["Authorization"] = token if " " in token else f"Bearer {token}"
        if self.cookies:
            headers["Cookie"] = "; ".join(map("=".join, self.cookies.items()))
        self._pace.wait()
        began = time.perf_counter()
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        document = response.read()
        self._notes.add(f"{method} {named(path)}", response.status, time.perf_counter() - began)
        self._keep_cookies(response)
        if response.status not in (status if isinstance(status, tuple) else (status,)):
            raise UnexpectedError(f"{method} {path}: {response.status} {document[:300]!r}")
        is_json = response.headers.get_content_subtype() in ("json", "problem+json")
        known = json.loads(document) if is_json and document else {}
        return Answer(response.status, response.headers, document, known)

    def _keep_cookies(self, response):
        for each in response.headers.get_all("Set-Cookie", ()):
            name, _, value = each.partition(";")[0].partition("=")
            if value and "max-age=0" not in each.lower():
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)


def named(path):
    """Return a path without what varies."""
    return re.sub(r"/\d+", "/N", path.partition("?")[0])


@contextmanager
def running(clients, notes):
    """Let clients do what they do, each in a thread, during the block."""
    over = threading.Event()

    def run(client):
        while not over.is_set():
            try:
                client.visit()
            except Exception as error:
                notes.add_mistake(f"{client.story}: {type(error).__name__}: {error}")
                client.close()
        client.close()

    threads = [threading.Thread(target=run, args=(each,)) for each in clients]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        over.set()
        for each in threads:
            each.join()
