"""What a provider answers, and how a test spoils it.

    provider.answers["/token"] = Answer(status=500, body=b"broken")
    provider.answers["/token"] = Slow(2)  # the honest answer, after two seconds
    provider.answers["/keys"] = [Redirect("https://elsewhere.example/"), HONEST]  # in this order

A function that takes the honest answer and returns another is one, too.
"""

import json
import threading
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Answer:
    """An HTTP response. Called with the honest one, it takes its place.

    Attributes:
        delay: Seconds before the first byte.
        drip: Seconds before each byte of the body, and of the head with `drips_head`.
        is_endless: The body, without a length, is repeated until the client closes.
        has_endless_head: So is a header.
        hangs_up: Nothing is sent; the connection is closed.
        held: What the answer waits for.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    delay: float = 0
    drip: float = 0
    drips_head: bool = False
    is_endless: bool = False
    has_endless_head: bool = False
    hangs_up: bool = False
    held: "Held | None" = None

    def __call__(self, honest):
        return self

    @property
    def json(self):
        """The body, as a document."""
        return json.loads(self.body)

    def head(self):
        """Return the status line and the headers as they are sent."""
        length = {} if self.is_endless else {"Content-Length": str(len(self.body))}
        headers = {"Connection": "close", **length, **self.headers}
        lines = [f"HTTP/1.1 {self.status} -", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()


def HONEST(honest):  # noqa: N802 - stands beside the classes
    """Answer honestly, in a list of answers."""
    return honest


def Json(document, status=200):  # noqa: N802
    """Answer with a document."""
    return Answer(status, json.dumps(document).encode())


def Redirect(location, status=302):  # noqa: N802
    """Answer with a redirect."""
    return Answer(status, headers={"Location": location})


def HangUp():  # noqa: N802
    """Close the connection without an answer."""
    return Answer(hangs_up=True)


def Slow(seconds):  # noqa: N802
    """Answer honestly after a while."""
    return lambda honest: replace(honest, delay=seconds)


def Drip(seconds, *, head=False):  # noqa: N802
    """Answer honestly, but wait before each byte of the body, or of the head, too."""
    return lambda honest: replace(honest, drip=seconds, drips_head=head)


def Endless(*, head=False):  # noqa: N802
    """Begin honestly and never end: with spaces after the document, or with more headers."""
    if head:
        return lambda honest: replace(honest, has_endless_head=True)
    return lambda honest: replace(honest, is_endless=True)


class Held:
    """Answers honestly once a test calls `release`; `reached` is set when a request waits."""

    def __init__(self):
        self.reached = threading.Event()
        self._released = threading.Event()

    def __call__(self, honest):
        self.reached.set()
        return replace(honest, held=self)

    def release(self):
        self._released.set()

    def wait(self, is_closing):
        """Wait until then, or until the provider ends."""
        while not is_closing() and not self._released.wait(0.02):
            pass
