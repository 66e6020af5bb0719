"""The documents in which clients find the provider."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.oauth_apps import ISSUER
from tests.support.service_keys import MAPS
from tests.support.sites import echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, storage

OPENID = "/.well-known/openid-configuration"
OAUTH = "/.well-known/oauth-authorization-server"


def test_both_documents_say_the_same(client, site):
    assert client.get(OPENID).json == client.get(OAUTH).json


def test_the_document_has_what_openid_connect_demands(client):
    """OpenID Connect Discovery 1.0, section 3."""
    document = client.get(OPENID).json
    assert document["issuer"] == ISSUER
    assert document.keys() >= {
        *("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"),
        *("scopes_supported", "response_types_supported", "subject_types_supported"),
        *("id_token_signing_alg_values_supported", "claims_supported", "grant_types_supported"),
    }
    assert document["response_types_supported"] == ["code"]
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert document["id_token_signing_alg_values_supported"] == ["ES256"]
    assert document["authorization_response_iss_parameter_supported"] is True


@row_by_row(
    ("name", "methods"),
    [
        ("authorization_endpoint", ("GET", "POST")),
        ("token_endpoint", ("POST",)),
        ("userinfo_endpoint", ("GET", "POST")),
        ("revocation_endpoint", ("POST",)),
        ("end_session_endpoint", ("GET", "POST")),
        ("introspection_endpoint", ("POST",)),
        ("jwks_uri", ("GET",)),
    ],
)
def test_each_url_of_the_document_is_answered(client, name, methods):
    path = client.get(OPENID).json[name].removeprefix(ISSUER)
    allowed = client.options(path, status="*").headers.get("Allow", "")
    for method in methods:
        assert method in allowed


def test_the_types_of_grants_are_those_of_the_token_endpoint(client, wiki):
    expected = {"client_credentials": "unauthorized_client"}
    for each in client.get(OPENID).json["grant_types_supported"]:
        error = wiki.ask(400, {"grant_type": each})["error"]
        assert error == expected.get(each, "invalid_request")


def test_caches_keep_the_document_for_an_hour(client):
    assert client.get(OPENID).headers["Cache-Control"] == "public, max-age=3600"


@pytest.mark.parametrize(
    "path", [OPENID, OAUTH, "/auth/oauth/token", "/auth/userinfo", "/auth/apps"]
)
def test_without_a_provider_there_is_none(settings, path):
    site = AuthMiddleware(echo, replace(settings, OAUTH_SERVER=False))
    client = TestApp(site)
    if path.startswith("/auth"):
        client.get(path, status=404)
    else:
        assert "authorization_endpoint" not in client.get(path, status="*").text
    storage.discard_connection(site.database)


BELOW = {
    "OpenID Connect Discovery": ("/sso", OPENID),
    "OpenID Connect Discovery at the root": ("", f"{OPENID}/sso"),
    "RFC 8414": ("", f"{OAUTH}/sso"),
    "RFC 8414 below the path": ("/sso", OAUTH),
    "a server that mounts /.well-known": ("/.well-known", "/oauth-authorization-server/sso"),
}


@pytest.mark.parametrize("public_url", ["https://example.org/sso", "https://example.org/sso/"])
@pytest.mark.parametrize(("mounted_at", "path"), BELOW.values(), ids=BELOW)
def test_a_site_below_a_path_answers_at_every_place(settings, public_url, mounted_at, path):
    site = AuthMiddleware(echo, replace(settings, PUBLIC_URL=public_url))
    client = TestApp(site, {"SCRIPT_NAME": mounted_at})
    document = client.get(path).json
    assert document["issuer"] == public_url
    assert document["token_endpoint"] == "https://example.org/sso/auth/oauth/token"
    assert client.head(path).content_type == "application/json"
    assert client.post(path).json["path_info"] == path
    storage.discard_connection(site.database)


def test_the_path_of_a_site_is_decoded_as_the_server_does(settings):
    site = AuthMiddleware(echo, replace(settings, PUBLIC_URL="https://example.org/caf%C3%A9"))
    assert "issuer" in TestApp(site).get(f"{OAUTH}/caf%C3%A9").json
    storage.discard_connection(site.database)


def test_no_other_path_is_answered_at_the_root(settings):
    site = AuthMiddleware(echo, replace(settings, PUBLIC_URL="https://example.org/sso"))
    for mounted_at, path in (
        ("/sso", f"{OAUTH}/sso"),
        ("", f"{OAUTH}/ssox"),
        ("", f"{OAUTH}/sso/"),
        ("", "/.well-known/change-password/sso"),
    ):
        answer = TestApp(site, {"SCRIPT_NAME": mounted_at}).get(path)
        assert answer.json["path_info"] == path
    storage.discard_connection(site.database)


@pytest.mark.parametrize(
    ("is_on", "basic", "methods"),
    [
        (False, "off", ["Bearer"]),
        (False, "keys", ["Bearer", "client_secret_basic"]),
        (True, "off", ["client_secret_basic", "client_secret_post", "Bearer"]),
        (True, "keys", ["client_secret_basic", "client_secret_post", "Bearer"]),
    ],
)
def test_the_document_says_how_introspection_is_asked(settings, is_on, basic, methods):
    changes = {"OAUTH_SERVER": is_on, "SERVICES": (MAPS,), "BASIC_AUTH": basic}
    site = AuthMiddleware(echo, replace(settings, **changes))
    document = TestApp(site).get(OAUTH).json
    assert document["introspection_endpoint_auth_methods_supported"] == methods
    storage.discard_connection(site.database)
