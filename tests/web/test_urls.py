"""Safe `next` paths, the encoding of paths, and what belongs to a path."""

import pytest

from wsgiauth.web.urls import (
    ASKED_FOR,
    PATHS_ALONE,
    ROUTING_ARGS,
    Destinations,
    Router,
    leads_to,
    mount_url,
    next_in_cookie,
    origin_of,
    path_asked_for,
    root_url,
    routing_argument,
    routing_number,
    safe_next,
    with_next,
)


@pytest.mark.promise(18)
@pytest.mark.parametrize(
    "candidate",
    [
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
        "/%2f%2fexample.org",
        "/#/report/7",
        "/a#//b",
        "/a#b\\c%5c%0a",
        "/a//b",
        "/files//x?y=//z",
        "/..a//b",
        pytest.param("/" + "a" * 8191, id="8,192 characters"),
        pytest.param("/" + "a" * 7168 + "/" * 1023, id="10,240 characters in a query"),
    ],
)
def test_a_path_of_this_site_is_a_next(candidate):
    assert safe_next(candidate, "/default") == candidate


@pytest.mark.promise(18)
@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param("", id="nothing"),
        pytest.param("reports", id="relative"),
        pytest.param("?next=/", id="query"),
        pytest.param("https://evil.example/", id="URL"),
        pytest.param("https:/evil.example", id="URL with one slash"),
        pytest.param("javascript:alert(1)", id="script"),
        pytest.param("//evil.example", id="two slashes"),
        pytest.param("///evil.example", id="three slashes"),
        pytest.param("/\\evil.example", id="slash and backslash"),
        pytest.param("\\\\evil.example", id="two backslashes"),
        pytest.param("/a\\b", id="backslash further in"),
        pytest.param("/?a=\\", id="backslash in the query"),
        pytest.param("/.//evil.example", id="dot and two slashes"),
        pytest.param("/a/..//evil.example", id="dots and two slashes"),
        pytest.param("/a/%2E%2e//evil.example", id="encoded dots and two slashes"),
        pytest.param("/a//..", id="dots behind two slashes"),
        pytest.param("/a#b c", id="space in a fragment"),
        pytest.param("/a#b\n", id="line feed in a fragment"),
        pytest.param(" /a", id="leading space"),
        pytest.param("/a b", id="space"),
        pytest.param("/a ", id="trailing space"),
        pytest.param("\t/a", id="leading tab"),
        pytest.param("/\t/evil.example", id="tab between slashes"),
        pytest.param("/\n/evil.example", id="line feed between slashes"),
        pytest.param("/a\n", id="trailing line feed"),
        pytest.param("/a\r\nSet-Cookie: a=b", id="header injection"),
        pytest.param("/a\0", id="NUL"),
        pytest.param("/a\x7f", id="delete"),
        pytest.param("/a\x85", id="C1 control"),
        pytest.param("/\N{FULLWIDTH FULL STOP}/evil.example", id="fullwidth full stop"),
        pytest.param("/é\\", id="backslash beside a letter"),
        pytest.param("/é/..//evil.example", id="dots and two slashes beside a letter"),
        pytest.param("/\N{FULLWIDTH SOLIDUS}evil.example", id="fullwidth slash"),
        pytest.param("/a\u2028b", id="line separator"),
        pytest.param("/\ud800", id="surrogate"),
        pytest.param("/%0d%0aSet-Cookie:%20a=b", id="encoded line feed"),
        pytest.param("/%0D", id="encoded in upper case"),
        pytest.param("/a?b=%0a", id="encoded in the query"),
        pytest.param("/%00", id="encoded NUL"),
        pytest.param("/%09/evil.example", id="encoded tab"),
        pytest.param("/%1f", id="last of the encoded controls"),
        pytest.param("/%7F", id="encoded delete"),
        pytest.param("/%5cevil.example", id="encoded backslash"),
        pytest.param("/" + "a" * 8192, id="8,193 characters"),
        pytest.param("/" + "é" * 1366, id="8,197 characters, once encoded"),
        pytest.param("/" + "a" * 7167 + "/" * 1025, id="10,244 characters in a query"),
    ],
)
def test_anything_else_is_the_default(candidate):
    assert safe_next(candidate, "/default") == "/default"


DESTINATIONS = Destinations(("files.example.org", "app.example.org:8443", "*.example.net"))


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    "candidate",
    [
        "https://files.example.org",
        "https://files.example.org/",
        "https://files.example.org/a?b=https://evil.example#c",
        "https://files.example.org?a=b",
        "https://files.example.org#a",
        "https://files.example.org/@evil.example",
        "https://app.example.org:8443/",
        "https://a.example.net/",
        "https://a.b-c.xn--bcher-kva.example.net/",
        pytest.param(f"https://{'a' * 63}.example.net/", id="63 characters before a dot"),
        "/a",
    ],
)
def test_a_next_can_lead_to_the_hosts_of_the_site(candidate):
    assert DESTINATIONS.safe(candidate) == candidate


@pytest.mark.promise(85)
@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param("https://evil.example/", id="another host"),
        pytest.param("https://example.net/", id="the domain itself"),
        pytest.param("https://.example.net/", id="an empty name below the domain"),
        pytest.param("https://a..example.net/", id="an empty label"),
        pytest.param("https://-a.example.net/", id="a dash first"),
        pytest.param("https://a_b.example.net/", id="an underscore"),
        pytest.param("https://*.example.net/", id="the pattern"),
        pytest.param("https://evilexample.net/", id="the end of a name"),
        pytest.param("https://files.example.org.evil.example/", id="the host as a start"),
        pytest.param("https://a.example.net.evil.example/", id="the domain in the middle"),
        pytest.param("https://a.files.example.org/", id="below a host"),
        pytest.param("http://files.example.org/", id="http"),
        pytest.param("ftp://files.example.org/", id="another scheme"),
        pytest.param("HTTPS://files.example.org/", id="scheme in upper case"),
        pytest.param("https://Files.example.org/", id="host in upper case"),
        pytest.param("//files.example.org/", id="no scheme"),
        pytest.param("https:files.example.org/", id="no slashes"),
        pytest.param("https:/files.example.org/", id="one slash"),
        pytest.param("https:///files.example.org/", id="three slashes"),
        pytest.param("https:\\\\files.example.org/", id="backslashes"),
        pytest.param("https://files.example.org\\", id="backslash after the host"),
        pytest.param("https://evil.example\\.example.net/", id="backslash within the host"),
        pytest.param("https://files.example.org@evil.example/", id="host as user"),
        pytest.param("https://ada@files.example.org/", id="user"),
        pytest.param("https://ada:x@files.example.org/", id="user and password"),
        pytest.param("https://evil.example#@files.example.org/", id="fragment before the user"),
        pytest.param("https://evil.example?.example.net/", id="query within the host"),
        pytest.param("https://evil.example/.example.net/", id="path within the host"),
        pytest.param("https://files.example.org./", id="dot at the end"),
        pytest.param("https://files.example.org:443/", id="the port of https"),
        pytest.param("https://files.example.org:8443/", id="another port"),
        pytest.param("https://files.example.org:/", id="empty port"),
        pytest.param("https://app.example.org/", id="no port"),
        pytest.param("https://app.example.org:08443/", id="port with a zero"),
        pytest.param("https://app.example.org:84430/", id="longer port"),
        pytest.param("https://a.example.net:8443/", id="port below the domain"),
        pytest.param("https://files.example.org:x@evil.example/", id="host and password"),
        pytest.param("https://[::1]/", id="address of version 6"),
        pytest.param("https://[::1].example.net/", id="address within a name"),
        pytest.param("https://127.0.0.1/", id="address"),
        pytest.param("https://evil.example%2f.example.net/", id="encoded slash"),
        pytest.param("https://%66iles.example.org/", id="encoded letter"),
        pytest.param("https://é.example.net/", id="name beyond ASCII"),
        pytest.param("https://evil\N{FULLWIDTH SOLIDUS}.example.net/", id="fullwidth slash"),
        pytest.param("https://a\N{IDEOGRAPHIC FULL STOP}example.net/", id="ideographic dot"),
        pytest.param("https://files.example.org\N{ZERO WIDTH SPACE}/", id="invisible"),
        pytest.param(" https://files.example.org/", id="leading space"),
        pytest.param("https://files.example.org /", id="space after the host"),
        pytest.param("\thttps://files.example.org/", id="leading tab"),
        pytest.param("ht\ttps://files.example.org/", id="tab in the scheme"),
        pytest.param("https://files.example.org\t/", id="tab after the host"),
        pytest.param("https://files.example.org\n", id="line feed after the host"),
        pytest.param("https://files.example.org/\r\nSet-Cookie: a=b", id="header injection"),
        pytest.param("https://files.example.org/%0d%0a", id="encoded line feed"),
        pytest.param("https://files.example.org//evil.example", id="two slashes"),
        pytest.param("https://files.example.org/; script-src *", id="space in the path"),
        pytest.param(f"https://{'a' * 64}.example.net/", id="64 characters before a dot"),
        pytest.param(f"https://{'a.' * 122}example.net/", id="name of 255 characters"),
        pytest.param("https://files.example.org/" + "a" * 8192, id="8,193 characters of a path"),
        pytest.param("https://files.example.org/" + "=" * 3500, id="too long in a query"),
        pytest.param("javascript://files.example.org/%250aalert(1)", id="script"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_next_leads_to_no_other_host(candidate):
    assert DESTINATIONS.safe(candidate) == ""


@pytest.mark.promise(85)
def test_without_hosts_a_next_is_a_path():
    assert PATHS_ALONE.safe("/a") == "/a"
    assert PATHS_ALONE.safe("https://files.example.org/") == ""


@pytest.mark.promise(85)
def test_letters_beyond_ascii_in_the_path_at_a_host_are_percent_encoded():
    safe = DESTINATIONS.safe("https://files.example.org/grüße")
    assert safe == "https://files.example.org/gr%C3%BC%C3%9Fe"


@pytest.mark.parametrize(
    ("destination", "origin"),
    [
        ("https://app.example.org:8443/a?b#c", "https://app.example.org:8443"),
        ("https://files.example.org", "https://files.example.org"),
        ("/a", ""),
        ("", ""),
    ],
)
def test_a_destination_at_another_host_has_an_origin(destination, origin):
    assert origin_of(destination) == origin


@pytest.mark.promise(18)
@pytest.mark.parametrize(
    ("candidate", "encoded"),
    [
        ("/grüße?wo=köln#süd", "/gr%C3%BC%C3%9Fe?wo=k%C3%B6ln#s%C3%BCd"),
        ("/東京%20/é", "/%E6%9D%B1%E4%BA%AC%20/%C3%A9"),
    ],
)
def test_letters_beyond_ascii_are_percent_encoded(candidate, encoded):
    assert safe_next(candidate, "/default") == encoded


@pytest.mark.parametrize(
    ("destination", "kept"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("/?" + "a" * 2046, "/?" + "a" * 2046, id="2,048 characters"),
        pytest.param("/a?" + "b" * 2046, "/a", id="a longer query"),
        pytest.param("/a#" + "b" * 2046, "/a", id="a longer fragment"),
        pytest.param("/" + "a" * 2048 + "?b", "", id="a longer path"),
    ],
)
def test_a_cookie_keeps_as_much_of_a_next_as_it_can(destination, kept):
    assert next_in_cookie(destination) == kept


@pytest.mark.parametrize(
    ("url", "destination", "expected"),
    [
        pytest.param("/auth/login", "", "/auth/login", id="nowhere"),
        pytest.param("/auth/login", "/a?b=c&d", "/auth/login?next=%2Fa%3Fb%3Dc%26d", id="path"),
        pytest.param("/auth/login?x=y", "/a", "/auth/login?x=y&next=%2Fa", id="second field"),
    ],
)
def test_a_next_is_added_to_a_url(url, destination, expected):
    assert with_next(url, destination) == expected


@pytest.mark.parametrize(
    ("raw", "encoded"),
    [
        pytest.param("", "", id="at the root"),
        pytest.param("/site", "/site", id="below a path"),
        pytest.param("/caf\xc3\xa9", "/caf%C3%A9", id="UTF-8"),
        pytest.param("/\xff", "/%FF", id="any byte"),
        pytest.param('/a b"<>\\%', "/a%20b%22%3C%3E%5C%25", id="what must be escaped"),
        pytest.param("/\r\nX: y", "/%0D%0AX:%20y", id="header injection"),
        pytest.param("/é€", "/%E9%3F", id="what no server should send"),
    ],
)
def test_paths_are_percent_encoded(raw, encoded):
    assert root_url({"wsgiauth.root": raw}) == encoded
    assert mount_url({"SCRIPT_NAME": raw}) == encoded


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"PATH_INFO": "/reports"}, "/reports", id="path"),
        pytest.param({"SCRIPT_NAME": "/site", "PATH_INFO": "/é"}, "/site/%E9", id="script name"),
        pytest.param({"PATH_INFO": "/a", "QUERY_STRING": "b=c"}, "/a?b=c", id="query"),
        pytest.param(
            {"PATH_INFO": "/a", "QUERY_STRING": "b=\xc3\xbc%20"}, "/a?b=%C3%BC%20", id="raw query"
        ),
        pytest.param({ASKED_FOR: "/\xc3\xbc?b=\xff%20"}, "/%C3%BC?b=%FF%20", id="of a proxy"),
        pytest.param({"PATH_INFO": "/a?b"}, "/a%3Fb", id="question mark in the path"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_the_path_asked_for_is_encoded(environ, expected):
    assert path_asked_for(environ) == expected


@pytest.mark.promise(18)
@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
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
    ],
)
def test_a_path_is_known_however_it_is_spelt(destination, expected):
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
    }
)


@pytest.mark.parametrize(
    ("path", "target", "arguments"),
    [
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
    ],
)
def test_a_path_has_the_target_of_its_route(path, target, arguments):
    assert ROUTER.find(path) == (target, arguments)


@pytest.mark.parametrize(
    "path",
    [
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
    ],
)
def test_another_path_has_none(path):
    assert ROUTER.find(path) is None


def test_the_arguments_are_read_from_the_environ():
    environ = {ROUTING_ARGS: ((), {"id": "7", "action": "delete"})}
    assert (routing_number(environ), routing_argument(environ, "action")) == (7, "delete")
