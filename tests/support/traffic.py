"""Mixed traffic on servers that fail meanwhile, and what must be true of what they acknowledged."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from tests.support.processes import started
from tests.support.sites import SECRET_KEY
from tests.support.traffic_client import PATIENCE, Client, Letters
from wsgiauth import Settings

CLIENTS = 6
PROCESSES = 2


def settings_for_traffic(url, letters, **changes):
    """Return settings of a server that limits no client, as all clients are this machine.

    Args:
        url: Of the database.
        letters: The folder for emails.
    """
    unlimited = (
        "LOGIN_FAILURES_PER_ADDRESS",
        "REGISTRATIONS_PER_ADDRESS",
        "MAILS_PER_ADDRESS",
        "MAILS_PER_ACCOUNT",
        "LOGINS_PER_ACCOUNT",
        "HASHING_PER_ADDRESS",
    )
    return {
        "SECRET_KEY": SECRET_KEY,
        "DATABASE_URL": url,
        "BCRYPT_ROUNDS": 4,
        "HASHING_THREADS": CLIENTS,
        "PUBLIC_URL": "http://localhost",
        "MAIL_URL": f"file://{letters}",
        "MAIL_FROM": "site@example.org",
        **dict.fromkeys(unlimited, 0),
        **changes,
    }


class Traffic:
    """A context in which clients send requests.

    Attributes:
        acknowledged: How many changes of each kind were.
        mistakes: Sentences about wrong answers.
        answers: Of each request, when it ended (`time.monotonic`), its seconds, and the status.
    """

    def __init__(self, addresses, letters, clients=CLIENTS, kind=Client):
        self.addresses = list(addresses)  # host:port; may be changed
        self.acknowledged = Counter()
        self.mistakes = []
        self.answers = []
        self._over = threading.Event()
        self._letters = Letters(letters)
        self._clients = [kind(self, self._letters, number) for number in range(clients)]
        self._threads = ThreadPoolExecutor(clients)

    def __enter__(self):
        self._running = [self._threads.submit(each.run, self._over) for each in self._clients]
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Return when the clients have ended."""
        self._over.set()
        self._threads.shutdown()
        for each in self._running:
            each.result()

    def wait(self, more):
        """Return when so many more changes have been acknowledged."""
        wanted = self.acknowledged.total() + more
        end = time.monotonic() + PATIENCE
        while self.acknowledged.total() < wanted:
            assert time.monotonic() < end, f"{self.acknowledged}; {Counter(self.statuses())}"
            for each in self._running:
                assert not each.done(), each.result()
            time.sleep(0.02)

    def wait_until_refused(self, times=20):
        """Return when the newest answers are all refusals, so many of them; no server has ended."""
        end = time.monotonic() + PATIENCE
        while {status for _, _, status in self.answers[-times:]} != {503}:
            assert time.monotonic() < end, Counter(self.statuses())
            time.sleep(0.02)

    def statuses(self, since=0):
        return [status for ended, _, status in self.answers if ended >= since]

    def compare(self):
        """Return the mistakes, also those in what the servers say now of what was acknowledged."""
        for each in self._clients:
            each.compare()
        return self.mistakes


@contextmanager
def traffic_on(url, letters):
    """Yield traffic on two processes, which serve until the end of the body."""
    settings = Settings(**settings_for_traffic(url, letters))
    with ExitStack() as stack:
        addresses = [stack.enter_context(started(settings))[1] for _ in range(PROCESSES)]
        yield Traffic(addresses, letters)
