"""The interface of transports, and their errors, which are logged and so never have an address."""

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
    """The mail server accepts no message of this site at present."""


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
        """Return a transport that sends messages, one after the other, over one connection."""


def sending(transport: Transport) -> AbstractContextManager[Transport]:
    """Return a transport for several messages."""
    if isinstance(transport, ConnectingTransport):
        return transport.connection()
    return nullcontext(transport)
