"""A limit for the whole of a conversation, whatever the other side does.

The timeout of a socket is for one read. A server that sends a byte now and then would keep the only
thread that sends mails, and its lease would end.
"""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class Deadline:
    """Ends connections when the time is over, as if the other side had; a context manager.

    Args:
        seconds: From the beginning of the `with` block, or from `restart`.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer = self._make_timer()
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self.is_over = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            for each in self._watched:
                each.close()
            self._watched.clear()

    def restart(self) -> None:
        """Let the time begin anew; a connection that was ended stays so."""
        self._timer.cancel()
        self._timer = self._make_timer()
        self._timer.start()

    def watch(self, connected: socket.socket) -> None:
        """End this connection when the time is over, also if it is wrapped in TLS meanwhile.

        Raises:
            TimeoutError: The time is over.
        """
        with self._lock:
            if self.is_over:
                raise TimeoutError
            self._watched.append(connected.dup())

    def _make_timer(self) -> threading.Timer:
        timer = threading.Timer(self._seconds, self._end)
        timer.daemon = True  # the process need not wait for a mail server
        return timer

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            for each in self._watched:
                with suppress(OSError):  # the other side was faster
                    each.shutdown(socket.SHUT_RDWR)
