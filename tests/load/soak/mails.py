"""The mail server, and what is looked for in the emails."""

import email
import email.policy
import re
import threading
from contextlib import contextmanager

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP

from tests.support.sites import free_port
from wsgiauth.mail.letters import plain_text_of

TOKEN = re.compile(r"\?token=(\S+)")
CODE = re.compile(r"^([0-9]{4} [0-9]{4})$", re.MULTILINE)
PATIENCE = 60  # seconds until an email has come
KEPT = 1000


class Postbox:
    """Keeps what the last emails to each address contain: the token of a link, or a code.

    Attributes:
        received: How many emails came.
    """

    def __init__(self):
        self.received = 0
        self._found = {}
        self._changed = threading.Condition()

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        text = plain_text_of(message).replace("\r", "")
        with self._changed:
            self.received += 1
            for pattern in (TOKEN, CODE):
                found = pattern.search(text)
                if found is not None:
                    self._found[envelope.rcpt_tos[0], pattern] = found[1]
            while len(self._found) > KEPT:  # of notices, for which no client waits
                del self._found[next(iter(self._found))]
            self._changed.notify_all()
        return "250 OK"

    def take(self, address, pattern):
        """Return what the next email to an address contains."""
        with self._changed:
            assert self._changed.wait_for(lambda: (address, pattern) in self._found, PATIENCE), (
                f"no email to {address} came"
            )
            return self._found.pop((address, pattern))


class _Controller(Controller):
    def factory(self):
        return SMTP(self.handler, hostname="mail.example.org")


@contextmanager
def receiving():
    """Serve SMTP during the block; yields the port and the postbox."""
    server = _Controller(Postbox(), hostname="127.0.0.1", port=free_port())
    server.start()
    try:
        yield server.port, server.handler
    finally:
        server.stop()
