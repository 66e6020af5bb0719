"""/.well-known/oauth-authorization-server: what tools find out about service tokens."""

import pytest
from webtest import TestApp

from tests.support.service_keys import with_services, write_key
from tests.support.sites import echo
from wsgiauth import AuthMiddleware

METADATA = "/.well-known/oauth-authorization-server"


@pytest.fixture
def services(settings, tmp_path):
    return with_services(settings, write_key(tmp_path / "key"))


@pytest.mark.parametrize(
    ("public_url", "mount", "base"),
    [
        ("https://example.org", "/auth", "https://example.org/auth"),
        ("https://example.org/", "/auth", "https://example.org/auth"),
        ("https://example.org/shop", "/account", "https://example.org/shop/account"),
    ],
    ids=["at the root", "with a slash", "below a path"],
)
def test_the_document_names_the_endpoints(services, public_url, mount, base):
    site = AuthMiddleware(
        echo, with_services(services, services.SERVICE_KEYS, PUBLIC_URL=public_url), mount=mount
    )
    answer = TestApp(site).get(METADATA)
    assert answer.json == {
        "issuer": public_url,
        "jwks_uri": f"{base}/jwks.json",
        "token_endpoint": f"{base}/token",
        "introspection_endpoint": f"{base}/introspect",
        "introspection_endpoint_auth_methods_supported": ["Bearer"],
        "response_types_supported": [],
        "grant_types_supported": [],
    }
    assert answer.headers["Cache-Control"] == "public, max-age=3600"


def test_head_has_no_body(services):
    client = TestApp(AuthMiddleware(echo, services))
    assert int(client.head(METADATA).headers["Content-Length"]) == len(client.get(METADATA).body)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", METADATA), ("GET", f"{METADATA}/"), ("GET", f"/x{METADATA}")],
    ids=["another method", "a slash", "below a path"],
)
def test_the_app_answers_what_is_not_that(services, method, path):
    client = TestApp(AuthMiddleware(echo, services))
    assert client.request(path, method=method).json["path_info"] == path


def test_without_keys_the_app_answers(client):
    assert client.get(METADATA).json["path_info"] == METADATA
