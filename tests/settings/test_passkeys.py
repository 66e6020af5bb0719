"""PASSKEYS: what it needs."""

import pytest

from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError

NAME = "PUBLIC_URL must be a URL with a name such as localhost, not with an IP address, because"


@pytest.mark.parametrize(
    "url", ["https://example.org", "https://example.org/a", "http://localhost"]
)
def test_passkeys_need_the_name_of_the_site(url):
    assert Settings(PASSKEYS=True, PUBLIC_URL=url).PASSKEYS


@pytest.mark.promise(29)
@pytest.mark.parametrize(
    ("url", "message"),
    [
        (None, "PUBLIC_URL must be set, because PASSKEYS is on."),
        ("http://127.0.0.1:8080", f"{NAME} PASSKEYS is on."),
        ("http://[::1]", f"{NAME} PASSKEYS is on."),
        ("https://192.0.2.1.", f"{NAME} PASSKEYS is on."),
        ("http://example.org", "PUBLIC_URL must be an https URL in lower case, without a query"),
    ],
)
def test_a_site_that_browsers_make_no_passkeys_for_is_refused(url, message):
    with pytest.raises(ConfigurationError) as caught:
        Settings(PASSKEYS=True, PUBLIC_URL=url)
    assert str(caught.value).startswith(message)
