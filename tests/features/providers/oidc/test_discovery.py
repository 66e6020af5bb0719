"""Discovery documents: of exactly the configured issuer, with endpoints that are safe to use."""

import pytest

from tests.support.provider_keys import DROP, changed
from tests.support.tables import row_by_row
from wsgiauth.features.providers.oidc.discovery import (
    ALGORITHMS,
    DiscoveryError,
    document_url,
    moved_url,
    read_metadata,
)

pytestmark = pytest.mark.promise(71)

ISSUER = "https://id.example.org/realms/main"
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": "https://login.example.org/authorize?tenant=1",
    "token_endpoint": "https://api.example.org:8443/token",
    "jwks_uri": "https://[2001:db8::1]/keys",
}
LOCAL = "http://localhost:8080"
METHODS = "token_endpoint_auth_methods_supported"
SIGNING = "id_token_signing_alg_values_supported"
ANNOUNCES = "authorization_response_iss_parameter_supported"
ENDPOINTS = [
    "authorization_endpoint",
    "token_endpoint",
    "jwks_uri",
    "userinfo_endpoint",
    "end_session_endpoint",
]


def read(**changes):
    return read_metadata(changed(DOCUMENT, changes), ISSUER)


def refusal(document, issuer=ISSUER):
    """Return why a document is refused, or None."""
    try:
        read_metadata(document, issuer)
    except DiscoveryError as error:
        return str(error)
    return None


def test_the_document_is_below_the_issuer():
    path = ".well-known/openid-configuration"
    for issuer in ("https://a.example", "https://a.example/"):
        assert document_url(issuer) == f"https://a.example/{path}"
    assert document_url(ISSUER) == f"{ISSUER}/{path}"


def test_what_a_document_leaves_out_has_the_defaults_of_the_standard():
    metadata = read()
    assert [getattr(metadata, name) for name in ENDPOINTS] == [
        *(DOCUMENT[name] for name in ENDPOINTS[:3]),
        *("", ""),
    ]
    assert metadata.algorithms == {"RS256"}
    assert not metadata.sends_secret_in_form
    assert not metadata.announces_issuer


def test_a_document_says_how_the_provider_is_used():
    for changes, name, value in (
        ({SIGNING: ["none", "HS256", "ES256", 1]}, "algorithms", {"ES256"}),
        ({SIGNING: sorted(ALGORITHMS)}, "algorithms", ALGORITHMS),
        ({METHODS: ["client_secret_post"]}, "sends_secret_in_form", True),
        ({METHODS: ["client_secret_post", "client_secret_basic"]}, "sends_secret_in_form", False),
        ({ANNOUNCES: True}, "announces_issuer", True),
        ({ANNOUNCES: "true"}, "announces_issuer", False),
        ({"userinfo_endpoint": "https://a.example"}, "userinfo_endpoint", "https://a.example"),
    ):
        assert (changes, getattr(read(**changes), name)) == (changes, value)


def test_the_document_of_another_issuer_is_refused():
    others = [
        *(f"{ISSUER}/", ISSUER.upper(), "http" + ISSUER[5:], f"{ISSUER}?", f" {ISSUER}"),
        *("https://id.example.org/realms/other", "https://id.example.org:443/realms/main"),
        *(None, DROP, [ISSUER], ""),
    ]
    found = [(each, refusal(changed(DOCUMENT, {"issuer": each}))) for each in others]
    assert found == [(each, "issuer") for each in others]


UNSAFE = [
    *("http://id.example.org/x", "http://localhost/x", "ftp://id.example.org/x", " ", "/x"),
    *("https://", "https:///x", "//id.example.org/x", "javascript://a/x", "https:id.example"),
    *("https://ada@id.example.org/x", "https://id.example.org/x#y", "https://a/x y"),
    *("https://a/x\r\nHost: b", "https://a/\x00", "https://ä.example/", "https://a:99999/"),
    *("https://a:0/", "https://[::1", "https://[:::::]/", "https://a/" + "x" * 2048),
    *(False, 1, ["https://id.example.org/x"]),
]


@row_by_row("name", ENDPOINTS)
def test_an_endpoint_that_is_not_safe_is_refused_by_its_name(name):
    found = [(url, refusal(changed(DOCUMENT, {name: url}))) for url in UNSAFE]
    assert found == [(url, name) for url in UNSAFE]


def test_a_document_moves_within_its_origin():
    for url, location, moved in (
        ("https://a.example/x/y", "z", "https://a.example/x/z"),
        ("https://a.example/x/y", "https://a.example:443/z", "https://a.example:443/z"),
        ("https://a.example:443/x", "https://A.example/z", "https://A.example/z"),
        ("http://localhost/x", "http://localhost:80/", "http://localhost:80/"),
        ("http://localhost:80/x", "https://localhost:80/", None),
        ("https://a.example/x", "http://a.example/x", None),
        ("https://a.example/x", "https://a.example:8443/x", None),
        ("https://a.example/x", "https://a.example.org/x", None),
        ("https://a.example/x", "https://a.example\\@b.example/", None),
    ):
        assert (location, moved_url(url, location)) == (location, moved)


ABSENT = (DROP, None, "")


def test_an_endpoint_that_is_needed_is_there():
    cases = [(name, absent) for name in ENDPOINTS[:3] for absent in ABSENT]
    found = [(refusal(changed(DOCUMENT, {name: absent})), absent) for name, absent in cases]
    assert found == cases


def test_what_is_null_or_empty_is_left_out():
    names = (*ENDPOINTS[3:], SIGNING, METHODS, "userinfo_signing_alg_values_supported", ANNOUNCES)
    for absent in ABSENT:
        assert read(**dict.fromkeys(names, absent)) == read()


def test_an_issuer_on_this_host_can_name_endpoints_here():
    refusals = {
        **dict.fromkeys(("http://localhost:8080/keys", "http://127.0.0.1/keys")),
        **dict.fromkeys(("http://[::1]:9/keys", "https://id.example.org/keys")),
        "http://id.example.org/keys": "jwks_uri",
        "http://localhost.example.org/keys": "jwks_uri",
        "http://127.0.0.2/keys": "jwks_uri",
        "http://10.0.0.1/keys": "jwks_uri",
    }
    document = dict.fromkeys(ENDPOINTS, f"{LOCAL}/x") | {"issuer": LOCAL}
    assert {url: refusal({**document, "jwks_uri": url}, LOCAL) for url in refusals} == refusals


def test_a_provider_that_offers_nothing_that_we_accept_is_refused():
    wrong = [
        *((SIGNING, each) for each in ([], ["none"], ["HS256", "ES256K"], "RS256")),
        *((METHODS, each) for each in ([], ["private_key_jwt"], "client_secret_basic")),
    ]
    found = [(refusal(changed(DOCUMENT, {name: value})), value) for name, value in wrong]
    assert found == wrong
