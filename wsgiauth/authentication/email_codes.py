"""The interface of codes in emails, with which users log in.

`features.login_codes` implements it.
"""

from abc import ABC, abstractmethod

from wsgiauth.accounts.models import User
from wsgiauth.web.cookies import OwnCookie

SEND = "send_code"  # the field of the button at /auth/confirm that sends a code
REQUEST = "request"  # the field that names the request for a code; in a browser, its cookie does


class EmailCodes(ABC):
    """The part of a site that sends codes; see `Site.part`."""

    path: str  # where a client asks for a code, below the mount
    waiting: OwnCookie  # of a browser that has asked for a code

    @abstractmethod
    def can_confirm(self, user: User) -> bool:
        """Return whether a user without a second factor confirms their identity by a code."""
