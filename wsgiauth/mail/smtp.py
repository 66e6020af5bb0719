"""Send messages by a mail server (RFC 6409), with `smtplib`.

The connection is encrypted, with a verified certificate, unless the server is on this host.
"""

import io
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from functools import cached_property
from typing import Any, cast

from wsgiauth.mail.transports import ConnectingTransport, DeliveryError, MailServerError, Transport
from wsgiauth.settings.mail import MailUrl
from wsgiauth.web.certificates import problem_of

TIMEOUT = 15  # seconds to wait for data
DEADLINE = 120  # seconds for a message, and for its connection; less than half of `outbox.LEASE`
MAX_REPLY = 64 * 1024  # bytes; `smtplib` bounds a line, not the number of lines
MAILS_PER_CONNECTION = 50  # some servers accept no more


class Watchdog:
    """Ends a connection when the time for a message is over.

    The timeout of a socket is for one read. So a server that sends a byte now and then would occupy
    the only thread that sends emails, and the lease would end.
    """

    is_over = False
    _watched: socket.socket | None = None

    @contextmanager
    def deadline(self) -> Iterator[None]:
        """Limit the time of a block."""
        timer = threading.Timer(DEADLINE, self._end)
        timer.daemon = True  # the process need not wait for a mail server
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def watch(self, connected: socket.socket) -> None:
        """End this connection at the deadline, also if it is wrapped in TLS meanwhile."""
        self._watched = connected.dup()
        if self.is_over:
            raise TimeoutError

    def close(self) -> None:
        """Stop watching the connection."""
        if self._watched is not None:
            self._watched.close()

    def _end(self) -> None:
        self.is_over = True
        if self._watched is not None:
            with suppress(OSError):  # the server was faster
                self._watched.shutdown(socket.SHUT_RDWR)


class _Replies(io.BufferedReader):
    """The replies of a server: one that is too long ends as if the server had disconnected."""

    left = MAX_REPLY

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return a line, or b"" at the end."""
        line = super().readline(size)
        self.left -= len(line)
        return line if self.left >= 0 and len(line) != size else b""


class Connection(smtplib.SMTP):
    """A connection that a watchdog watches, from before its greeting and its TLS."""

    has_recipient = False  # whether the server was given the recipient of the present message

    def __init__(
        self, watchdog: Watchdog, url: MailUrl, hostname: str, tls: ssl.SSLContext | None
    ) -> None:
        self._watchdog = watchdog
        self._tls = tls
        super().__init__(url.host, url.port, hostname, timeout=TIMEOUT)

    def _get_socket(self, host: str, *arguments: Any) -> socket.socket:
        connected: socket.socket = super()._get_socket(host, *arguments)  # type: ignore[misc]
        try:
            self._watchdog.watch(connected)
            tls = self._tls
            return tls.wrap_socket(connected, server_hostname=host) if tls else connected
        except OSError:
            connected.close()
            raise

    def getreply(self) -> tuple[int, bytes]:
        """Return the code and the text of the next reply."""
        if self.file is None:  # at first, and after STARTTLS
            self.file = _Replies(cast(socket.socket, self.sock).makefile("rb", 0))
        self.file.left = MAX_REPLY
        return super().getreply()

    def rcpt(self, *arguments: Any, **options: Any) -> tuple[int, bytes]:
        """Give the server a recipient."""
        self.has_recipient = True
        return super().rcpt(*arguments, **options)


class MailServer(ConnectingTransport):
    """A mail server; called with a message, it sends it."""

    def __init__(self, url: MailUrl, hostname: str) -> None:
        self._url = url
        self._hostname = hostname  # by which this host greets the server

    @contextmanager
    def connection(self) -> Iterator[Transport]:
        """Return a transport that sends over one connection, or another one if it fails."""
        connection = RenewedConnection(self._connect)
        try:
            yield connection.send
        finally:
            connection.close()

    def _connect(self, watchdog: Watchdog) -> Connection:
        try:
            return self._connected(watchdog)
        except ssl.SSLCertVerificationError as error:
            reason = f"{problem_of(error)}: {error.verify_message}"
            raise MailServerError(reason) from None
        except (smtplib.SMTPException, OSError) as error:
            raise MailServerError(_reason(error)) from None

    def _connected(self, watchdog: Watchdog) -> Connection:
        url = self._url
        tls = self._tls if url.scheme == "smtps" else None
        server = Connection(watchdog, url, self._hostname, tls)
        try:
            if url.scheme == "smtp" and not url.is_local:
                server.starttls(context=self._tls)
            if url.user:
                _log_in(server, url)
        except BaseException:
            server.close()
            raise
        return server

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()


class RenewedConnection:
    """Sends over one connection. Opens it on first use, and reopens it after a failure."""

    def __init__(self, connect: Callable[[Watchdog], Connection]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._watchdog = Watchdog()  # of this connection
        self._number = 0  # of messages that the connection has sent

    def send(self, message: EmailMessage) -> None:
        """Send a message, over another connection if a used one fails before the recipient.

        Raises:
            MailServerError: The server cannot be reached or trusted, or refuses this site.
            DeliveryError: It refuses the message for now (4xx) or for good (5xx), or fails.
        """
        if self._number == MAILS_PER_CONNECTION:
            self.close()
        is_used = self._number > 0
        try:
            self._send(message)
        except MailServerError:
            self.close()
            if not is_used:
                raise
            self.send(message)
        except BaseException:
            self.close()
            raise
        else:
            self._number += 1

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._connection is not None:
            with suppress(smtplib.SMTPException, OSError):
                self._connection.putcmd("quit")  # without waiting for the reply
            self._connection.close()
        self._watchdog.close()
        self._connection, self._watchdog, self._number = None, Watchdog(), 0

    def _send(self, message: EmailMessage) -> None:
        try:
            with self._watchdog.deadline():
                if self._connection is None:
                    self._connection = self._connect(self._watchdog)
                _transmit(message, self._connection)
        except DeliveryError as error:
            if self._watchdog.is_over and not error.is_final:
                raise type(error)("the mail server takes too long") from None
            raise


def _transmit(message: EmailMessage, connection: Connection) -> None:
    connection.has_recipient = False
    try:
        connection.send_message(message)
    except smtplib.SMTPNotSupportedError:
        reason = "the address is not ASCII, and the mail server has no SMTPUTF8"
        raise DeliveryError(reason, is_final=True) from None
    except (smtplib.SMTPException, OSError) as error:
        if connection.has_recipient:
            is_final = 500 <= _code(error) < 600
            raise DeliveryError(_reason(error), is_final=is_final) from None
        # MAIL FROM depends on the message only by SMTPUTF8, for an address that is not ASCII.
        kind = MailServerError if message["To"].isascii() else DeliveryError
        raise kind(_reason(error)) from None


def _log_in(server: smtplib.SMTP, url: MailUrl) -> None:
    try:
        server.login(url.user, url.password)
    except (smtplib.SMTPAuthenticationError, smtplib.SMTPServerDisconnected):
        # `smtplib` tries every mechanism; some servers end the connection before that.
        raise MailServerError("the mail server refuses the login") from None


def _code(error: Exception) -> int:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return max(code for code, _ in error.recipients.values())
    return getattr(error, "smtp_code", 0)


def _reason(error: Exception) -> str:
    """Return the cause without the server's words, which can have an address."""
    code = _code(error)
    if code:
        return f"{type(error).__name__} {code}"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "the mail server does not offer STARTTLS or AUTH"
    return type(error).__name__
