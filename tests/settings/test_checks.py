"""The forms of settings: origins, sources of fonts and images, the path of the logo; and risks."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import wsgiauth
from tests.support.settings import accepted, refused
from wsgiauth import Settings
from wsgiauth.authentication.scopes import STANDARD
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.oauth_server.scopes import is_scope
from wsgiauth.settings.service_entries import Service, scopes_of, wrong_scope

# The table of Go's TestCrossOriginProtectionAddTrustedOriginErrors, and what follows from ours.
ORIGINS = [
    "https://example.com",  # valid origin
    "https://example.com:8080",  # valid origin with port
    "http://example.com",  # http origin
    "https://[::1]:8080",  # address of version 6
    "https://xn--bcher-kva.example",  # international name
]


@pytest.mark.promise(17)
def test_an_origin_is_a_scheme_a_host_and_perhaps_a_port():
    assert accepted("TRUSTED_ORIGINS", [(each,) for each in ORIGINS]) == [
        (each,) for each in ORIGINS
    ]


NO_ORIGINS = [
    "example.com",  # missing scheme
    "https://",  # missing host
    "https://example.com/",  # trailing slash
    "https://example.com/path",  # with path
    "https://example.com?query=value",  # with query
    "https://example.com#fragment",  # with fragment
    "https://ex ample.com",  # invalid url
    "",  # empty string
    "null",  # null
    "*",  # any
    "ftp://example.com",  # another scheme
    "https://ada@example.com",  # with user
    "https://:8080",  # port without host
    "https://example.com:0",  # port zero
    "https://example.com:http",  # port that is no number
    "https://[::1",  # open bracket
    "https://example.com\\",  # backslash
    "https://example.com\n",  # line feed
]


@pytest.mark.promise(17)
def test_what_is_no_origin_is_refused():
    assert accepted("TRUSTED_ORIGINS", [("https://a.example", each) for each in NO_ORIGINS]) == []


AT_AUTH = {"PUBLIC_URL": "https://auth.example.org"}


DOMAINS = [
    ("example.org", "https://example.org"),  # the host itself
    ("example.org", "https://auth.example.org/site"),  # a host below it
    ("example.org", "https://a.b.example.org:8443"),  # far below it, with a port
    ("shop.co.uk", "https://shop.co.uk"),  # below a public suffix
    ("ada.github.io", "https://ada.github.io"),  # below a host of many owners
    ("xn--bcher-kva.example", "https://xn--bcher-kva.example"),  # international
]


@pytest.mark.promise(85)
def test_a_domain_of_cookies_is_that_of_the_site():
    for domain, public_url in DOMAINS:
        assert accepted("COOKIE_DOMAIN", [domain], PUBLIC_URL=public_url) == [domain]


NO_DOMAINS = [
    "org",  # one label
    "localhost",  # localhost
    "co.uk",  # a registry of a country
    "or.jp",  # another registry
    "github.io",  # hosts of many owners
    "192.0.2.1",  # an address of version 4
    "2001:db8::1",  # an address of version 6
    "[2001:db8::1]",  # an address in brackets
    "example.1",  # a number at the end
    ".example.org",  # a dot first
    "example.org.",  # a dot at the end
    "a..example.org",  # an empty label
    "*.example.org",  # a pattern
    "Example.org",  # upper case
    "bücher.example",  # beyond ASCII
    "https://example.org",  # a URL
    "example.org:8443",  # a port
    "example.org/",  # a slash
    "example.org; Path=/a",  # an attribute
    "example.org\n",  # a line feed
    f"{'a' * 64}.org",  # a label of 64 characters
    f"{'a.' * 126}org",  # 255 characters
]


@pytest.mark.promise(85)
def test_no_other_domain_can_have_cookies():
    assert accepted("COOKIE_DOMAIN", NO_DOMAINS) == []


OUTSIDE = [
    "http://localhost",  # http
    "https://example.net",  # another domain
    "https://evilexample.org",  # the same end
    "https://example.org.evil.example",  # the same start
    "https://org",  # above the domain
]


@pytest.mark.promise(85)
def test_the_site_must_be_in_the_domain_of_its_cookies():
    for public_url in OUTSIDE:
        with pytest.raises(ConfigurationError) as caught:
            Settings(COOKIE_DOMAIN="example.org", PUBLIC_URL=public_url)
        assert str(caught.value) == (
            "PUBLIC_URL must be an https URL of example.org or of a host below it, because"
            " COOKIE_DOMAIN is example.org."
        )


def test_hosts_that_share_a_login_need_to_know_where_it_is():
    for name, value in {"COOKIE_DOMAIN": "example.org", "NEXT_HOSTS": ("a.example.org",)}.items():
        expected = f"^PUBLIC_URL must be set, because {name} is\\.$"
        with pytest.raises(ConfigurationError, match=expected):
            Settings(**{name: value})


HOSTS = [
    "files.example.org",
    "files.example.org:8443",
    "files.example.org:4430",
    "*.example.org",
    "*.example.org:8443",
    "intranet",
    "192.0.2.1:8443",
]


@pytest.mark.promise(85)
def test_a_host_to_go_to_is_a_name_and_perhaps_a_port():
    one_by_one = [(each,) for each in HOSTS]
    assert accepted("NEXT_HOSTS", one_by_one, **AT_AUTH) == one_by_one


NO_HOSTS = [
    "",  # nothing
    "*",  # any
    "*.",  # any name
    "*.org",  # below one label
    "*.co.uk",  # below a registry
    "*.github.io:8443",  # below a host of many owners
    "*.192.0.2.1",  # below an address
    "a.*.example.org",  # a pattern in the middle
    "*a.example.org",  # a pattern without a dot
    "**.example.org",  # two stars
    "https://files.example.org",  # a URL
    "files.example.org/",  # a slash
    "files.example.org:443",  # the port of https
    "files.example.org:0",  # port zero
    "files.example.org:",  # an empty port
    "Files.example.org",  # upper case
    "files.example.org.",  # a dot at the end
    "[::1]",  # an address of version 6
    "ada@files.example.org",  # a user
    "bücher.example",  # beyond ASCII
    "files.example.org\n",  # a line feed
]


@pytest.mark.promise(85)
def test_nothing_else_is_a_host_to_go_to():
    assert accepted("NEXT_HOSTS", [("files.example.org", each) for each in NO_HOSTS]) == []


SOURCES = [
    "https://fonts.example.org",  # https
    "https://fonts.example.org:8443",  # https with port
    "http://localhost:8000",  # localhost
    "http://127.0.0.1:8000",  # this machine
]


@pytest.mark.promise(20)
def test_a_page_source_is_an_origin_with_https_or_of_this_machine():
    assert tuple(SOURCES) == Settings(PAGE_SOURCES=tuple(SOURCES)).PAGE_SOURCES


NO_SOURCES = [
    "http://fonts.example.org",  # http
    "https:",  # a scheme alone
    "*",  # any
    "https://*.example.org",  # any subdomain
    "https://[::1]",  # address that no policy can name
    "https://example.org/fonts/",  # with path
    "https://example.org;script-src",  # semicolon
    "https://example.org, https://b.example",  # comma
    "https://example.org 'unsafe-inline'",  # space
    "https://example.org\r\nX-Header: 1",  # line feed
    "https://\xe9.example",  # not ASCII
    "'unsafe-inline'",  # keyword
    "data:",  # data
]


@pytest.mark.promise(20)
def test_nothing_else_is_a_page_source():
    values = [("https://fonts.example.org", each) for each in NO_SOURCES]
    assert accepted("PAGE_SOURCES", values) == []


NO_LOGOS = [
    "logo.svg",  # relative
    "//elsewhere.example/logo.svg",  # another site
    "/\\elsewhere.example/logo.svg",  # backslash
    "/%5celsewhere.example/logo.svg",  # encoded backslash
    "/.//logo.svg",  # dot and two slashes
    "https://elsewhere.example/logo.svg",  # URL
    "data:image/svg+xml,",  # data
    "/the logo.svg",  # space
    "/logo.svg\n",  # line feed
    "/logo%0a.svg",  # encoded line feed
    "/\xe9.svg",  # not encoded
]


def test_a_logo_is_a_path_of_the_site():
    assert accepted("SITE_LOGO", NO_LOGOS) == []


def test_a_logo_for_dark_pages_alone_is_refused():
    with pytest.raises(ConfigurationError, match=r"^SITE_LOGO must be set, because SITE_LOGO_DARK"):
        Settings(SITE_LOGO_DARK="/dark.svg")
    assert Settings(SITE_LOGO="/logo.svg", SITE_LOGO_DARK="/dark.svg").SITE_LOGO_DARK == "/dark.svg"


def test_a_logo_of_emails_is_no_svg_which_few_mail_programs_show():
    images = ["/logo.svg", "/logo.SVG?v=2", "https://a.example/logo.svgz#a", "data:image/png,"]
    assert accepted("SITE_LOGO_EMAIL", [*images, *NO_LINKS]) == []
    for image in ("/static/logo.png?v=2", "https://a.example/logo.webp"):
        assert accepted("SITE_LOGO_EMAIL", [image]) == [image]


NO_LINKS = [
    "http://a.example/",  # not encrypted
    "javascript:alert(1)",  # script
    "data:text/html,x",  # data
    "//a.example/",  # no scheme
    "https:a.example",  # no slashes
    "https://",  # no host
    "https://user@a.example/",  # a user
    "https://a.example\\b",  # backslash
    "https://a.example/a b",  # space
    'https://a.example/"',  # quote
    "https://a.example/%zz",  # wrong encoding
    "https://a.example/\n",  # line feed
    "mailto:",  # no address
    "mailto:help@example.org?a b",  # space in a header
    "mailto:help@example.org,eve@example.org",  # two addresses
]


def test_a_link_of_the_site_leads_to_a_page():
    for name in ("SUPPORT_URL", "TERMS_URL", "PRIVACY_URL"):
        assert accepted(name, NO_LINKS) == [], name


def test_help_is_at_no_path_because_emails_have_its_url():
    refused("SUPPORT_URL", "/help")


def test_terms_are_no_email():
    for name in ("TERMS_URL", "PRIVACY_URL"):
        refused(name, "mailto:help@example.org")


RISKY = [
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
]


@pytest.mark.promise(8)
def test_what_is_allowed_but_unwise_is_named():
    for name, value, is_risky in RISKY:
        risks = Settings(**{name: value}).risks()
        assert [risk.startswith(f"{name} is {value}") for risk in risks] == [True] * is_risky, name


@pytest.mark.promise(29)
def test_a_folder_of_pages_that_every_user_can_change_is_named(tmp_path):
    for name in ("TEMPLATES", "TRANSLATIONS"):
        folder = tmp_path / name
        shutil.copytree(Path(wsgiauth.__file__).parent / "languages/locale", folder)
        for mode, is_risky in ((0o755, False), (0o775, False), (0o757, True), (0o1777, True)):
            folder.chmod(mode)
            risks = Settings(**{name: folder}).risks()
            assert [each.startswith(f"{name} is {str(folder)!r}, where") for each in risks] == (
                [True] * is_risky
            )


WITHOUT_HTTPS = [
    *("http://app.example.org", "http://192.0.2.1:8080", "http://[2001:db8::1]"),
    *("http://localhost.example.org", "http://127.0.0.1.example.org:8080"),
    *("http://notlocalhost", "http://example.org:8127"),
]
SAFE = [
    *("https://app.example.org", "http://localhost", "http://localhost:3000"),
    *("http://app.localhost:3000", "http://127.0.0.1:3000", "http://[::1]:3000"),
]


def risky_origins(*origins):
    """Return what the risks say of trusted origins."""
    return [risk.split(": ")[0] for risk in Settings(TRUSTED_ORIGINS=origins).risks()]


@pytest.mark.promise(8)
def test_a_trusted_origin_without_https_is_a_risk():
    assert {each: risky_origins(each) for each in WITHOUT_HTTPS} == {
        each: [f"TRUSTED_ORIGINS has {each}"] for each in WITHOUT_HTTPS
    }
    assert {each: risky_origins(each) for each in SAFE} == {each: [] for each in SAFE}
    one, both = ("https://a.example", "http://b.example"), ("http://b.example", "http://c.example")
    assert risky_origins(*one) == ["TRUSTED_ORIGINS has http://b.example"]
    assert risky_origins(*both) == [f"TRUSTED_ORIGINS has {', '.join(both)}"]


def test_the_middleware_warns_of_risks(site, caplog):
    messages = [record.getMessage() for record in caplog.get_records("setup")]
    assert any(message.startswith("BCRYPT_ROUNDS is 4: below 10") for message in messages)


SERVICES = [
    "reports",  # name
    "Reports_2.internal-api",  # name with punctuation
    "https://api.example.org/v1/",  # URL
    "http://[::1]:8080",  # URL without a name
    "urn:example:reports",  # URN
    "a" * 200,  # longest
]


def test_a_service_is_a_name_or_a_url():
    others = {"SERVICE_KEYS": "keys", "PUBLIC_URL": "https://example.org"}
    for each in SERVICES:
        assert (each,) == Settings(SERVICES=(each,), **others).SERVICES


def test_two_services_are_different_uris():
    others = {"SERVICE_KEYS": "keys", "PUBLIC_URL": "https://example.org"}
    both = ("https://a.example/", "reports", "https://A.example:443")
    with pytest.raises(ConfigurationError, match=r"^SERVICES must be different .* same URI\.$"):
        Settings(SERVICES=both, **others)
    assert Settings(SERVICES=("reports", "Reports", "reports"), **others).SERVICES[2] == "reports"
    for other in ("https://a.example#a.b", "https://a.example/#", "https://A.example#a.b,c.d"):
        with pytest.raises(ConfigurationError, match=r"same URI|'' of"):
            Settings(SERVICES=("https://a.example#c.d", other), **others)
    twice = ("https://a.example#a.b",) * 2
    assert Settings(SERVICES=twice, **others).SERVICES == ("https://a.example",) * 2


SCOPES = [
    ("https://api.example.org/v1", ()),
    ("https://api.example.org/v1#notes.read", ("notes.read",)),
    ("https://api.example.org#notes.read,openid,notes.read", ("notes.read", "openid")),
    ("reports#reports.read,offline_access", ("reports.read", "offline_access")),
]


def test_a_service_can_name_its_scopes():
    """Its name is without them, also after a copy of the settings."""
    others = {"SERVICE_KEYS": "keys", "PUBLIC_URL": "https://example.org"}
    for entry, scopes in SCOPES:
        made = Settings(SERVICES=[entry], **others)
        for settings in (made, replace(made, SITE_NAME="Wiki")):
            (service,) = settings.SERVICES
            assert (service, scopes_of(service)) == (entry.partition("#")[0], scopes)
    named = Settings.from_mapping({"SERVICES": " ".join(each for each, _ in SCOPES[::3]), **others})
    assert named.SERVICES == ("https://api.example.org/v1", "reports")
    assert scopes_of("reports") == ()


WRONG_SCOPES = ["", "v1", "notes", "Openid", "notes.read.all", "notes read", "a." + "b" * 99]


def test_a_wrong_scope_of_a_service_is_refused_by_name():
    others = {"SERVICE_KEYS": "keys", "PUBLIC_URL": "https://example.org"}
    for each in WRONG_SCOPES:
        with pytest.raises(ConfigurationError) as refusal:
            Settings(SERVICES=(f"https://api.example.org#a.b,{each}",), **others)
        assert f"{each!r} of https://api.example.org is none" in str(refusal.value)


def test_the_scopes_of_services_are_those_that_a_client_can_have():
    for each in (*STANDARD, "a.b", "A_-1.b", *WRONG_SCOPES):
        assert (wrong_scope(Service(f"reports#{each}")) is None) == is_scope(each)


NO_SERVICES = [
    "",  # empty
    "-reports",  # beginning with a dash
    "re ports",  # space
    "reports,maps",  # comma in a name
    "https://api.example.org/?v=1",  # query
    'https://api.example.org/"',  # quote
    "r\u00e9ports",  # no ASCII
    "reports\n",  # line feed
    "a" * 201,  # too long
]


def test_what_is_no_service_is_refused():
    for each in NO_SERVICES:
        assert "separated by spaces" in str(refused("SERVICES", (each,))), each
    for value in (7, (7,), None):
        assert "separated by spaces" in str(refused("SERVICES", value)), value
