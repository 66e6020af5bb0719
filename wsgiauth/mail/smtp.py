"""Send messages by a mail server (RFC 6409), with `smtplib`.

The connection is encrypted and the server's certificate is verified, unless the server is on this
host. Errors never show an address, because they are logged.
"""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from functools import cached_property

from wsgiauth.mail.deadlines import Deadline
from wsgiauth.mail.failures import DeliveryError
from wsgiauth.mail.smtp_connections import Connection, TlsConnection
from wsgiauth.settings.mail import MailUrl

TIMEOUT = 15  # seconds to wait for data
DEADLINE = 120  # seconds for everything from the connection on; less than `outbox.LEASE`


class MailServer:
    """A mail server; called with a message, it sends it.

    Args:
        url: The server.
        hostname: The name by which this host greets it.
    """

    def __init__(self, url: MailUrl, hostname: str) -> None:
        self._url = url
        self._hostname = hostname

    def __call__(self, message: EmailMessage) -> None:
        """Send a message to the address in its header `To`.

        Raises:
            DeliveryError: The server cannot be reached or trusted (another attempt can succeed), or
                refuses the message for now (4xx) or for good (5xx).
        """
        with Deadline(DEADLINE) as deadline:
            try:
                self._send(message, deadline)
            except DeliveryError as error:
                if deadline.is_over and not error.is_final:
                    raise DeliveryError("the mail server takes too long") from None
                raise

    def _send(self, message: EmailMessage, deadline: Deadline) -> None:
        with self._connected(deadline) as server:
            try:
                server.send_message(message)
            except smtplib.SMTPNotSupportedError:
                reason = "the address is not ASCII, and the mail server has no SMTPUTF8"
                raise DeliveryError(reason, is_final=True) from None
            except (smtplib.SMTPException, OSError) as error:
                code = _code(error)
                raise DeliveryError(_reason(error), is_final=500 <= code < 600) from None

    @contextmanager
    def _connected(self, deadline: Deadline) -> Iterator[smtplib.SMTP]:
        try:
            server = self._connect(deadline)
        except ssl.SSLCertVerificationError as error:
            raise DeliveryError(f"certificate refused: {error.verify_message}") from None
        except (smtplib.SMTPException, OSError) as error:
            raise DeliveryError(_reason(error)) from None
        try:
            yield server
        finally:
            with suppress(smtplib.SMTPException, OSError):  # the message was accepted or refused
                server.quit()
            server.close()

    def _connect(self, deadline: Deadline) -> smtplib.SMTP:
        url = self._url
        if url.scheme == "smtps":
            server: smtplib.SMTP = TlsConnection(
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


def _log_in(server: smtplib.SMTP, url: MailUrl) -> None:
    try:
        server.login(url.user, url.password)
    except (smtplib.SMTPAuthenticationError, smtplib.SMTPServerDisconnected):
        # `smtplib` tries every mechanism; some servers end the connection before that.
        raise DeliveryError("the mail server refuses the login") from None


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
