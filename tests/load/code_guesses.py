"""How many codes from emails can be guessed in a day: `make measure NAME=code-guesses`.

A real server answers attackers, which ask for codes and guess as soon as the limits permit it. When
all of them must wait, the script moves the clock to the end of the shortest wait, until a day is
over. It counts the tries that could have been right, not the answers. A trusted proxy forwards the
addresses. Every hour, the owner logs in by a code.

With an URL, the database is that one, which must be empty: `python -m tests.load.code_guesses URL`.
"""

import heapq
import http.client
import itertools
import json
import logging
import sys
import tempfile
import time

REAL_TIME = time.time
MOVED = [0.0]  # seconds
time.time = lambda: REAL_TIME() + MOVED[0]  # before wsgiauth is imported, whose limits keep it

from tests.conftest import insert_users  # noqa: E402
from tests.support.mails import MAIL, Post  # noqa: E402
from tests.support.sites import SECRET_KEY, echo, serving  # noqa: E402
from wsgiauth import AuthMiddleware, Settings, storage  # noqa: E402
from wsgiauth.accounts.models import User  # noqa: E402
from wsgiauth.features.login_codes import codes, limits  # noqa: E402
from wsgiauth.features.login_codes.codes import LIFETIME  # noqa: E402
from wsgiauth.features.login_codes.limits import CODE_TRIES  # noqa: E402
from wsgiauth.storage import context  # noqa: E402
from wsgiauth.storage.models import utc_now  # noqa: E402
from wsgiauth.storage.schema import migrate  # noqa: E402
from wsgiauth.testing import mailbox  # noqa: E402
from wsgiauth.throttling.counts import AttemptCount, Counter  # noqa: E402

HOUR, DAY = 60 * 60, 24 * 60 * 60
USERS = 10_000
OWNER, OWNERS_ADDRESS = "User1", "192.0.2.1"
TWO_NAMES = (OWNER, "1@example.net")
WRONG = "00000000"

LINE = "{:52}{:>10}{:>10}{:>16}{:>12}"
HEAD = ("a day of an attacker", "requests", "tries", "chance, 1 in", "owner in")


class Tries(Counter):
    """The tries of one request for a code, which are counted."""

    total = 0

    def add(self, now):
        has_try = super().add(now)
        Tries.total += has_try
        return has_try

    def take_back(self):
        Tries.total -= 1
        super().take_back()


class Clock:
    """The time of the day that is measured."""

    def __init__(self):
        self.begun = time.time()

    @property
    def passed(self):
        return time.time() - self.begun

    def move(self, seconds):
        MOVED[0] += seconds


class Attacker:
    """Asks for codes of some names and guesses, until both must wait.

    Args:
        names: In the order in which they are used; one that must wait is left out meanwhile.
        addresses: An iterator over the addresses of the requests.
    """

    def __init__(self, server, names, addresses):
        self.server, self.addresses = server, addresses
        self.names = [(0.0, number, name) for number, name in enumerate(names)]  # a heap
        self.requests, self.request, self.tries_left, self.expires_at = 0, "", 0, 0.0

    def act(self):
        """Do one step; return the seconds to wait after it."""
        if self.tries_left and time.time() < self.expires_at:  # another request is no failure
            status, _, wait = self.post("code/enter", {"request": self.request, "code": WRONG})
            self.tries_left -= status == 401
            return wait
        ready_at, number, name = heapq.heappop(self.names)
        if ready_at > time.time():
            heapq.heappush(self.names, (ready_at, number, name))
            return ready_at - time.time()
        status, document, wait = self.post("code", {"username": name})
        heapq.heappush(self.names, (time.time() + wait, number, name))
        if status == 202:
            self.request, self.tries_left = document["request"], CODE_TRIES
            self.expires_at = time.time() + LIFETIME - 1
        return 0

    def post(self, path, document):
        self.requests += 1
        return post(self.server, path, document, next(self.addresses))


def post(server, path, document, address):
    """Send JSON; returns the status, the answer, and the seconds to wait."""
    connection = http.client.HTTPConnection(server, timeout=60)
    headers = {"Content-Type": "application/json", "X-Forwarded-For": address}
    connection.request("POST", f"/auth/{path}", json.dumps(document), headers)
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    return answer.status, body, int(answer.headers["Retry-After"] or 0)


def owner_logs_in(server, site):
    """Return whether the owner logs in by a code, at the known address."""
    sent = site.site.outbox.keep_messages()
    mailbox(site)  # the attackers' emails
    sent.clear()
    status, document, _ = post(server, "code", {"username": OWNER}, OWNERS_ADDRESS)
    if status != 202:
        return False
    sent = {"request": document["request"], "code": mailbox(site).codes[-1]}
    return post(server, "code/enter", sent, OWNERS_ADDRESS)[0] == 200


def measure(server, site, make_attackers):
    """Attack for a day; returns the columns of a line."""
    with context.using(site.database):
        AttemptCount.delete().execute()
        site.site.throttle.recognise(User.get(User.username == OWNER), (OWNERS_ADDRESS,))
    attackers, clock, hours, logins = [*make_attackers(server)], Clock(), 0, 0
    ready = dict.fromkeys(attackers, 0.0)
    Tries.total = 0
    while clock.passed < DAY:
        attacker = min(ready, key=ready.get)
        ends_at = min(ready[attacker], hours * HOUR, DAY)
        clock.move(max(ends_at - clock.passed, 0))
        if hours * HOUR <= clock.passed < DAY:
            hours += 1
            logins += owner_logs_in(server, site)
        elif ready[attacker] <= clock.passed:
            ready[attacker] = clock.passed + attacker.act()
    requests = sum(each.requests for each in attackers)
    chance = f"{10**8 / Tries.total:,.0f}"
    return f"{requests:,}", f"{Tries.total:,}", chance, f"{logins} of {hours}"


def fresh_addresses():
    """Return addresses of which none comes twice in a day."""
    return (f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in itertools.count(1))


def one_account(addresses):
    """Return what makes an attacker of one account."""
    return lambda server: [Attacker(server, TWO_NAMES, addresses())]


def all_accounts(count):
    """Return what makes an attacker at each of so many addresses, against all accounts."""

    def make(server):
        names = [f"User{number}" for number in range(USERS)]
        for number in range(count):
            first = number * USERS // count
            address = itertools.repeat(f"198.51.100.{number + 1}")
            yield Attacker(server, names[first:] + names[:first], address)

    return make


ATTACKS = {
    "one account, any number of addresses": one_account(fresh_addresses),
    "one account, one address": one_account(lambda: itertools.repeat("198.51.100.1")),
    "one account, the owner's address": one_account(lambda: itertools.repeat(OWNERS_ADDRESS)),
    "any of 10,000 accounts, one address": all_accounts(1),
    "any of 10,000 accounts, 10 addresses": all_accounts(10),
}


def main(url):
    """Print a line for each of the attacks."""
    logging.disable()  # a line for each refusal
    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url, LOGIN_CODES=True, **MAIL)
    storage.discard_connection(storage.open_database(url, prepare=migrate))
    site = AuthMiddleware(echo, settings, send_mail=Post())
    mailbox(site)  # the emails of strangers' requests are made with the owner's
    with context.using(site.database):
        insert_users(USERS)
        User.update(email_verified_at=utc_now(), email_verified_by="link").execute()
    codes.tries_of = lambda *each: Tries(*limits.tries_of(*each))
    proxy = {"trusted_proxy": "*", "trusted_proxy_headers": {"x-forwarded-for"}}
    with serving(site, **proxy) as address:
        print(LINE.format(*HEAD), flush=True)
        for title, make_attackers in ATTACKS.items():
            columns = measure(address.removeprefix("http://"), site, make_attackers)
            print(LINE.format(title, *columns), flush=True)
    storage.discard_connection(site.database)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(*sys.argv[1:] or [f"sqlite:///{folder}/guesses.db"])
