"""Safe `next` paths, the encoding of paths, and what belongs to a path."""

import zlib
from base64 import urlsafe_b64encode
from hashlib import shake_128

import pytest

from tests.support.tables import row_by_row
from wsgiauth.web.urls import (
    ASKED_FOR,
    MAX_IN_COOKIE,
    MAX_NEXT,
    PATHS_ALONE,
    ROUTING_ARGS,
    Destinations,
    Router,
    leads_to,
    mount_url,
    next_in_cookie,
    next_of_cookie,
    origin_of,
    path_asked_for,
    root_url,
    routing_argument,
    safe_next,
    with_next,
)


@pytest.mark.promise(18)
def test_a_path_of_this_site_is_a_next():
    for candidate in (
        "/",
        "/reports",
        "/reports/",
        "/reports?year=2026&month=11",
        "/reports?next=https://example.org//x",
        "/a?b=//c",
        "/reports#top",
        "/caf%C3%A9",
        "/a%20b%2Fc%25",
        "/a:b@c;d,e!$'()*+~-._[]",
        "/@example.org",
        "/..",
        "/a%2f/b",
        "/~a//b",
        "/#/report/7",
        "/a#//b",
        "/a#b\\c%5c%0a",
        "/a?login=CORP%5Cada",  # encoded backslash in the query
        "/a//b",
        "/files//x?y=//z",
        "/..a//b",
        "/" + "a" * 8191,  # 8,192 characters
        "/" + "a" * 7168 + "/" * 1023,  # 10,240 characters in a query
    ):
        assert safe_next(candidate, "/default") == candidate


@pytest.mark.promise(18)
def test_anything_else_is_the_default():
    for candidate in (
        "",
        "reports",  # relative
        "?next=/",  # query
        "https://evil.example/",  # URL
        "https:/evil.example",  # URL with one slash
        "javascript:alert(1)",  # script
        "//evil.example",  # two slashes
        "///evil.example",  # three slashes
        "/\\evil.example",  # slash and backslash
        "\\\\evil.example",  # two backslashes
        "/a\\b",  # backslash further in
        "/?a=\\",  # backslash in the query
        "/.//evil.example",  # dot and two slashes
        "/a/..//evil.example",  # dots and two slashes
        "/a/%2E%2e//evil.example",  # encoded dots and two slashes
        "/a//..",  # dots behind two slashes
        "/%2fevil.example",  # encoded slash
        "/%2f%2fevil.example//x",  # encoded slashes
        "/a/..%2F/evil.example",  # dots before an encoded slash
        "/%20//evil.example",  # encoded space and two slashes
        "/%20/%C2%A0//evil.example",  # two kinds of encoded spaces
        "/~//evil.example",  # no letter before two slashes
        "/a#b c",  # space in a fragment
        "/a#b\n",  # line feed in a fragment
        " /a",  # leading space
        "/a b",  # space
        "/a ",  # trailing space
        "\t/a",  # leading tab
        "/\t/evil.example",  # tab between slashes
        "/\n/evil.example",  # line feed between slashes
        "/a\n",  # trailing line feed
        "/a\r\nSet-Cookie: a=b",  # header injection
        "/a\0",  # NUL
        "/a\x7f",  # delete
        "/a\x85",  # C1 control
        "/\N{FULLWIDTH FULL STOP}/evil.example",  # fullwidth full stop
        "/é\\",  # backslash beside a letter
        "/é/..//evil.example",  # dots and two slashes beside a letter
        "/\N{FULLWIDTH SOLIDUS}evil.example",  # fullwidth slash
        "/a\u2028b",  # line separator
        "/\ud800",  # surrogate
        "/%0d%0aSet-Cookie:%20a=b",  # encoded line feed
        "/%0D",  # encoded in upper case
        "/a?b=%0a",  # encoded in the query
        "/a%5C?b=%5c",  # encoded backslash in the path
        "/%00",  # encoded NUL
        "/%09/evil.example",  # encoded tab
        "/%1f",  # last of the encoded controls
        "/%7F",  # encoded delete
        "/%5cevil.example",  # encoded backslash
        "/" + "a" * 8192,  # 8,193 characters
        "/" + "é" * 1366,  # 8,197 characters, once encoded
        "/" + "a" * 7167 + "/" * 1025,  # 10,244 characters in a query
    ):
        assert safe_next(candidate, "/default") == "/default"


DESTINATIONS = Destinations(("files.example.org", "app.example.org:8443", "*.example.net"))


@pytest.mark.promise(85)
def test_a_next_can_lead_to_the_hosts_of_the_site():
    for candidate in (
        "https://files.example.org/",
        "https://files.example.org/a?b=https://evil.example#c",
        "https://files.example.org/@evil.example",
        "https://app.example.org:8443/",
        "https://a.example.net/",
        "https://a.b-c.xn--bcher-kva.example.net/",
        f"https://{'a' * 63}.example.net/",  # 63 characters before a dot
        "/a",
    ):
        assert DESTINATIONS.safe(candidate) == candidate


@pytest.mark.promise(85)
def test_a_next_leads_to_no_other_host():
    for candidate in (
        "https://evil.example/",  # another host
        "https://example.net/",  # the domain itself
        "https://.example.net/",  # an empty name below the domain
        "https://a..example.net/",  # an empty label
        "https://-a.example.net/",  # a dash first
        "https://a_b.example.net/",  # an underscore
        "https://*.example.net/",  # the pattern
        "https://evilexample.net/",  # the end of a name
        "https://files.example.org.evil.example/",  # the host as a start
        "https://a.example.net.evil.example/",  # the domain in the middle
        "https://a.files.example.org/",  # below a host
        "http://files.example.org/",  # http
        "ftp://files.example.org/",  # another scheme
        "//files.example.org/",  # no scheme
        "https:files.example.org/",  # no slashes
        "https:/files.example.org/",  # one slash
        "https:///files.example.org/",  # three slashes
        "https:\\\\files.example.org/",  # backslashes
        "https://files.example.org\\",  # backslash after the host
        "https://evil.example\\.example.net/",  # backslash within the host
        "https://files.example.org@evil.example/",  # host as user
        "https://ada@files.example.org/",  # user
        "https://ada:x@files.example.org/",  # user and password
        "https://evil.example#@files.example.org/",  # fragment before the user
        "https://evil.example?.example.net/",  # query within the host
        "https://evil.example/.example.net/",  # path within the host
        "https://files.example.org./",  # dot at the end
        "https://files.example.org:8443/",  # another port
        "https://files.example.org:443:443/",  # two ports
        "https://files.example.org:80/",  # the port of http
        "https://app.example.org/",  # no port
        "https://app.example.org:08443/",  # port with a zero
        "https://app.example.org:84430/",  # longer port
        "https://a.example.net:8443/",  # port below the domain
        "https://files.example.org:x@evil.example/",  # host and password
        "https://[::1]/",  # address of version 6
        "https://[::1].example.net/",  # address within a name
        "https://127.0.0.1/",  # address
        "https://evil.example%2f.example.net/",  # encoded slash
        "https://%66iles.example.org/",  # encoded letter
        "https://é.example.net/",  # name beyond ASCII
        "https://evil\N{FULLWIDTH SOLIDUS}.example.net/",  # fullwidth slash
        "https://a\N{IDEOGRAPHIC FULL STOP}example.net/",  # ideographic dot
        "https://files.example.org\N{ZERO WIDTH SPACE}/",  # invisible
        " https://files.example.org/",  # leading space
        "https://files.example.org /",  # space after the host
        "\thttps://files.example.org/",  # leading tab
        "ht\ttps://files.example.org/",  # tab in the scheme
        "https://files.example.org\t/",  # tab after the host
        "https://files.example.org\n",  # line feed after the host
        "https://files.example.org/\r\nSet-Cookie: a=b",  # header injection
        "https://files.example.org/%0d%0a",  # encoded line feed
        "https://files.example.org//evil.example",  # two slashes
        "https://files.example.org/; script-src *",  # space in the path
        f"https://{'a' * 64}.example.net/",  # 64 characters before a dot
        f"https://{'a.' * 122}example.net/",  # name of 255 characters
        "https://files.example.org/" + "a" * 8192,  # 8,193 characters of a path
        "https://files.example.org/" + "=" * 3500,  # too long in a query
        "javascript://files.example.org/%250aalert(1)",  # script
        "",
    ):
        assert DESTINATIONS.safe(candidate) == ""


@pytest.mark.promise(85)
def test_a_next_leads_to_a_host_however_the_url_is_spelt():
    for candidate, expected in (
        ("https://files.example.org", "https://files.example.org/"),
        ("https://files.example.org?a=b", "https://files.example.org/?a=b"),
        ("https://files.example.org#a", "https://files.example.org/#a"),
        ("https://files.example.org:443/A?b", "https://files.example.org/A?b"),
        ("https://files.example.org:/", "https://files.example.org/"),
        ("HTTPS://Files.Example.ORG:443", "https://files.example.org/"),
        ("https://APP.example.org:8443/", "https://app.example.org:8443/"),
    ):
        assert DESTINATIONS.safe(candidate) == expected


@pytest.mark.promise(85)
def test_without_hosts_a_next_is_a_path():
    assert PATHS_ALONE.safe("/a") == "/a"
    assert PATHS_ALONE.safe("https://files.example.org/") == ""


@pytest.mark.promise(85)
def test_letters_beyond_ascii_in_the_path_at_a_host_are_percent_encoded():
    safe = DESTINATIONS.safe("https://files.example.org/grüße")
    assert safe == "https://files.example.org/gr%C3%BC%C3%9Fe"


def test_a_destination_at_another_host_has_an_origin():
    for destination, origin in (
        ("https://app.example.org:8443/a?b#c", "https://app.example.org:8443"),
        ("https://files.example.org", "https://files.example.org"),
        ("/a", ""),
        ("", ""),
    ):
        assert origin_of(destination) == origin


@pytest.mark.promise(18)
def test_letters_beyond_ascii_are_percent_encoded():
    for candidate, encoded in (
        ("/grüße?wo=köln#süd", "/gr%C3%BC%C3%9Fe?wo=k%C3%B6ln#s%C3%BCd"),
        ("/東京%20/é", "/%E6%9D%B1%E4%BA%AC%20/%C3%A9"),
    ):
        assert safe_next(candidate, "/default") == encoded


def test_a_cookie_keeps_as_much_of_a_next_as_it_can():
    signs = urlsafe_b64encode(shake_128(b"").digest(3000)).decode()
    for destination, kept in (
        ("", ""),
        ("/?" + "a" * 2046, "/?" + "a" * 2046),  # 2,048 characters
        ("/?" + "%22" * 2000, "/?" + "%22" * 2000),  # more, which can be compressed
        ("https://example.org/?" + "%22" * 2000, "https://example.org/?" + "%22" * 2000),
        (f"/a?{signs}", "/a"),  # a longer query
        (f"/a#{signs}", "/a"),  # a longer fragment
        (f"/{signs}?b", ""),  # a longer path
    ):
        stored = next_in_cookie(destination)
        assert len(stored) <= MAX_IN_COOKIE
        assert next_of_cookie(stored) == kept


def test_a_cookie_that_no_site_has_made_leads_nowhere():
    assert next_of_cookie(b"x") == ""
    assert next_of_cookie(zlib.compress(b"")[:1] + b"/a") == ""
    assert len(next_of_cookie(zlib.compress(b"/" + b"a" * 1_000_000))) <= MAX_NEXT


def test_a_next_is_added_to_a_url():
    for url, destination, expected in (
        ("/auth/login", "", "/auth/login"),  # nowhere
        ("/auth/login", "/a?b=c&d", "/auth/login?next=%2Fa%3Fb%3Dc%26d"),  # path
        ("/auth/login?x=y", "/a", "/auth/login?x=y&next=%2Fa"),  # second field
    ):
        assert with_next(url, destination) == expected


def test_paths_are_percent_encoded():
    for raw, encoded in (
        ("", ""),  # at the root
        ("/site", "/site"),  # below a path
        ("/caf\xc3\xa9", "/caf%C3%A9"),  # UTF-8
        ("/\xff", "/%FF"),  # any byte
        ('/a b"<>\\%', "/a%20b%22%3C%3E%5C%25"),  # what must be escaped
        ("/\r\nX: y", "/%0D%0AX:%20y"),  # header injection
        ("/é€", "/%E9%3F"),  # what no server should send
    ):
        assert root_url({"wsgiauth.root": raw}) == encoded
        assert mount_url({"SCRIPT_NAME": raw}) == encoded


def test_the_path_asked_for_is_encoded():
    for environ, expected in (
        ({"PATH_INFO": "/reports"}, "/reports"),  # path
        ({"SCRIPT_NAME": "/site", "PATH_INFO": "/é"}, "/site/%E9"),  # script name
        ({"PATH_INFO": "/a", "QUERY_STRING": "b=c"}, "/a?b=c"),  # query
        ({"PATH_INFO": "/a", "QUERY_STRING": "b=\xc3\xbc%20"}, "/a?b=%C3%BC%20"),  # raw query
        ({ASKED_FOR: "/\xc3\xbc?b=\xff%20"}, "/%C3%BC?b=%FF%20"),  # of a proxy
        ({"PATH_INFO": "/a?b"}, "/a%3Fb"),  # question mark in the path
        ({}, ""),
    ):
        assert path_asked_for(environ) == expected


@pytest.mark.promise(18)
@row_by_row(
    "raw",
    [
        *("//evil.example", "///evil.example", "/", "//", "", "site", ".", "\\\\evil.example"),
        *("https://evil.example", "https:evil.example", "javascript:alert(1)", "?a", "#a", "\t/a"),
    ],
)
def test_a_mount_is_always_a_path_of_this_site(raw):
    urls = [f"{root_url({'wsgiauth.root': raw})}/", f"{mount_url({'SCRIPT_NAME': raw})}/login"]
    urls.append(path_asked_for({"SCRIPT_NAME": raw, "PATH_INFO": "/a"}))
    for url in urls:
        assert url.startswith("/")
        assert not url.startswith("//")


def test_a_path_is_known_however_it_is_spelt():
    for destination, expected in (
        ("/auth/logout", True),
        ("/auth/logout?next=/", True),
        ("/auth/logout#x", True),
        ("/auth/logout?a#b?c", True),
        ("/auth/%6cogout", True),
        ("/x/../auth/logout", True),
        ("/x/%2e%2e/auth/./logout", True),
        ("/auth/logout/", True),
        ("https://files.example.org/auth/logout", True),
        ("https://files.example.org", False),
        ("/auth/me", False),
        ("/logout", False),
    ):
        assert leads_to(destination, "/auth/logout") is expected


ROUTER = Router(
    {
        "/users": "users",
        "/users/{id}": "user",
        "/users/7": "seven",
        "/users/{id}/{action}": "action",
        "/users.csv": "csv",
        "/oidc/{provider}": "provider",
        "/oidc/{provider}/callback": "callback",
        "/teams/{slug}": "team",
    }
)


def test_a_path_has_the_target_of_its_route():
    for path, target, arguments in (
        ("/users", "users", {}),
        ("/users.csv", "csv", {}),
        ("/users/1", "user", {"id": "1"}),
        ("/users/7", "seven", {}),
        ("/users/999999999999999999", "user", {"id": "9" * 18}),
        ("/users/1/end-logins", "action", {"id": "1", "action": "end-logins"}),
        ("/oidc/g", "provider", {"provider": "g"}),
        ("/oidc/site-2", "provider", {"provider": "site-2"}),
        ("/oidc/callback", "provider", {"provider": "callback"}),
        ("/oidc/callback/callback", "callback", {"provider": "callback"}),
        ("/oidc/" + "a" * 32, "provider", {"provider": "a" * 32}),
        ("/teams/7-analytical-engines", "team", {"slug": "7-analytical-engines"}),
        ("/teams/" + "a" * 64, "team", {"slug": "a" * 64}),
    ):
        assert ROUTER.find(path) == (target, arguments)


def test_another_path_has_none():
    for path in (
        "",
        "/",
        "/users/",
        "/users/0",
        "/users/01",
        "/users/-1",
        "/users/1/",
        "/users/1\n",
        "/users/٣",
        "/users/" + "9" * 19,
        "/usersXcsv",
        "/users/1/END",
        "/users/1/end_logins",
        "/users/1/end2",
        "/users/1/" + "a" * 65,
        "/teams/-a",
        "/teams/a-",
        "/teams/A",
        "/teams/\u0430",  # a Cyrillic letter
        "/teams/" + "a" * 65,
        "/oidc/",
        "/oidc/2site",
        "/oidc/-site",
        "/oidc/Site",
        "/oidc/si_te",
        "/oidc/sité",
        "/oidc/site٣",
        "/oidc/" + "a" * 33,
        "/oidc/site/",
        "/oidc/site/callback\n",
        "/users/1/end/logins",
        "/site/users",
    ):
        assert ROUTER.find(path) is None


def test_the_arguments_are_read_from_the_environ():
    environ = {ROUTING_ARGS: ((), {"id": "7", "action": "delete"})}
    assert routing_argument(environ, "action") == "delete"
