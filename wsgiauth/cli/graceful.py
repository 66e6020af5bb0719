"""The loop of `serve`, which answers every request that has arrived before it ends.

It also sends the emails and logout tokens of these requests: what a killed process was sending
waits for minutes.

After a signal, waitress itself answers only the requests that it is processing. It goes on to
accept connections, and resets them in the end. A proxy cannot send their requests to another
process, because it does not know whether they were processed.
"""

import select
import signal
import time
from types import FrameType
from typing import Any

from waitress import wasyncore

from wsgiauth.cli import systemd
from wsgiauth.cli.connections import close_stalled, make_room
from wsgiauth.mail import worker

PATIENCE = 0.5  # seconds for a request on a connection that has just been made
PAUSE = 1.0  # seconds between two looks for clients that read nothing, and signs of life
GRACE = 9  # seconds for requests in progress and what they send: a container is killed after ten

Connections = dict[int, Any]  # waitress's "map"


class Loop:
    """Serves until SIGTERM; then refuses connections, answers all requests, and sends their emails.

    Args:
        server: From `waitress.create_server`, with one socket.
        connections: The map of the server.
    """

    def __init__(self, server: Any, connections: Connections) -> None:
        self._server = server
        self._connections = connections
        self._is_terminated = False
        signal.signal(signal.SIGTERM, self._terminate)

    def run(self) -> None:
        """Serve until the process is terminated; a KeyboardInterrupt ends requests in progress."""
        looked_at = time.monotonic()
        is_watched = systemd.is_watched()
        systemd.notify(systemd.READY)
        try:
            while not self._is_terminated:
                timeout = self._server.adj.asyncore_loop_timeout
                wasyncore.loop(timeout, map=self._connections, count=1)
                make_room(self._server, self._connections)
                if time.monotonic() - looked_at > PAUSE:
                    looked_at = time.monotonic()
                    close_stalled(self._server)
                    if is_watched:
                        systemd.notify(systemd.ALIVE)
            systemd.notify(systemd.STOPPING)
            _finish(self._server, self._connections)
        finally:
            self._server.task_dispatcher.shutdown(timeout=1)

    def _terminate(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_terminated = True
        self._server.pull_trigger()  # wakes the loop


def _finish(server: Any, connections: Connections) -> None:
    _accept_waiting(server, connections)
    wasyncore.dispatcher.close(server)  # without its trigger, by which threads wake the loop
    begun = time.monotonic()
    while _is_to_wait(server, time.monotonic() - begun):
        wasyncore.loop(PATIENCE / 10, use_poll=True, map=connections, count=1)
    worker.finish_all(begun + GRACE)


def _accept_waiting(server: Any, connections: Connections) -> None:
    """Accept waiting connections, which would be reset; a flood must not delay the end."""
    end = time.monotonic() + PATIENCE
    number = -1
    while len(connections) > number and time.monotonic() < end:
        number = len(connections)
        if select.select([server.socket], [], [], 0)[0]:
            server.handle_accept()  # adds none at the limit of descriptors


def _is_to_wait(server: Any, seconds: float) -> bool:
    channels = server.active_channels.values()  # a connection each
    is_busy = any(each.requests or each.request or each.total_outbufs_len for each in channels)
    return bool(channels) and seconds < (GRACE if is_busy else PATIENCE)
