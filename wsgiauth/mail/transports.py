"""What sends messages, and how a delivery fails.

No error shows an address, because errors are logged.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from email.message import EmailMessage

from wsgiauth.exceptions import WsgiAuthError

Transport = Callable[[EmailMessage], object]


class DeliveryError(WsgiAuthError):
    """A message was not sent."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final  # whether another attempt would fail, too


class MailServerError(DeliveryError):
    """The mail server takes no message of this site at present; no message is the cause."""


class Kept(list[EmailMessage]):
    """A transport for tests, which keeps the messages; its outbox has no thread."""

    def __call__(self, message: EmailMessage) -> None:
        """Keep a message."""
        self.append(message)


class ConnectingTransport(ABC):
    """A transport that can send several messages by one connection."""

    def __call__(self, message: EmailMessage) -> None:
        """Send one message by a connection of its own."""
        with self.connection() as send:
            send(message)

    @abstractmethod
    def connection(self) -> AbstractContextManager[Transport]:
        """Return what sends messages, one after the other, by one connection."""


def sending(transport: Transport) -> AbstractContextManager[Transport]:
    """Return what sends the messages of a round."""
    if isinstance(transport, ConnectingTransport):
        return transport.connection()
    return nullcontext(transport)
