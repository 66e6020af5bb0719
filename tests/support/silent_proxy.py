"""A network in front of a server, which can fall silent."""

import socket
import socketserver
import threading
from contextlib import contextmanager, suppress


@contextmanager
def running_proxy(upstream):
    """Yield a proxy of the server at an address, which is a host and a port."""
    proxy = Proxy(upstream)
    thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


class Proxy(socketserver.ThreadingTCPServer):
    """A network in front of a server, which can swallow everything without closing anything."""

    def __init__(self, upstream):
        super().__init__(("127.0.0.1", 0), ProxyConnection)
        self.upstream = upstream
        self.is_silent = False
        self.accepted = 0
        self.received = []  # what clients and server sent

    def pump(self, source, target):
        with suppress(OSError):
            while data := source.recv(65536):
                self.received.append(data)
                if not self.is_silent:
                    target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


class ProxyConnection(socketserver.BaseRequestHandler):
    def handle(self):
        self.server.accepted += 1
        with socket.create_connection(self.server.upstream) as upstream:
            answers = threading.Thread(target=self.server.pump, args=(upstream, self.request))
            answers.start()
            self.server.pump(self.request, upstream)
            answers.join()
