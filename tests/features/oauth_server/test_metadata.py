"""The documents in which clients find the provider."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.oauth_apps import ISSUER
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
    assert document["introspection_endpoint_auth_methods_supported"] == ["Bearer"]
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
