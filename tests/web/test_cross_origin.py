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
@pytest.mark.parametrize(
    ("method", "fetch_site", "origin", "is_identified"),
    [
        pytest.param("POST", "same-origin", "", True, id="same-origin allowed"),
        pytest.param("POST", "none", "", True, id="none allowed"),
        pytest.param("POST", "cross-site", "", False, id="cross-site blocked"),
        pytest.param("POST", "same-site", "", False, id="same-site blocked"),
        pytest.param("POST", "", "", True, id="no header with no origin"),
        pytest.param("POST", "", "https://example.com", True, id="no header, matching origin"),
        pytest.param("POST", "", ATTACKER, False, id="no header, mismatched origin"),
        pytest.param("POST", "", "null", False, id="no header, null origin"),
        pytest.param("GET", "cross-site", "", True, id="GET allowed"),
        pytest.param("HEAD", "cross-site", "", True, id="HEAD allowed"),
        pytest.param("OPTIONS", "cross-site", "", True, id="OPTIONS allowed"),
        pytest.param("PUT", "cross-site", "", False, id="PUT blocked"),
        # Beyond Go's table.
        pytest.param("PATCH", "cross-site", "", False, id="PATCH blocked"),
        pytest.param("DELETE", "cross-site", "", False, id="DELETE blocked"),
    ],
)
def test_a_cookie_identifies_by_where_the_request_comes_from(
    caller, method, fetch_site, origin, is_identified
):
    user = caller(method, fetch_site, origin)
    assert user == ("Ada" if is_identified else None)


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PURGE", "get", ""])
def test_no_other_method_is_safe(method):
    assert method not in SAFE_METHODS


# TestCrossOriginProtectionTrustedOriginBypass
@pytest.mark.parametrize(
    ("origin", "fetch_site", "is_identified"),
    [
        pytest.param(TRUSTED, "", True, id="trusted without sec-fetch-site"),
        pytest.param(TRUSTED, "cross-site", True, id="trusted with cross-site"),
        pytest.param(ATTACKER, "", False, id="untrusted without sec-fetch-site"),
        pytest.param(ATTACKER, "cross-site", False, id="untrusted with cross-site"),
        # Beyond Go's table.
        pytest.param("http://trusted.example", "cross-site", False, id="another scheme"),
        pytest.param(f"{TRUSTED}:8443", "cross-site", False, id="another port"),
        pytest.param(f"{TRUSTED}.attacker.example", "cross-site", False, id="a longer host"),
        pytest.param("https://a.trusted.example", "cross-site", False, id="a host below"),
        pytest.param("https://trusted.exampl", "cross-site", False, id="a shorter host"),
        pytest.param("HTTPS://TRUSTED.EXAMPLE", "cross-site", False, id="upper case"),
    ],
)
def test_a_trusted_origin_is_an_exact_entry(caller, origin, fetch_site, is_identified):
    user = caller("POST", fetch_site, origin)
    assert user == ("Ada" if is_identified else None)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({"HTTP_SEC_FETCH_SITE": "Same-Origin"}, False, id="letter case"),
        pytest.param({"HTTP_SEC_FETCH_SITE": "same-origin, none"}, False, id="two values"),
        pytest.param({"HTTP_SEC_FETCH_SITE": "elsewhere"}, False, id="unknown value"),
        pytest.param(
            {"HTTP_SEC_FETCH_SITE": "same-origin", "HTTP_ORIGIN": ATTACKER},
            True,
            id="fetch metadata before origin",
        ),
        pytest.param({"HTTP_ORIGIN": "https://example.com:8443"}, False, id="another port"),
        pytest.param({"HTTP_ORIGIN": "https://example.com."}, False, id="trailing dot"),
        pytest.param({"HTTP_ORIGIN": "example.com"}, False, id="no scheme"),
        pytest.param({"HTTP_ORIGIN": "https://a@example.com"}, False, id="user in the origin"),
        pytest.param({"HTTP_ORIGIN": "https://["}, False, id="malformed origin"),
        pytest.param({"HTTP_ORIGIN": "https://"}, False, id="origin without host"),
        pytest.param({"HTTP_ORIGIN": "http://example.com"}, True, id="another scheme, undefended"),
    ],
)
def test_the_host_and_the_fetch_metadata_are_compared_exactly(headers, expected):
    assert is_same_origin({"HTTP_HOST": "example.com", **headers}) is expected


@pytest.mark.parametrize("host", ["localhost:8080", "[::1]:8080", "192.0.2.7"])
def test_an_origin_equals_the_host_with_its_port(host):
    assert is_same_origin({"HTTP_HOST": host, "HTTP_ORIGIN": f"http://{host}"})


@pytest.mark.parametrize("origin", ["null", "https://", "https://[", "https://example.com"])
def test_without_a_host_no_origin_is_ours(origin):
    assert not is_same_origin({"HTTP_ORIGIN": origin})
    assert not is_same_origin({"HTTP_ORIGIN": origin, "HTTP_HOST": ""})


def test_no_origin_is_trusted_for_being_empty():
    assert not is_same_origin({"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_ORIGIN": ""}, ("",))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({"HTTP_SEC_PURPOSE": "prefetch"}, True, id="Sec-Purpose"),
        pytest.param({"HTTP_SEC_PURPOSE": "prefetch;prerender"}, True, id="prerender"),
        pytest.param({"HTTP_PURPOSE": "Prefetch"}, True, id="Purpose"),
        pytest.param({"HTTP_X_MOZ": "prefetch"}, True, id="X-Moz"),
        pytest.param({"HTTP_X_SEC_PURPOSE": "prefetch"}, True, id="Turbo"),
        pytest.param({"HTTP_HX_PRELOADED": "true"}, True, id="htmx"),
        pytest.param({"HTTP_NEXT_ROUTER_PREFETCH": "1"}, True, id="Next.js"),
        pytest.param({"HTTP_HX_PRELOADED": "false"}, False, id="htmx, later"),
        pytest.param({"HTTP_SEC_PURPOSE": ""}, False, id="empty"),
        pytest.param({"HTTP_PURPOSE": "preview"}, False, id="another purpose"),
        pytest.param({}, False, id="none"),
    ],
)
def test_a_prefetch_is_known_by_its_purpose(headers, expected):
    assert is_prefetch(headers) is expected
