"""The application that tests wrap, the people in it, and a real server for it."""

import json
import multiprocessing
import os
import secrets
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

import waitress
from waitress import wasyncore

from tests.support.leftovers import ending_with_parent

# New processes without the state of this one, which import what tests need once for all.
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["tests.conftest"])

WORKERS = 16  # of `pytest --parallel` that never get the same port
_given_ports = set()  # by this worker

SECRET_KEY = "kR3vJ8qWz1mT6yBn4cXf9sLp2dHg7aUe5oViQwMtYrZxN0bCjKlEuPGhSDAFOI"

USERNAME = "Ada"
EMAIL = "ada@example.org"
PASSWORD = "four unrelated words"

# What Chromium sends when a person opens a page.
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
# ... and when a page of the same site sends a form.
SAME_ORIGIN = {**BROWSER, "Sec-Fetch-Site": "same-origin"}


def echo(environ, start_response):
    """Answer with what an application is told about its caller."""
    user = environ["wsgiauth.user"]
    seen = {
        "user": None if user is None else user.username,
        "session": environ["wsgiauth.session"],
        "key": environ["wsgiauth.key"],
        "error": environ["wsgiauth.error"],
        "remote_user": environ.get("REMOTE_USER"),
        "auth_type": environ.get("AUTH_TYPE"),
        "script_name": environ.get("SCRIPT_NAME", ""),
        "path_info": environ.get("PATH_INFO", ""),
    }
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(seen).encode()]


class Stage:
    """The app of a server that outlives the test: a browser is slow to let go of connections."""

    def __init__(self):
        self.app = None

    def __call__(self, environ, start_response):
        return self.app(environ, start_response)


@contextmanager
def serving(app, **options):
    """Serve `app` by waitress on a port of the system's choice; yields the address."""
    sockets = {}
    options = {"listen": "127.0.0.1:0", "threads": 8, **options}
    server = waitress.create_server(app, map=sockets, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        # In the server's own thread, with the connections that browsers keep open; then it ends.
        # The lock keeps it from closing the trigger, awake as it may be, before that is pulled.
        with server.trigger.lock:
            server.trigger.thunks.append(lambda: wasyncore.close_all(sockets))
            server.trigger.pull_trigger()
        thread.join()
        server.task_dispatcher.shutdown()


@contextmanager
def spawned(target, *arguments):
    """Run `target(*arguments, pipe)` in a process until the end of the body, when it is told so.

    Yields the process, and what it sends first.
    """
    pipe, its_end = FORKSERVER.Pipe()
    process = FORKSERVER.Process(target=target, args=(*arguments, its_end))
    process.start()
    its_end.close()
    try:
        yield process, pipe.recv()
    finally:
        pipe.send("stop")
        process.join()
        process.close()
        pipe.close()


def free_port():
    """Return a port on which nobody listens, for a program that cannot choose one itself.

    The system gives out ports above 32767, and each worker of the tests has ports of its own
    here, so that no other socket takes the port before the program does, or while it restarts.
    No port is given twice, because a program can take a while to listen.
    """
    worker = int(os.environ.get("TEST_WORKER", 0)) % WORKERS
    while True:
        port = 10_000 + WORKERS * secrets.randbelow(1_300) + worker
        if port in _given_ports:
            continue
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            _given_ports.add(port)
            return port


@contextmanager
def running(command, **options):
    """Run a command line that serves on port 8080, on a free port instead; yields the port."""
    port = free_port()
    with started(command.replace("8080", str(port)).split(), port, **options):
        yield port


@contextmanager
def started(command, port, **options):
    """Run a server that listens on a port, from when it does until the end of the body."""
    server = subprocess.Popen(ending_with_parent(command), **options)
    try:
        wait_for(server, port)
        yield
    finally:
        end(server)


def end(server):
    """Terminate a server; again after a while, since uWSGI ignores that while it starts."""
    while server.poll() is None:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(5)


def wait_for(server, port):
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server ended before it answered")
