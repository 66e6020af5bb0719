"""GET /auth/jwks.json: the public keys."""

import json
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.service_keys import new_key, pem_of, with_services, write_key
from tests.support.sites import echo
from wsgiauth import AuthMiddleware

KEYS = "/auth/jwks.json"
PUBLIC = {
    "EC": {"kty", "crv", "x", "y"},
    "OKP": {"kty", "crv", "x"},
    "RSA": {"kty", "n", "e"},
}


@pytest.fixture
def settings(settings, tmp_path):
    """Return settings with a key of each kind."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for algorithm in ("ES256", "EdDSA", "RS256"):
        write_key(folder / algorithm, pem_of(new_key(algorithm)))
    return with_services(settings, folder)


@pytest.mark.promise(67)
def test_the_public_parts_of_all_keys_are_published_and_read_once(client, tmp_path):
    for each in (tmp_path / "keys").iterdir():
        each.unlink()
    answer = client.get(KEYS)
    keys = answer.json["keys"]
    assert [each["alg"] for each in keys] == ["ES256", "EdDSA", "RS256"]
    assert all(each.keys() == PUBLIC[each["kty"]] | {"use", "alg", "kid"} for each in keys)
    assert int(client.head(KEYS).headers["Content-Length"]) == len(answer.body)


def test_they_can_be_stored_for_an_hour(client):
    answer = client.get(KEYS, headers={"Authorization": "Bearer rejected"})
    assert answer.headers["Cache-Control"] == "public, max-age=3600"
    assert answer.content_type == "application/json"
    assert "Vary" not in answer.headers


def test_without_keys_there_is_nothing(settings):
    client = TestApp(AuthMiddleware(echo, replace(settings, SERVICE_KEYS=None, SERVICES=())))
    for method, path in (("GET", KEYS), ("POST", "/auth/token")):
        answer = client.request(path, method=method, status=404)
        assert json.loads(answer.body)["code"] == "not_found"
