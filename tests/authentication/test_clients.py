"""Where a login begins, however odd what the server says of the client."""

import pytest

from tests.support.sites import PASSWORD, USERNAME

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("address", "kept"),
    [
        pytest.param("192.0.2.\0007", "192.0.2.7", id="nul"),
        pytest.param("192.0.2.7\ud800", "192.0.2.7", id="surrogate"),
        pytest.param("\r\n192.0.2.7", "192.0.2.7", id="line break"),
        pytest.param("unix:" + "x" * 100, "unix:" + "x" * 59, id="long"),
        pytest.param("", None, id="none"),
    ],
)
def test_an_odd_address_does_not_prevent_a_login(client, ada, address, kept):
    client.extra_environ["REMOTE_ADDR"] = address
    token = client.post_json("/auth/login", CREDENTIALS, status=200).json["access_token"]
    listed = client.get("/auth/sessions", headers={"Authorization": f"Bearer {token}"})
    assert [each["address"] for each in listed.json["sessions"]] == [kept]
