"""Eight processes that act at the same moment, and one that serves until it is killed."""

from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from http.client import HTTPConnection
from json import dumps, loads

from tests.support.sites import FORKSERVER, echo, serving
from wsgiauth import AuthMiddleware, storage
from wsgiauth.mail.worker import Worker
from wsgiauth.storage import databases, postgres_mysql

PROCESSES = 8
THREADS = 4  # of a server
PATIENCE = 200  # seconds to wait for a lock, where a test is not about that


@contextmanager
def eight_processes():
    """Yield a function that calls another in eight processes at the same moment.

    Each gets the URL of the database, and one of `numbers` if there are eight. The processes serve
    one test after the other, so none of them sends mail unless it is asked to.
    """
    barrier = FORKSERVER.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, FORKSERVER, _prepare, (barrier,)) as executor:

        def call(action, url, numbers=None):
            arguments = [(url,)] * PROCESSES if numbers is None else [(url, n) for n in numbers]
            calls = [executor.submit(_together, action, *each) for each in arguments]
            wait(calls)
            barrier.reset()  # for the tests that follow, if one of these failed
            return [each.result() for each in calls]

        yield call


def meet():
    """Wait, in one of the eight processes, until all of them are here."""
    _together.barrier.wait(timeout=PATIENCE)


def _prepare(barrier):
    _together.barrier = barrier
    Worker._start = lambda *_: None
    databases.BUSY_TIMEOUT = postgres_mysql.Server.lock_timeout = PATIENCE
    postgres_mysql.Server.read_timeout = None


def _together(action, *arguments):
    meet()
    try:
        return action(*arguments)
    finally:
        storage.discard_connection(storage.current())


@contextmanager
def started(settings, clock=None):
    """Yield a process that serves a site and the address; it is killed in the end.

    Its clock always shows `clock` (seconds since the epoch), if that is given.
    """
    pipe, its_end = FORKSERVER.Pipe()
    process = FORKSERVER.Process(target=_serve, args=(settings, clock, its_end))
    process.start()
    its_end.close()
    try:
        yield process, pipe.recv()
    finally:
        process.kill()
        process.join()
        process.close()
        pipe.close()


def _serve(settings, clock, pipe):
    site = AuthMiddleware(echo, settings)
    if clock is not None:
        site.site.tokens.now = lambda: clock
    with serving(site, threads=THREADS) as address:
        pipe.send(address.removeprefix("http://"))
        pipe.recv()


class Client:
    """Keeps one connection to a server."""

    def __init__(self, address):
        self.connection = HTTPConnection(address, timeout=200)

    def ask(self, method, path, fields=None, token=None):
        """Return the status and the JSON; a server that is busy is asked again."""
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        while True:
            self.connection.request(method, path, fields and dumps(fields), headers)
            response = self.connection.getresponse()
            answer = loads(response.read())
            if response.status != 503 or answer["code"] != "busy":
                return response.status, answer
