"""The signed field `account` of forms, which says to which account a page was shown.

Another tab can log in as someone else before the form is sent, which then gets that cookie.
"""

from typing import NamedTuple

from wsgiauth.settings import Settings
from wsgiauth.signed_values import Purpose, SignedValues

_PURPOSE = Purpose("form accounts")


class ShownTo(NamedTuple):
    """The account that a page was shown to."""

    user_id: int  # 0 for a client without an account
    identity_id: str = ""  # of the account at a provider that the page was about


class FormAccounts:
    """Makes and reads values.

    A value does not prove who sends it: it is the same in all pages of an account.
    """

    def __init__(self, settings: Settings) -> None:
        self._values = SignedValues(settings, _PURPOSE)

    def value(self, user_id: int, identity_id: str = "") -> str:
        """Return the value of the field in a page that is shown to an account."""
        return self._values.sign(f"{user_id}.{identity_id}".encode())

    def read(self, value: str) -> ShownTo | None:
        """Return the account that a value names; None if this site did not sign it."""
        payload = self._values.read(value)
        if payload is None:
            return None
        user_id, _, identity_id = payload.decode().partition(".")
        return ShownTo(int(user_id), identity_id)
