"""The request that brings a webhook to its receiver. An operator chose its URL."""

from collections.abc import Mapping

from wsgiauth import outgoing

DEADLINE = 10.0  # seconds for a request, from the name look-up to the headers of its response


def send(url: str, headers: Mapping[str, str], body: str, deadline: float = DEADLINE) -> int:
    """Send a webhook, and return the status of the answer, whose body is not read.

    Args:
        deadline: Seconds.

    Raises:
        OutgoingError: The receiver did not answer in time, or not with HTTP.
    """
    return outgoing.send(outgoing.Request(url, headers, body), outgoing.Rules(deadline)).status
