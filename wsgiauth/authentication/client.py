"""The client of a login: where a session begins."""

import re
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.web.clients import MAX_USER_AGENT, client_address

_MAX_ADDRESS_LENGTH = 64  # characters
_UNPRINTABLE = re.compile(r"[^ -~]")


class Client(NamedTuple):
    """Where a session begins, for its owner's list: printable ASCII, cut; empty if unknown.

    `language` is that of the site which the client asks for.
    """

    address: str = ""
    agent: str = ""  # the User-Agent
    language: str = ""

    @classmethod
    def of(cls, environ: WSGIEnvironment, language: str = "") -> "Client":
        """Return the client of a request."""
        agent = environ.get("HTTP_USER_AGENT", "")[:MAX_USER_AGENT]
        address = (client_address(environ) or "")[:_MAX_ADDRESS_LENGTH]
        return cls(_UNPRINTABLE.sub("", address), _UNPRINTABLE.sub("", agent), language)
