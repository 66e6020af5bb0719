"""How a delivery fails. No message shows an address, because it is logged."""

from wsgiauth.exceptions import WsgiAuthError


class DeliveryError(WsgiAuthError):
    """A message was not sent.

    Attributes:
        is_final: Whether another attempt would fail, too.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class MailServerError(DeliveryError):
    """The mail server takes no message of this site at present; no message is the cause."""
