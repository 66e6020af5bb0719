"""A server that receives webhooks, and verifies them with the library of the specification."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from standardwebhooks import webhooks
from standardwebhooks.webhooks import Webhook

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
OTHER_KEY = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs="
SECRET = "t0ken-in-the-url"
PATH = f"/services/{SECRET}?token={SECRET}"


class Received:
    """A request that a receiver got: its headers, and the body as bytes."""

    def __init__(self, headers, body):
        self.headers, self.body = headers, body

    @property
    def id(self):
        return self.headers["webhook-id"]

    @property
    def document(self):
        return json.loads(self.body)

    @property
    def type(self):
        return self.document["type"]

    def verify(self, key=KEY):
        """Return what the library returns, whose clock is that of the request."""
        now = int(self.headers["webhook-timestamp"])
        headers = {name.lower(): value for name, value in self.headers.items()}
        with at(now):
            return Webhook(key).verify(self.body, headers)


@contextmanager
def at(now):
    """Let the library believe that it is this time."""
    former = webhooks.datetime

    class Stopped(former):
        @classmethod
        def now(cls, tz=None):
            return former.fromtimestamp(now, tz)

    webhooks.datetime = Stopped
    try:
        yield
    finally:
        webhooks.datetime = former


class Receiver:
    """What a server got.

    Attributes:
        url: Where it receives webhooks; it has a secret.
        statuses: What to answer instead of 204, in order.
        headers: Further lines of the answers.
        action: Called before each answer.
    """

    def __init__(self, address):
        self.host = address.removeprefix("http://")
        self.url = f"{address}{PATH}"
        self.reset()

    def reset(self):
        self.requests, self.statuses, self.headers = [], [], []
        self.paths = []
        self.action = lambda: None

    def take(self):
        """Return the requests that came since the last call."""
        taken, self.requests = self.requests, []
        return taken


@contextmanager
def receiving():
    """Yield a `Receiver` on a port of the system's choice."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.paths.append(self.path)
            receiver.requests.append(Received(dict(self.headers), body))
            receiver.action()
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            for name, value in receiver.headers:
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
