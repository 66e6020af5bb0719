"""Which requests are a page's own: the tables of Go's test of `http.CrossOriginProtection`."""

import dataclasses

import pytest

from wsgiauth.web.cross_origin import SAFE_METHODS, is_prefetch, is_same_origin

pytestmark = pytest.mark.promise(17)

TRUSTED = "https://trusted.example"
ATTACKER = "https://attacker.example"


@pytest.fixture
def settings(settings):
    return dataclasses.replace(settings, TRUSTED_ORIGINS=(TRUSTED,))


@pytest.fixture
def caller(client, ada, bearer):
    """Return a function that sends a request with a cookie and returns who it came from."""
    token = bearer(ada)["Authorization"].removeprefix("Bearer ")
    always = {"Host": "example.com", "Cookie": f"__Host-wsgiauth={token}"}

    def caller_of(method, fetch_site, origin):
        named = {"Sec-Fetch-Site": fetch_site, "Origin": origin}
        headers = always | {name: value for name, value in named.items() if value}
        return client.request("https://example.com/", method=method, headers=headers).json["user"]

    return caller_of


# TestCrossOriginProtectionSecFetchSite
def test_a_cookie_identifies_by_where_the_request_comes_from(caller):
    for method, fetch_site, origin, is_identified in (
        ("POST", "same-origin", "", True),
        ("POST", "none", "", True),
        ("POST", "cross-site", "", False),
        ("POST", "same-site", "", False),
        ("POST", "", "", True),
        ("POST", "", "https://example.com", True),
        ("POST", "", ATTACKER, False),
        ("POST", "", "null", False),
        ("GET", "cross-site", "", True),
        ("HEAD", "cross-site", "", True),
        ("OPTIONS", "cross-site", "", True),
        ("PUT", "cross-site", "", False),
        # Beyond Go's table.
        ("PATCH", "cross-site", "", False),
        ("DELETE", "cross-site", "", False),
    ):
        expected = "Ada" if is_identified else None
        assert caller(method, fetch_site, origin) == expected, (method, fetch_site, origin)


def test_no_other_method_is_safe():
    assert SAFE_METHODS.isdisjoint({"TRACE", "CONNECT", "PURGE", "get", ""})


# TestCrossOriginProtectionTrustedOriginBypass
def test_a_trusted_origin_is_an_exact_entry(caller):
    for origin, fetch_site, is_identified in (
        (TRUSTED, "", True),
        (TRUSTED, "cross-site", True),
        (ATTACKER, "", False),
        (ATTACKER, "cross-site", False),
        # Beyond Go's table.
        ("http://trusted.example", "cross-site", False),
        (f"{TRUSTED}:8443", "cross-site", False),
        (f"{TRUSTED}.attacker.example", "cross-site", False),
        ("https://a.trusted.example", "cross-site", False),
        ("https://trusted.exampl", "cross-site", False),
        ("HTTPS://TRUSTED.EXAMPLE", "cross-site", False),
    ):
        expected = "Ada" if is_identified else None
        assert caller("POST", fetch_site, origin) == expected, (fetch_site, origin)


def test_the_host_and_the_fetch_metadata_are_compared_exactly():
    for headers, expected in (
        ({"HTTP_SEC_FETCH_SITE": "Same-Origin"}, False),
        ({"HTTP_SEC_FETCH_SITE": "same-origin, none"}, False),
        ({"HTTP_SEC_FETCH_SITE": "elsewhere"}, False),
        ({"HTTP_SEC_FETCH_SITE": "same-origin", "HTTP_ORIGIN": ATTACKER}, True),
        ({"HTTP_ORIGIN": "https://example.com:8443"}, False),
        ({"HTTP_ORIGIN": "https://example.com."}, False),
        ({"HTTP_ORIGIN": "example.com"}, False),
        ({"HTTP_ORIGIN": "https://a@example.com"}, False),
        ({"HTTP_ORIGIN": "https://["}, False),
        ({"HTTP_ORIGIN": "https://"}, False),
        ({"HTTP_ORIGIN": "http://example.com"}, True),  # another scheme, undefended
    ):
        assert is_same_origin({"HTTP_HOST": "example.com", **headers}) is expected, headers


def test_an_origin_equals_the_host_with_its_port():
    for host in ("localhost:8080", "[::1]:8080", "192.0.2.7"):
        assert is_same_origin({"HTTP_HOST": host, "HTTP_ORIGIN": f"http://{host}"}), host


def test_without_a_host_no_origin_is_ours():
    for origin in ("null", "https://", "https://[", "https://example.com"):
        assert not is_same_origin({"HTTP_ORIGIN": origin}), origin
        assert not is_same_origin({"HTTP_ORIGIN": origin, "HTTP_HOST": ""}), origin


def test_no_origin_is_trusted_for_being_empty():
    assert not is_same_origin({"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_ORIGIN": ""}, ("",))


def test_a_prefetch_is_known_by_its_purpose():
    for headers, expected in (
        ({"HTTP_SEC_PURPOSE": "prefetch"}, True),
        ({"HTTP_SEC_PURPOSE": "prefetch;prerender"}, True),
        ({"HTTP_PURPOSE": "Prefetch"}, True),
        ({"HTTP_X_MOZ": "prefetch"}, True),
        ({"HTTP_X_SEC_PURPOSE": "prefetch"}, True),  # Turbo
        ({"HTTP_HX_PRELOADED": "true"}, True),
        ({"HTTP_NEXT_ROUTER_PREFETCH": "1"}, True),
        ({"HTTP_HX_PRELOADED": "false"}, False),
        ({"HTTP_SEC_PURPOSE": ""}, False),
        ({"HTTP_PURPOSE": "preview"}, False),
        ({}, False),
    ):
        assert is_prefetch(headers) is expected, headers
