"""Send messages by a mail server (RFC 6409), with `smtplib`.

The connection is encrypted and the server's certificate is verified, unless the server is on this
host.
"""

import smtplib
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from email.message import EmailMessage
from functools import cached_property

from wsgiauth.mail.smtp_connections import Connection, Deadline, TlsConnection
from wsgiauth.mail.transports import ConnectingTransport, DeliveryError, MailServerError, Transport
from wsgiauth.settings.mail import MailUrl

TIMEOUT = 15  # seconds to wait for data
DEADLINE = 120  # seconds for a message, and for its connection; less than half of `outbox.LEASE`
MAILS_PER_CONNECTION = 50  # some servers accept no more


class MailServer(ConnectingTransport):
    """A mail server; called with a message, it sends it."""

    def __init__(self, url: MailUrl, hostname: str) -> None:
        self._url = url
        self._hostname = hostname  # by which this host greets the server

    @contextmanager
    def connection(self) -> Iterator[Transport]:
        """Return what sends messages by one connection, or by another one if it fails."""
        connection = RenewedConnection(self._connect)
        try:
            yield connection.send
        finally:
            connection.close()

    def _connect(self, deadline: Deadline) -> Connection:
        try:
            return self._connected(deadline)
        except ssl.SSLCertVerificationError as error:
            raise MailServerError(f"certificate refused: {error.verify_message}") from None
        except (smtplib.SMTPException, OSError) as error:
            raise MailServerError(_reason(error)) from None

    def _connected(self, deadline: Deadline) -> Connection:
        url = self._url
        if url.scheme == "smtps":
            server: Connection = TlsConnection(
                deadline, url.host, url.port, self._hostname, timeout=TIMEOUT, context=self._tls
            )
        else:
            server = Connection(deadline, url.host, url.port, self._hostname, timeout=TIMEOUT)
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
    """Sends messages by a connection, which it opens when it is needed, and anew if it fails."""

    def __init__(self, connect: Callable[[Deadline], Connection]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._number = 0  # of messages that the connection has sent
        self._ends = ExitStack()

    def send(self, message: EmailMessage) -> None:
        """Send a message to the address in its header `To`.

        If a connection that has sent others fails before the recipient, another one is opened.

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
        self._connection, self._number = None, 0
        self._ends.close()

    def _send(self, message: EmailMessage) -> None:
        try:
            if self._connection is None:
                self._deadline = Deadline(DEADLINE)
                self._ends.callback(self._deadline.close)
                self._connection = self._connect(self._deadline)
                self._ends.callback(_quit, self._connection)
            else:
                self._deadline.restart()
            _transmit(message, self._connection)
        except DeliveryError as error:
            if self._deadline.is_over and not error.is_final:
                raise type(error)("the mail server takes too long") from None
            raise


def _transmit(message: EmailMessage, connection: Connection) -> None:
    try:
        connection.send_message(message)
    except smtplib.SMTPNotSupportedError:
        reason = "the address is not ASCII, and the mail server has no SMTPUTF8"
        raise DeliveryError(reason, is_final=True) from None
    except (smtplib.SMTPException, OSError) as error:
        if connection.has_recipient:
            is_final = 500 <= _code(error) < 600
            raise DeliveryError(_reason(error), is_final=is_final) from None
        # MAIL FROM has nothing of the message but, for an address that is not ASCII, SMTPUTF8.
        kind = MailServerError if message["To"].isascii() else DeliveryError
        raise kind(_reason(error)) from None


def _quit(connection: Connection) -> None:
    """End a connection; the answer changes nothing, and is not awaited."""
    with suppress(smtplib.SMTPException, OSError):
        connection.putcmd("quit")
    connection.close()


def _log_in(server: smtplib.SMTP, url: MailUrl) -> None:
    try:
        server.login(url.user, url.password)
    except (smtplib.SMTPAuthenticationError, smtplib.SMTPServerDisconnected):
        # `smtplib` tries every mechanism; some servers end the connection before that.
        raise MailServerError("the mail server refuses the login") from None


def _code(error: Exception) -> int:
    """Return the reply code of a refusal, or 0."""
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
