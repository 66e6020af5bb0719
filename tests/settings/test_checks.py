"""The forms of settings: origins, sources of fonts and images, the path of the logo; and risks."""

import pytest

from tests.support.settings import refused
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError


# The table of Go's TestCrossOriginProtectionAddTrustedOriginErrors, and what follows from ours.
@pytest.mark.promise(17)
@pytest.mark.parametrize(
    "origin",
    [
        pytest.param("https://example.com", id="valid origin"),
        pytest.param("https://example.com:8080", id="valid origin with port"),
        pytest.param("http://example.com", id="http origin"),
        pytest.param("https://[::1]:8080", id="address of version 6"),
        pytest.param("https://xn--bcher-kva.example", id="international name"),
    ],
)
def test_an_origin_is_a_scheme_a_host_and_perhaps_a_port(origin):
    assert Settings(TRUSTED_ORIGINS=(origin,))


@pytest.mark.promise(17)
@pytest.mark.parametrize(
    "origin",
    [
        pytest.param("example.com", id="missing scheme"),
        pytest.param("https://", id="missing host"),
        pytest.param("https://example.com/", id="trailing slash"),
        pytest.param("https://example.com/path", id="with path"),
        pytest.param("https://example.com?query=value", id="with query"),
        pytest.param("https://example.com#fragment", id="with fragment"),
        pytest.param("https://ex ample.com", id="invalid url"),
        pytest.param("", id="empty string"),
        pytest.param("null", id="null"),
        pytest.param("*", id="any"),
        pytest.param("ftp://example.com", id="another scheme"),
        pytest.param("https://ada@example.com", id="with user"),
        pytest.param("https://:8080", id="port without host"),
        pytest.param("https://example.com:0", id="port zero"),
        pytest.param("https://example.com:http", id="port that is no number"),
        pytest.param("https://[::1", id="open bracket"),
        pytest.param("https://example.com\\", id="backslash"),
        pytest.param("https://example.com\n", id="line feed"),
    ],
)
def test_what_is_no_origin_is_refused(origin):
    refused("TRUSTED_ORIGINS", ("https://a.example", origin))


AT_AUTH = {"PUBLIC_URL": "https://auth.example.org"}


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    ("domain", "public_url"),
    [
        pytest.param("example.org", "https://example.org", id="the host itself"),
        pytest.param("example.org", "https://auth.example.org/site", id="a host below it"),
        pytest.param("example.org", "https://a.b.example.org:8443", id="far below it, with a port"),
        pytest.param("shop.co.uk", "https://shop.co.uk", id="below a public suffix"),
        pytest.param("ada.github.io", "https://ada.github.io", id="below a host of many owners"),
        pytest.param("xn--bcher-kva.example", "https://xn--bcher-kva.example", id="international"),
    ],
)
def test_a_domain_of_cookies_is_that_of_the_site(domain, public_url):
    assert Settings(COOKIE_DOMAIN=domain, PUBLIC_URL=public_url)


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    "domain",
    [
        pytest.param("org", id="one label"),
        pytest.param("localhost", id="localhost"),
        pytest.param("co.uk", id="a registry of a country"),
        pytest.param("or.jp", id="another registry"),
        pytest.param("github.io", id="hosts of many owners"),
        pytest.param("192.0.2.1", id="an address of version 4"),
        pytest.param("2001:db8::1", id="an address of version 6"),
        pytest.param("[2001:db8::1]", id="an address in brackets"),
        pytest.param("example.1", id="a number at the end"),
        pytest.param(".example.org", id="a dot first"),
        pytest.param("example.org.", id="a dot at the end"),
        pytest.param("a..example.org", id="an empty label"),
        pytest.param("*.example.org", id="a pattern"),
        pytest.param("Example.org", id="upper case"),
        pytest.param("bücher.example", id="beyond ASCII"),
        pytest.param("https://example.org", id="a URL"),
        pytest.param("example.org:8443", id="a port"),
        pytest.param("example.org/", id="a slash"),
        pytest.param("example.org; Path=/a", id="an attribute"),
        pytest.param("example.org\n", id="a line feed"),
        pytest.param(f"{'a' * 64}.org", id="a label of 64 characters"),
        pytest.param(f"{'a.' * 126}org", id="255 characters"),
    ],
)
def test_no_other_domain_can_have_cookies(domain):
    refused("COOKIE_DOMAIN", domain)


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    "public_url",
    [
        pytest.param("http://localhost", id="http"),
        pytest.param("https://example.net", id="another domain"),
        pytest.param("https://evilexample.org", id="the same end"),
        pytest.param("https://example.org.evil.example", id="the same start"),
        pytest.param("https://org", id="above the domain"),
    ],
)
def test_the_site_must_be_in_the_domain_of_its_cookies(public_url):
    with pytest.raises(ConfigurationError) as caught:
        Settings(COOKIE_DOMAIN="example.org", PUBLIC_URL=public_url)
    assert str(caught.value) == (
        "PUBLIC_URL must be an https URL of example.org or of a host below it, because"
        " COOKIE_DOMAIN is example.org."
    )


@pytest.mark.parametrize(
    ("name", "value"), [("COOKIE_DOMAIN", "example.org"), ("NEXT_HOSTS", ("files.example.org",))]
)
def test_hosts_that_share_a_login_need_to_know_where_it_is(name, value):
    with pytest.raises(ConfigurationError, match=f"^PUBLIC_URL must be set, because {name} is\\.$"):
        Settings(**{name: value})


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    "host",
    [
        "files.example.org",
        "files.example.org:8443",
        "files.example.org:4430",
        "*.example.org",
        "*.example.org:8443",
        "intranet",
        "192.0.2.1:8443",
    ],
)
def test_a_host_to_go_to_is_a_name_and_perhaps_a_port(host):
    assert Settings(NEXT_HOSTS=(host,), **AT_AUTH)


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    "host",
    [
        pytest.param("", id="nothing"),
        pytest.param("*", id="any"),
        pytest.param("*.", id="any name"),
        pytest.param("*.org", id="below one label"),
        pytest.param("*.co.uk", id="below a registry"),
        pytest.param("*.github.io:8443", id="below a host of many owners"),
        pytest.param("*.192.0.2.1", id="below an address"),
        pytest.param("a.*.example.org", id="a pattern in the middle"),
        pytest.param("*a.example.org", id="a pattern without a dot"),
        pytest.param("**.example.org", id="two stars"),
        pytest.param("https://files.example.org", id="a URL"),
        pytest.param("files.example.org/", id="a slash"),
        pytest.param("files.example.org:443", id="the port of https"),
        pytest.param("files.example.org:0", id="port zero"),
        pytest.param("files.example.org:", id="an empty port"),
        pytest.param("Files.example.org", id="upper case"),
        pytest.param("files.example.org.", id="a dot at the end"),
        pytest.param("[::1]", id="an address of version 6"),
        pytest.param("ada@files.example.org", id="a user"),
        pytest.param("bücher.example", id="beyond ASCII"),
        pytest.param("files.example.org\n", id="a line feed"),
    ],
)
def test_nothing_else_is_a_host_to_go_to(host):
    refused("NEXT_HOSTS", ("files.example.org", host))


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    "source",
    [
        pytest.param("https://fonts.example.org", id="https"),
        pytest.param("https://fonts.example.org:8443", id="https with port"),
        pytest.param("http://localhost:8000", id="localhost"),
        pytest.param("http://127.0.0.1:8000", id="this machine"),
    ],
)
def test_a_page_source_is_an_origin_with_https_or_of_this_machine(source):
    assert (source,) == Settings(PAGE_SOURCES=(source,)).PAGE_SOURCES


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    "source",
    [
        pytest.param("http://fonts.example.org", id="http"),
        pytest.param("https:", id="a scheme alone"),
        pytest.param("*", id="any"),
        pytest.param("https://*.example.org", id="any subdomain"),
        pytest.param("https://[::1]", id="address that no policy can name"),
        pytest.param("https://example.org/fonts/", id="with path"),
        pytest.param("https://example.org;script-src", id="semicolon"),
        pytest.param("https://example.org, https://b.example", id="comma"),
        pytest.param("https://example.org 'unsafe-inline'", id="space"),
        pytest.param("https://example.org\r\nX-Header: 1", id="line feed"),
        pytest.param("https://\xe9.example", id="not ASCII"),
        pytest.param("'unsafe-inline'", id="keyword"),
        pytest.param("data:", id="data"),
    ],
)
def test_nothing_else_is_a_page_source(source):
    refused("PAGE_SOURCES", ("https://fonts.example.org", source))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("logo.svg", id="relative"),
        pytest.param("//elsewhere.example/logo.svg", id="another site"),
        pytest.param("/\\elsewhere.example/logo.svg", id="backslash"),
        pytest.param("/%5celsewhere.example/logo.svg", id="encoded backslash"),
        pytest.param("/.//logo.svg", id="dot and two slashes"),
        pytest.param("https://elsewhere.example/logo.svg", id="URL"),
        pytest.param("data:image/svg+xml,", id="data"),
        pytest.param("/the logo.svg", id="space"),
        pytest.param("/logo.svg\n", id="line feed"),
        pytest.param("/logo%0a.svg", id="encoded line feed"),
        pytest.param("/\xe9.svg", id="not encoded"),
    ],
)
def test_a_logo_is_a_path_of_the_site(path):
    refused("SITE_LOGO", path)


def test_a_logo_for_dark_pages_alone_is_refused():
    with pytest.raises(ConfigurationError, match=r"^SITE_LOGO must be set, because SITE_LOGO_DARK"):
        Settings(SITE_LOGO_DARK="/dark.svg")
    assert Settings(SITE_LOGO="/logo.svg", SITE_LOGO_DARK="/dark.svg").SITE_LOGO_DARK == "/dark.svg"


@pytest.mark.parametrize("name", ["SUPPORT_URL", "TERMS_URL", "PRIVACY_URL"])
@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://a.example/", id="not encrypted"),
        pytest.param("javascript:alert(1)", id="script"),
        pytest.param("data:text/html,x", id="data"),
        pytest.param("//a.example/", id="no scheme"),
        pytest.param("https:a.example", id="no slashes"),
        pytest.param("https://", id="no host"),
        pytest.param("https://user@a.example/", id="a user"),
        pytest.param("https://a.example\\b", id="backslash"),
        pytest.param("https://a.example/a b", id="space"),
        pytest.param('https://a.example/"', id="quote"),
        pytest.param("https://a.example/%zz", id="wrong encoding"),
        pytest.param("https://a.example/\n", id="line feed"),
        pytest.param("mailto:", id="no address"),
        pytest.param("mailto:help@example.org?a b", id="space in a header"),
        pytest.param("mailto:help@example.org,eve@example.org", id="two addresses"),
    ],
)
def test_a_link_of_the_site_leads_to_a_page(name, url):
    refused(name, url)


def test_help_is_at_no_path_because_emails_have_its_url():
    refused("SUPPORT_URL", "/help")


@pytest.mark.parametrize("name", ["TERMS_URL", "PRIVACY_URL"])
def test_terms_are_no_email(name):
    refused(name, "mailto:help@example.org")


@pytest.mark.promise(8)
@pytest.mark.parametrize(
    ("name", "value", "is_risky"),
    [
        ("BCRYPT_ROUNDS", 9, True),
        ("BCRYPT_ROUNDS", 10, False),
        ("JWT_EXPIRY_MINUTES", 60 * 24 * 30 + 1, True),
        ("LOGIN_FAILURES_PER_ACCOUNT", 0, True),
        ("LOGIN_FAILURES_PER_ACCOUNT", 1, False),
        ("JWT_EXPIRY_MINUTES", 60 * 24 * 30, False),
        ("SESSION_HOURS", 24 * 30 + 1, True),
        ("SESSION_HOURS", 24 * 30, False),
        ("REMEMBER_DAYS", 31, True),
        ("REMEMBER_DAYS", 30, False),
    ],
)
def test_what_is_allowed_but_unwise_is_named(name, value, is_risky):
    risks = Settings(**{name: value}).risks()
    assert [risk.startswith(f"{name} is {value}") for risk in risks] == [True] * is_risky


@pytest.mark.promise(8)
@pytest.mark.parametrize(
    ("origins", "is_risky"),
    [
        *(
            pytest.param((origin,), True, id=origin)
            for origin in (
                *("http://app.example.org", "http://192.0.2.1:8080", "http://[2001:db8::1]"),
                *("http://localhost.example.org", "http://127.0.0.1.example.org:8080"),
                *("http://notlocalhost", "http://example.org:8127"),
            )
        ),
        *(
            pytest.param((origin,), False, id=origin)
            for origin in (
                *("https://app.example.org", "http://localhost", "http://localhost:3000"),
                *("http://app.localhost:3000", "http://127.0.0.1:3000", "http://[::1]:3000"),
            )
        ),
        pytest.param(("https://a.example", "http://b.example"), True, id="one of two"),
        pytest.param(("http://b.example", "http://c.example"), True, id="both"),
    ],
)
def test_a_trusted_origin_without_https_is_a_risk(origins, is_risky):
    risks = Settings(TRUSTED_ORIGINS=origins).risks()
    named = ", ".join(origin for origin in origins if origin.startswith("http:"))
    assert [risk.split(": ")[0] for risk in risks] == [f"TRUSTED_ORIGINS has {named}"] * is_risky


def test_the_middleware_warns_of_risks(site, caplog):
    messages = [record.getMessage() for record in caplog.get_records("setup")]
    assert any(message.startswith("BCRYPT_ROUNDS is 4: below 10") for message in messages)


@pytest.mark.parametrize(
    "service",
    [
        pytest.param("reports", id="name"),
        pytest.param("Reports_2.internal-api", id="name with punctuation"),
        pytest.param("https://api.example.org/v1/", id="URL"),
        pytest.param("http://[::1]:8080", id="URL without a name"),
        pytest.param("urn:example:reports", id="URN"),
        pytest.param("a" * 200, id="longest"),
    ],
)
def test_a_service_is_a_name_or_a_url(service):
    settings = {"SERVICE_KEYS": "keys", "PUBLIC_URL": "https://example.org"}
    assert (service,) == Settings(SERVICES=(service,), **settings).SERVICES


@pytest.mark.parametrize(
    "service",
    [
        pytest.param("", id="empty"),
        pytest.param("-reports", id="beginning with a dash"),
        pytest.param("re ports", id="space"),
        pytest.param("reports,maps", id="comma in a name"),
        pytest.param("https://api.example.org/#v1", id="fragment"),
        pytest.param("https://api.example.org/?v=1", id="query"),
        pytest.param('https://api.example.org/"', id="quote"),
        pytest.param("r\u00e9ports", id="no ASCII"),
        pytest.param("reports\n", id="line feed"),
        pytest.param("a" * 201, id="too long"),
    ],
)
def test_what_is_no_service_is_refused(service):
    assert "separated by spaces" in str(refused("SERVICES", (service,)))
