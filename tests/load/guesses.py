"""How many guesses at a second factor are compared in a minute: `make measure NAME=guesses`.

Two server processes share a database. Thirty-two attackers know the password: each has a pending
login of their own at one of the two, and sends one code after the other, from one address each.
Meanwhile the owner logs in with each new code. What is counted is what the
processes really compared with the codes of the app, not what was answered. Addresses are those
that a trusted proxy forwards.

With an URL, the database is that one, which must be empty: `python -m tests.load.guesses URL`.
"""

import http.client
import logging
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from urllib.parse import urlencode

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.sites import EMAIL, FORKSERVER, PASSWORD, SECRET_KEY, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication.form_accounts import FormAccounts
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.features.factors.totp import STEP
from wsgiauth.storage import context
from wsgiauth.storage.schema import migrate
from wsgiauth.throttling.counts import AttemptCount

ATTACKERS = 32
PROCESSES = 2
DURATION = 60  # seconds
OWNERS_ADDRESS = "192.0.2.1"

LINE = "{:44}{:>10}{:>10}{:>10}{:>20}"
HEAD = ("a minute of 32 attackers", "requests", "compared", "429", "owner in after, s")


def settings_of(url):
    return Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url, FACTOR_KEY=FACTOR_KEY, BCRYPT_ROUNDS=4)


def serve(url, compared, pipe):
    """Serve until told to end; counts the guesses of attackers that are compared."""
    logging.disable()  # a line for each refusal
    accept = SecondFactors.accept

    def counting(factors, user, code, *further):
        if code == WRONG:
            with compared.get_lock():
                compared.value += 1
        return accept(factors, user, code, *further)

    SecondFactors.accept = counting
    site = AuthMiddleware(echo, settings_of(url))
    proxy = {"trusted_proxy": "*", "trusted_proxy_headers": {"x-forwarded-for"}}
    with serving(site, threads=16, **proxy) as address:
        pipe.send(address.removeprefix("http://"))
        pipe.recv()


WRONG = "wrong!"  # as long as a code, and never one
# In the forms of the second step, those of the only user.
ACCOUNT = {"account": FormAccounts(Settings(SECRET_KEY=SECRET_KEY)).value(1)}


@contextmanager
def in_process(target, *arguments):
    """Run `target` in a process until the end of the body; yields what it sends first."""
    pipe, its_end = FORKSERVER.Pipe()
    process = FORKSERVER.Process(target=target, args=(*arguments, its_end))
    process.start()
    try:
        yield pipe.recv()
    finally:
        pipe.send("stop")
        process.join()


def post(server, path, fields, address, cookie=""):
    """Send a form as a browser does; returns the status and the cookie that was set."""
    connection = http.client.HTTPConnection(server, timeout=60)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Forwarded-For": address,
        "Cookie": cookie,
    }
    connection.request("POST", f"/auth/{path}", urlencode(fields), headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, (answer.headers["Set-Cookie"] or "").partition(";")[0]


def pending_login(server, address):
    """Log in by the password alone; returns the cookie of the pending login."""
    while True:
        form = {"username": USERNAME, "password": PASSWORD}
        status, cookie = post(server, "login", form, address)
        if status == 303:
            return cookie
        time.sleep(0.2)


def guess(server, address, cookie, start, stop):
    """Send codes until told to end; returns how often each status was the answer."""
    statuses = Counter()
    start.wait()
    while not stop.is_set():
        status, _ = post(server, "second", {**ACCOUNT, "code": WRONG}, address, cookie)
        statuses[status] += 1
        if status == 302:  # a login of the owner has ended the pending ones
            cookie = pending_login(server, address)
    return statuses


def be_owner(servers, app, address, stop):
    """Log in with the right code whenever there is a new one; returns when it succeeded."""
    begun, successes, pause = time.monotonic(), [], 1
    while not stop.wait(pause):
        server = servers[len(successes) % len(servers)]
        cookie = pending_login(server, address)
        is_in = post(server, "second", {**ACCOUNT, "code": app.code()}, address, cookie)[0] == 303
        if is_in:
            successes.append(time.monotonic() - begun)
        pause = STEP if is_in else 1
    return successes


def measure(servers, compared, app, addresses, owner_at):
    """Attack for a minute; returns the columns of a line."""
    start, stop = threading.Event(), threading.Event()
    with ThreadPoolExecutor(ATTACKERS + 1) as threads:
        calls = []
        for number, address in enumerate(addresses):
            server = servers[number % len(servers)]
            cookie = pending_login(server, address)
            calls.append(threads.submit(guess, server, address, cookie, start, stop))
        compared.value = 0
        start.set()
        owner = owner_at and threads.submit(be_owner, servers, app, owner_at, stop)
        time.sleep(DURATION)
        stop.set()
        statuses = sum((call.result() for call in calls), Counter())
        successes = owner.result() if owner else []
    return (
        statuses.total(),
        compared.value,
        statuses[429],
        " ".join(f"{each:.0f}" for each in successes),
    )


def main(url):
    """Print a line for each of the attacks."""
    settings = settings_of(url)
    storage.discard_connection(storage.open_database(url, prepare=migrate))
    site = AuthMiddleware(echo, settings)
    with context.using(site.database):
        app = add_app(site, create_user(USERNAME, EMAIL, PASSWORD, settings=settings))
    strangers = [f"198.51.100.{number}" for number in range(ATTACKERS)]
    neighbours = [OWNERS_ADDRESS] * (ATTACKERS // 2) + strangers[ATTACKERS // 2 :]
    compared = FORKSERVER.Value("i", 0)
    with ExitStack() as stack:
        serves = [in_process(serve, url, compared) for _ in range(PROCESSES)]
        servers = [stack.enter_context(each) for each in serves]
        print(LINE.format(*HEAD), flush=True)
        for title, addresses, owner_at, is_known in (
            ("strangers", strangers, "", False),
            ("strangers; the owner at a new address", strangers, OWNERS_ADDRESS, False),
            ("strangers; the owner at a known address", strangers, OWNERS_ADDRESS, True),
            ("half of them at the owner's known address", neighbours, OWNERS_ADDRESS, True),
        ):
            with context.using(site.database):
                AttemptCount.delete().execute()
                if is_known:
                    ada = User.get()
                    site.site.throttle.second_factor(ada, (OWNERS_ADDRESS,)).succeeded()
            columns = measure(servers, compared, app, addresses, owner_at)
            print(LINE.format(title, *columns), flush=True)
    storage.discard_connection(site.database)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(*sys.argv[1:] or [f"sqlite:///{folder}/guesses.db"])
