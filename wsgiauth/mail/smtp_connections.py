"""Connections of `smtplib` that a deadline ends, and whose replies are bounded.

`smtplib` bounds the length of a line, not the number of lines of a reply.
"""

import smtplib
import socket
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from wsgiauth.mail.deadlines import Deadline
from wsgiauth.mail.failures import DeliveryError, MailServerError

# Of one reply; RFC 5321 section 4.5.3.1.5 allows a line of 512 octets.
MAX_LINE = 8 * 1024  # bytes; not more than `smtplib` reads
MAX_REPLY = 64 * 1024  # bytes
MAX_LINES = 100


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
    """A connection that a deadline ends, from before its greeting and its TLS.

    Args:
        deadline: The deadline.
        arguments, options: Those of `smtplib`.

    Attributes:
        has_recipient: Whether the server was given the recipient of the present message.
    """

    has_recipient = False

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
