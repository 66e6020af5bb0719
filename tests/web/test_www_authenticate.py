"""The challenge for Bearer; `authentication/test_basic.py` has those of sites with Basic."""

from tests.support.rows import rows
from wsgiauth.web.www_authenticate import challenge


@rows(
    ("error", "value"),
    [
        (None, 'Bearer realm="wsgiauth"'),
        ("invalid_token", 'Bearer realm="wsgiauth", error="invalid_token"'),
    ],
)
def test_a_challenge_asks_for_a_bearer(error, value):
    assert challenge(error) == ("WWW-Authenticate", value)
