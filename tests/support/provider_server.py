"""The server under the OpenID provider of the tests: it can be as slow as a test wants."""

import ssl
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from itertools import repeat
from socket import SHUT_RDWR, create_connection, create_server
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

PIECE = b" " * 4096  # of what has no end


class Request(NamedTuple):
    """What the provider was asked; the names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    form: dict[str, str]


class Server:
    """Serves what `answer` returns for a request, each connection in a thread.

    Attributes:
        port: The system's choice, the same after a restart.
        most_at_once: The most requests that were served at the same time.
    """

    def __init__(self, answer, certificate=None):
        self.answer = answer
        self.port = 0
        self.most_at_once = 0
        self.is_closing = True
        self.lock = threading.Lock()
        self.served = 0
        self._certificate = certificate
        self._connections = set()

    def open(self):
        self.is_closing = False
        self._listener = create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def close(self):
        """End at once, whatever is being sent."""
        if self.is_closing:
            return
        self.is_closing = True
        with suppress(ConnectionRefusedError):  # the connection of a late client has ended it
            create_connection(("127.0.0.1", self.port)).close()  # ends `accept`
        self._accepting.join()

    def _accept(self):
        threads = []
        while True:
            connection, address = self._listener.accept()
            if self.is_closing:
                break
            self._connections.add(connection)
            threads = [each for each in threads if each.is_alive()]
            threads.append(threading.Thread(target=self._serve, args=(connection, address)))
            threads[-1].start()
        connection.close()
        self._listener.close()
        for each in tuple(self._connections):
            with suppress(OSError):
                each.shutdown(SHUT_RDWR)
        for each in threads:
            each.join()

    def _serve(self, connection, address):
        # A client goes away before the end, or does not trust the certificate.
        with suppress(OSError), connection:
            if self._certificate is None:
                _Handler(connection, address, self)
            else:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self._certificate)
                with context.wrap_socket(connection, server_side=True) as secured:
                    _Handler(secured, address, self)
        self._connections.discard(connection)


class _Handler(BaseHTTPRequestHandler):
    timeout = 60

    def do_GET(self):
        with self.server.lock:
            self.server.served += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.served)
        try:
            self._send(self.server.answer(self._request()))
        finally:
            with self.server.lock:
                self.server.served -= 1

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_):
        """Print nothing."""

    def _request(self):
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        query, form = (dict(parse_qsl(each, True)) for each in (parts.query, body))
        return Request(self.command, parts.path, query, headers, form)

    def _send(self, answer):
        self.close_connection = True
        self._wait(answer.delay)
        if answer.held is not None:
            answer.held.wait(lambda: self.server.is_closing)
        if answer.hangs_up:
            return
        head = answer.head()
        if answer.has_endless_head:
            self._send_forever(head[:-2], b"X-More: " + PIECE[:1000] + b"\r\n")
        self._send_slowly(head, answer.drip if answer.drips_head else 0)
        self._send_slowly(answer.body, answer.drip)
        if answer.is_endless:
            self._send_forever(b"", PIECE)

    def _send_slowly(self, octets, seconds):
        if not seconds:
            self.wfile.write(octets)
            return
        for each in octets:
            self.wfile.write(bytes([each]))
            self._wait(seconds)

    def _send_forever(self, first, more):
        self.wfile.write(first)
        for each in repeat(more):
            self.wfile.write(each)

    def _wait(self, seconds):
        end = time.monotonic() + seconds
        while not self.server.is_closing and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.02))
