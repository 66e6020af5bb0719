"""The challenge for Bearer; `authentication/test_basic.py` has those of sites with Basic."""

from tests.support.tables import row_by_row
from wsgiauth.web.www_authenticate import challenge


@row_by_row(
    ("error", "value"),
    [
        (None, 'Bearer realm="wsgiauth"'),
        ("invalid_token", 'Bearer realm="wsgiauth", error="invalid_token"'),
    ],
)
def test_a_challenge_asks_for_a_bearer(error, value):
    assert challenge(error) == ("WWW-Authenticate", value)
