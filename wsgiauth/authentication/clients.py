"""Where a login begins, for its owner's list."""

import re
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.web.clients import MAX_USER_AGENT, client_address

MAX_ADDRESS_LENGTH = 64  # characters

_UNPRINTABLE = re.compile(r"[^ -~]")


class Client(NamedTuple):
    """Where a login begins.

    Attributes:
        address: The client's address, or nothing.
        agent: Its User-Agent, or nothing. Both are cut, and have printable ASCII only.
    """

    address: str = ""
    agent: str = ""

    @classmethod
    def of(cls, environ: WSGIEnvironment) -> "Client":
        """Return the client of a request."""
        agent = environ.get("HTTP_USER_AGENT", "")[:MAX_USER_AGENT]
        address = (client_address(environ) or "")[:MAX_ADDRESS_LENGTH]
        return cls(_UNPRINTABLE.sub("", address), _UNPRINTABLE.sub("", agent))


UNKNOWN = Client()
