"""The request that brings a logout token to an app. An operator chose its URL."""

from urllib.parse import urlencode

from wsgiauth import outgoing

DEADLINE = 8.0  # seconds for a request, from the name look-up to the headers of its response

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def send(url: str, token: str, deadline: float = DEADLINE) -> int:
    """Send a logout token, and return the status of the answer, whose body is not read.

    Implements OpenID Connect Back-Channel Logout 1.0, section 2.5.

    Args:
        deadline: Seconds.

    Raises:
        OutgoingError: The app did not answer in time, or not with HTTP.
    """
    request = outgoing.Request(url, _FORM, urlencode({"logout_token": token}))
    return outgoing.send(request, outgoing.Rules(deadline)).status
