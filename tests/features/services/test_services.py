"""Service tokens: what is in them, and which are verified."""

import json
import logging
import sys

import jwt
import pytest

from tests.support.service_keys import (
    ISSUER,
    MAPS,
    REPORTS,
    new_key,
    pem_of,
    service_tokens,
    with_services,
    write_key,
)
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware
from wsgiauth.accounts.names import PERMISSION_MAX_LENGTH
from wsgiauth.authentication.freshness import Proof
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.services.service_tokens import MAX_SCOPE, ServiceTokens
from wsgiauth.features.services.signed_tokens import MAX_LENGTH
from wsgiauth.settings import Settings

NOW = 1_800_000_000
SIGNATURE_2048, SIGNATURE_4096 = 342, 683  # characters
PROOF = Proof(NOW - 60, "pwd otp")


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the keys of a site."""
    folder = tmp_path / "keys"
    folder.mkdir()
    write_key(folder / "2026.pem")
    return folder


@pytest.fixture
def services(settings, folder):
    return service_tokens(with_services(settings, folder), lambda: NOW)


def issue(services, audience=REPORTS, scope=("reports.read",), proof=PROOF):
    return services.issue(7, audience, scope=scope, sid="0123456789abcdef", proof=proof)


def test_a_token_has_the_claims_of_the_standard(services):
    token = issue(services, MAPS, ["maps.read", "maps.draw"])
    claims = jwt.decode(token, options={"verify_signature": False})
    assert len(claims.pop("jti")) == 22
    assert claims == {
        "iss": ISSUER,
        "sub": "7",
        "aud": MAPS,
        "exp": NOW + 300,
        "iat": NOW,
        "client_id": "wsgiauth",
        "scope": "maps.read maps.draw",
        "sid": "0123456789abcdef",
        "auth_time": NOW - 60,
        "amr": ["pwd", "otp"],
    }
    header = jwt.get_unverified_header(token)
    (published,) = services.signed.key_set["keys"]
    assert header == {"typ": "at+jwt", "alg": "ES256", "kid": published["kid"]}


def test_a_token_of_an_api_key_has_no_proof(services):
    claims = jwt.decode(issue(services, proof=None), options={"verify_signature": False})
    assert {"auth_time", "amr"}.isdisjoint(claims)


@pytest.mark.promise(64)
def test_each_token_has_another_id(services):
    assert issue(services) != issue(services)


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
def test_the_last_name_signs_and_all_keys_verify(settings, folder, algorithm):
    old = service_tokens(with_services(settings, folder), lambda: NOW)
    write_key(folder / "2027.pem", pem_of(new_key(algorithm)))
    new = service_tokens(with_services(settings, folder), lambda: NOW)
    assert jwt.get_unverified_header(issue(new))["alg"] == algorithm
    assert len(new.signed.key_set["keys"]) == 2
    assert new.verify(issue(old), NOW)["sub"] == new.verify(issue(new), NOW)["sub"] == "7"
    assert old.verify(issue(new), NOW) is None


def test_a_token_is_valid_until_it_expires(services):
    token = issue(services)
    assert services.verify(token, NOW + 299)["exp"] == NOW + 300
    assert services.verify(token, NOW + 300) is None


def test_a_token_of_other_settings_is_not_verified(settings, folder, services):
    token = issue(services)
    for changed in ({"PUBLIC_URL": "https://other.example.org"}, {"SERVICES": (MAPS,)}):
        other = service_tokens(with_services(settings, folder, **changed), lambda: NOW)
        assert other.verify(token, NOW) is None


def signed(folder, services, payload):
    (published,) = services.signed.key_set["keys"]
    headers = {"typ": "at+jwt", "alg": "ES256", "kid": published["kid"]}
    pem = (folder / "2026.pem").read_text()
    return jwt.api_jws.encode(payload.encode(), pem, "ES256", headers=headers, sort_headers=False)


OURS = {"iss": ISSUER, "aud": REPORTS, "client_id": "wsgiauth", "exp": NOW + 60}


NOT_OURS = {
    "no object": "[]",
    "without claims": "{}",
    "no JSON": "no JSON",
    "nested too deeply": "[" * 2000,
    "without an end": json.dumps({name: each for name, each in OURS.items() if name != "exp"}),
    "with an end in words": json.dumps({**OURS, "exp": "soon"}),
    "of another client": json.dumps({**OURS, "client_id": "other"}),
    "too long": json.dumps({**OURS, "x": "x" * MAX_LENGTH}),
}


def test_what_another_program_signs_with_the_key_is_not_verified(folder, services):
    found = {
        name: services.verify(signed(folder, services, payload), NOW)
        for name, payload in NOT_OURS.items()
    }
    assert found == dict.fromkeys(NOT_OURS)
    # So the table refuses by what it names alone.
    assert services.verify(signed(folder, services, json.dumps(OURS)), NOW) == OURS


def test_a_spoilt_token_is_not_verified(services):
    token = issue(services)
    spoilt = {
        "another signature": f"{token[:-4]}AAAA",
        "a short signature": token.rpartition(".")[0] + ".A",
        "no signature": token.rpartition(".")[0],
        "padded": f"{token}=",
        "with a line feed": f"{token}\n",
        "too long": token + "A" * MAX_LENGTH,
        "empty": "",
    }
    found = {name: services.verify(each, NOW) for name, each in spoilt.items()}
    assert found == dict.fromkeys(spoilt)


def test_the_longest_token_is_shorter_than_the_limit(settings, folder):
    write_key(folder / "2027.pem", pem_of(new_key("RS256")))
    audience = "https://" + "a" * 192
    url = "https://" + "a" * 200 + ".example.org"
    made = with_services(settings, folder, SERVICES=(audience,), PUBLIC_URL=url)
    scope = ["a" * PERMISSION_MAX_LENGTH] * (MAX_SCOPE // PERMISSION_MAX_LENGTH)
    services = service_tokens(made, lambda: NOW)
    token = issue(services, audience, scope, Proof(NOW, "pwd " * 8))
    longest = len(token) - SIGNATURE_2048 + SIGNATURE_4096
    assert MAX_LENGTH - 500 < longest <= MAX_LENGTH


@pytest.mark.promise(67)
def test_no_log_and_no_repr_has_anything_of_a_private_key(settings, folder, caplog):
    caplog.set_level(logging.DEBUG)
    site = AuthMiddleware(lambda *_: [], with_services(settings, folder))
    services = site.site.part(ServiceTokens)
    issue(services)
    shown = f"{site.site!r} {vars(site.site)!r} {vars(services)!r} {caplog.text}"
    *_, secret, _end = (folder / "2026.pem").read_text().splitlines()
    assert secret not in shown
    assert "PRIVATE" not in shown


def test_a_missing_package_is_a_sentence_at_start(settings, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wsgiauth.features.services.signing", None)
    with pytest.raises(ConfigurationError) as caught:
        AuthMiddleware(lambda *_: [], with_services(settings, folder))
    assert str(caught.value) == (
        "SERVICE_KEYS needs the package cryptography, which is not installed:"
        " `pip install '.[services]'` installs it."
    )


KEYS = {"SERVICE_KEYS": "k"}
ON = {"OAUTH_SERVER": True}


@row_by_row(
    ("given", "problems"),
    [
        (KEYS | {"SERVICES": ("a",)}, ["PUBLIC_URL must be set, because SERVICE_KEYS is."]),
        (
            KEYS | {"PUBLIC_URL": ISSUER},
            ["SERVICES must be set, because SERVICE_KEYS is and OAUTH_SERVER is not on."],
        ),
        ({"SERVICES": ("a",)}, ["SERVICE_KEYS must be set, because SERVICES is."]),
        (
            ON,
            [
                "PUBLIC_URL must be set, because OAUTH_SERVER is on.",
                "SERVICE_KEYS must be set, because OAUTH_SERVER is on.",
            ],
        ),
        (
            ON | {"PUBLIC_URL": ISSUER},
            ["SERVICE_KEYS must be set, because OAUTH_SERVER is on."],
        ),
    ],
)
def test_settings_without_another_that_they_need_are_refused(given, problems):
    with pytest.raises(ConfigurationError) as caught:
        Settings(**given)
    assert sorted(str(caught.value).splitlines()) == problems


def test_keys_need_no_services_where_the_site_is_an_openid_provider():
    made = Settings(SERVICE_KEYS="k", PUBLIC_URL=ISSUER, OAUTH_SERVER=True)
    assert made.SERVICES == ()
