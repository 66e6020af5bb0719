"""The signed field `account` of forms, which says to which account a page was shown.

Another tab can log in as someone else before the form is sent, which then gets that cookie.
"""

import hmac
from base64 import urlsafe_b64encode
from typing import NamedTuple

from wsgiauth.settings import Settings


class ShownTo(NamedTuple):
    """The account that a page was shown to."""

    user_id: int  # 0 for a client without an account
    identity_id: str = ""  # of the account at a provider that the page was about


class FormAccounts:
    """Makes values under SECRET_KEY, and reads values under SECRET_KEY_FALLBACKS, too.

    A value does not prove who sends it: it is the same in all pages of an account.
    """

    def __init__(self, settings: Settings) -> None:
        self._keys = settings.keys_for("form accounts")

    def value(self, user_id: int, identity_id: str = "") -> str:
        """Return the value of the field in a page that is shown to an account."""
        return _signed(f"{user_id}.{identity_id}", self._keys[0])

    def read(self, value: str) -> ShownTo | None:
        """Return the account that a value names; None if this site did not sign it."""
        payload = value.rpartition(".")[0]
        presented = value.encode(errors="replace")
        for key in self._keys:
            if hmac.compare_digest(presented, _signed(payload, key).encode(errors="replace")):
                user_id, _, identity_id = payload.partition(".")
                return ShownTo(int(user_id), identity_id)
        return None


def _signed(payload: str, key: bytes) -> str:
    code = hmac.digest(key, payload.encode(errors="replace"), "sha256")
    return f"{payload}.{urlsafe_b64encode(code).rstrip(b'=').decode()}"
