"""Connections of `smtplib` that a deadline ends, and whose replies are bounded.

The timeout of a socket is for one read, and `smtplib` bounds the length of a line, not the number
of lines of a reply. So a server that sends a byte now and then would keep the only thread that
sends emails, and its lease would end.
"""

import smtplib
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO, cast

from wsgiauth.mail.transports import DeliveryError, MailServerError

# Of one reply; RFC 5321 section 4.5.3.1.5 allows a line of 512 octets.
MAX_LINE = 8 * 1024  # bytes; not more than `smtplib` reads
MAX_REPLY = 64 * 1024  # bytes
MAX_LINES = 100


class Deadline:
    """Ends connections when the time is over, as if the other side had."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self.is_over = False
        self._start()

    def restart(self) -> None:
        """Let the time begin anew; a connection that was ended stays so."""
        self._timer.cancel()
        self._start()

    def close(self) -> None:
        """Watch no connection any more."""
        self._timer.cancel()
        with self._lock:
            for each in self._watched:
                each.close()
            self._watched.clear()

    def watch(self, connected: socket.socket) -> None:
        """End this connection when the time is over, also if it is wrapped in TLS meanwhile."""
        with self._lock:
            if self.is_over:
                raise TimeoutError
            self._watched.append(connected.dup())

    def _start(self) -> None:
        self._timer = threading.Timer(self._seconds, self._end)
        self._timer.daemon = True  # the process need not wait for a mail server
        self._timer.start()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            for each in self._watched:
                with suppress(OSError):  # the other side was faster
                    each.shutdown(socket.SHUT_RDWR)


class _Replies:
    """What a server sends, as the `file` of a connection."""

    def __init__(self, lines: BinaryIO) -> None:
        self._lines = lines
        self.begin()

    def begin(self) -> None:
        """Begin another reply."""
        self._lines_left, self._bytes_left = MAX_LINES, MAX_REPLY

    def readline(self, _limit: int) -> bytes:
        line = self._lines.readline(MAX_LINE + 1)
        self._lines_left -= 1
        self._bytes_left -= len(line)
        if len(line) > MAX_LINE or self._lines_left < 0 or self._bytes_left < 0:
            raise DeliveryError("a reply of the mail server is too long")
        return line

    def close(self) -> None:
        self._lines.close()


class Connection(smtplib.SMTP):
    """A connection that a deadline ends, from before its greeting and its TLS."""

    has_recipient = False  # whether the server was given that of the present message

    def __init__(self, deadline: Deadline, *arguments: Any, **options: Any) -> None:
        self._deadline = deadline
        super().__init__(*arguments, **options)

    def _get_socket(self, *arguments: Any) -> socket.socket:
        connected: socket.socket = super()._get_socket(*arguments)  # type: ignore[misc]
        try:
            self._deadline.watch(connected)
        except OSError:
            connected.close()
            raise
        return connected

    def getreply(self) -> tuple[int, bytes]:
        """Return the code and the text of the next reply.

        Raises:
            DeliveryError: It is too long; the connection is closed.
            smtplib.SMTPServerDisconnected: The server or the deadline ended the connection.
        """
        if self.file is None:  # at first, and after STARTTLS
            self.file = _Replies(cast(socket.socket, self.sock).makefile("rb"))
        self.file.begin()
        try:
            return super().getreply()
        except DeliveryError as error:
            self.close()
            if self.has_recipient:
                raise
            raise MailServerError(str(error)) from None

    def mail(self, sender: str, options: Sequence[str] = ()) -> tuple[int, bytes]:
        """Begin a message."""
        self.has_recipient = False
        return super().mail(sender, options)

    def rcpt(self, recip: str, options: Sequence[str] = ()) -> tuple[int, bytes]:
        """Give the server a recipient."""
        self.has_recipient = True
        return super().rcpt(recip, options)


class TlsConnection(smtplib.SMTP_SSL, Connection):
    """A connection with implicit TLS."""

    def __init__(self, deadline: Deadline, *arguments: Any, **options: Any) -> None:
        self._deadline = deadline
        super().__init__(*arguments, **options)
