"""Redirect URIs: which ones a client can register, and which one a request may use."""

import pytest

from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server.redirect_uris import (
    MAX_LENGTH,
    can_be_opened,
    host_of,
    is_of_this_computer,
    is_registered,
    origin_of,
    problem_of,
)

CALLBACK = "https://wiki.example.org/callback"

WEB = {
    "a path": CALLBACK,
    "no path": "https://wiki.example.org",
    "a slash": "https://wiki.example.org/",
    "a query": "https://wiki.example.org/cb?tenant=7&x=a%20b",
    "a port": "https://wiki.example.org:8443/cb",
    "the last port": "https://wiki.example.org:65535/cb",
    "an international domain in ASCII": "https://xn--bcher-kva.example/cb",
    "an IPv4 address": "https://192.0.2.7/cb",
    "an IPv6 address": "https://[2001:db8::7]:8443/cb",
    "localhost with TLS": "https://localhost:8443/cb",
    "a loopback address": "http://127.0.0.1/cb",
    "a loopback address with a port": "http://127.0.0.1:8080/cb",
    "a loopback address of IPv6": "http://[::1]:8080/cb",
    "localhost": "http://localhost:3000",
    "localhost with a query": "http://localhost?x=1",
    "as long as possible": f"{CALLBACK}?{'a' * (MAX_LENGTH - len(CALLBACK) - 1)}",
}
OF_APPS = {
    "a reverse domain name": "com.example.app:/cb",
    "an app with slashes": "cursor://anysphere.cursor-retrieval/oauth/callback",
    "a scheme alone": "com.example.app:cb",
    "a port": "vscode://host:8080/cb",
}
REFUSED = {
    "nothing": "",
    "a path alone": "/callback",
    "another host without a scheme": "//wiki.example.org/callback",
    "a host without a scheme": "wiki.example.org/callback",
    "a scheme without the rest": "https:",
    "no host": "https:///wiki.example.org/callback",
    "one slash": "https:/wiki.example.org/callback",
    "no slash": "https:wiki.example.org",
    "a host after another part": "https:/x://wiki.example.org/callback",
    "a fragment": f"{CALLBACK}#x",
    "an empty fragment": f"{CALLBACK}#",
    "a username": "https://wiki.example.org@evil.example/callback",
    "a username and a password": "https://wiki.example.org:443@evil.example/callback",
    "an empty username": "https://@wiki.example.org/callback",
    "a wildcard": "https://*.example.org/callback",
    "a wildcard in the path": "https://wiki.example.org/*",
    "a wildcard in the query": f"{CALLBACK}?x=*",
    "a wildcard of an app": "com.example.app:/*",
    "an encoded host": "https://wiki%2eexample.org/callback",
    "an upper-case host": "https://Wiki.example.org/callback",
    "an upper-case scheme": "HTTPS://wiki.example.org/callback",
    "an international domain": "https://bücher.example/callback",
    "a letter that looks like another": "https://wiki.example.org/\u017f",
    "a fullwidth stop": "https://wiki\uff0eexample.org/callback",
    "a backslash before the host": "https:\\\\wiki.example.org/callback",
    "a backslash after the host": "https://wiki.example.org\\@evil.example/callback",
    "an empty label": "https://wiki..example.org/callback",
    "a stop at the end of the host": "https://wiki.example.org./callback",
    "a semicolon in the host": "https://wiki.example.org;script-src/callback",
    "an IPv6 address after a host": "https://wiki.example.org[::1]/callback",
    "a semicolon and an IPv6 address": "https://x;y[::1]/callback",
    "an invalid IPv6 address": "https://[::1::]/callback",
    "an IPv6 address with a zone": "https://[fe80::1%25eth0]/callback",
    "an address of a future version": "https://[v1.x]/callback",
    "half of an IPv6 address": "https://[::1/callback",
    "port 0": "https://wiki.example.org:0/callback",
    "an empty port": "https://wiki.example.org:/callback",
    "a port with a zero before it": "https://wiki.example.org:0443/callback",
    "a port that is too high": "https://wiki.example.org:65536/callback",
    "a port that is a word": "https://wiki.example.org:https/callback",
    "a space": "https://wiki.example.org/call back",
    "a space before": f" {CALLBACK}",
    "a line feed after": f"{CALLBACK}\n",
    "a line feed": f"{CALLBACK}\nhttps://evil.example",
    "a carriage return": f"{CALLBACK}\r\nSet-Cookie: x=y",
    "a tab": "https://wiki.example.org/\tcallback",
    "a null": f"{CALLBACK}\0",
    "a quote": f'{CALLBACK}"onload=x',
    "a tag": f"{CALLBACK}<script>",
    "a percent sign alone": f"{CALLBACK}%",
    "a percent sign before other letters": f"{CALLBACK}%zz",
    "too long": f"{CALLBACK}?{'a' * (MAX_LENGTH - len(CALLBACK))}",
    "http elsewhere": "http://wiki.example.org/callback",
    "http of a private network": "http://192.168.0.7/callback",
    "a host that begins like localhost": "http://localhost.evil.example/callback",
    "a host that ends like localhost": "http://evil.localhost/callback",
    "a host that begins like a loopback address": "http://127.0.0.1.evil.example/callback",
    "localhost as a username": "http://localhost@evil.example/callback",
    "localhost and a port as a username": "http://localhost:80@evil.example/callback",
    "localhost and a backslash": "http://localhost\\.evil.example/callback",
    "a short loopback address": "http://127.1/callback",
    "another loopback address": "http://127.0.0.2/callback",
    "a loopback address as a number": "http://2130706433/callback",
    "a loopback address in hexadecimal": "http://0x7f.0.0.1/callback",
    "a loopback address in octal": "http://0177.0.0.1/callback",
    "the address of all interfaces": "http://0.0.0.0/callback",
    "a long loopback address of IPv6": "http://[0:0:0:0:0:0:0:1]/callback",
    "a mapped loopback address": "http://[::ffff:127.0.0.1]/callback",
    "another address of IPv6": "http://[::2]/callback",
    "upper-case localhost": "http://LOCALHOST/callback",
    "port 0 of an app": "com.example.app://host:0/cb",
    "an invalid port of an app": "com.example.app://host:x/cb",
    "an upper-case scheme of an app": "Com.Example.App:/cb",
    "an invalid address of an app": "com.example.app://[x]/cb",
    "a script": "javascript:alert(1)",
    "a script with slashes": "javascript://wiki.example.org/alert(1)",
    "an upper-case script": "JavaScript:alert(1)",
    "a script with a letter like another": "java\u017fcript:alert(1)",
    "a script after a control character": "\x01javascript:alert(1)",
    "Visual Basic": "vbscript:x",
    "data": "data:text/html;base64,eA==",
    "a blob": "blob:https://wiki.example.org/x",
    "a file": "file:///etc/passwd",
    "a file system": "filesystem:https://wiki.example.org/temporary/x",
    "the source of a page": "view-source:https://wiki.example.org",
    "a page of the browser": "about:blank",
    "a setting of the browser": "chrome://settings",
    "an extension": "chrome-extension://abcdef/cb",
    "another extension": "moz-extension://abcdef/cb",
    "a browser with an address": "microsoft-edge:https://evil.example/",
    "a browser with a host": "microsoft-edge:evil.example",
    "Chrome": "googlechromes://evil.example/",
    "Chrome with a query": "googlechrome-x-callback://x?url=https%3A%2F%2Fevil.example",
    "Safari": "x-safari-https://evil.example/",
    "Firefox": "firefox://open-url?url=https://evil.example",
    "Opera": "opera-https://evil.example/",
    "a browser of Windows": "ie.http:evil.example",
    "a command of the system": "shortcuts://run-shortcut?name=x",
    "a script of the system": "applescript://com.apple.scripteditor?action=new",
    "an address inside an app": "wiki:https://evil.example/",
    "an encoded address inside an app": "wiki://open?url=https%3a%2f%2fevil.example",
    "an intent": "intent://x#Intent;end",
    "a program of the system": "ms-word:x",
    "a search of the system": "search-ms:query=x",
    "a WebSocket": "wss://wiki.example.org/cb",
    "FTP": "ftp://wiki.example.org/cb",
    "a folder of a network": "smb://wiki.example.org/cb",
    "another computer's screen": "vnc://wiki.example.org/cb",
    "an installer": "itms-services://?action=download-manifest",
    "a setting of the system": "x-apple.systempreferences:x",
    "a Java program": "jnlps://wiki.example.org/cb",
    "an email": "mailto:ada@example.org",
    "a call": "tel:123",
    "a scheme that a web site can claim": "web+wiki:cb",
    "a scheme that an extension can claim": "ext+wiki:cb",
    "a scheme that the standard gives to sites": "matrix:r/x",
}


def table(uris):
    return row_by_row("uri", uris.values(), ids=uris)


@table(WEB)
def test_every_client_can_register_an_address_of_a_web_server(uri):
    assert problem_of(uri, is_public=False) is None
    assert problem_of(uri, is_public=True) is None


@table(OF_APPS)
def test_only_a_public_client_can_register_the_scheme_of_an_app(uri):
    assert problem_of(uri, is_public=True) is None
    assert "public" in problem_of(uri, is_public=False)


@pytest.mark.promise(89)
@table(REFUSED)
def test_a_dangerous_or_ambiguous_uri_cannot_be_registered(uri):
    assert problem_of(uri, is_public=False) is not None
    assert problem_of(uri, is_public=True) is not None


@pytest.mark.promise(89)
@table(REFUSED)
def test_none_of_them_is_registered_by_any_other_uri(uri):
    """The sent URI is never read as one that is registered."""
    for registered in (*WEB.values(), *OF_APPS.values()):
        assert not is_registered(uri, registered, is_public=True)


def test_any_of_several_uris_is_registered():
    several = f"https://a.example/cb\n{CALLBACK}"
    assert is_registered(CALLBACK, several, is_public=False)
    assert is_registered("https://a.example/cb", several, is_public=True)


OTHER = {
    "several at once": f"{CALLBACK}\nhttps://a.example/cb",
    "a beginning": CALLBACK[:-1],
    "more of the path": f"{CALLBACK}/more",
    "a slash at the end": f"{CALLBACK}/",
    "a double slash": "https://wiki.example.org//callback",
    "a step up": "https://wiki.example.org/x/../callback",
    "an encoded step up": "https://wiki.example.org/x/%2e%2e/callback",
    "a step down": f"{CALLBACK}/../evil",
    "an encoded letter": "https://wiki.example.org/%63allback",
    "an upper-case path": "https://wiki.example.org/Callback",
    "a parameter": f"{CALLBACK}?x=1",
    "an empty query": f"{CALLBACK}?",
    "a parameter of the path": f"{CALLBACK};x",
    "the usual port": "https://wiki.example.org:443/callback",
    "another port": "https://wiki.example.org:8443/callback",
    "another scheme": "http://wiki.example.org/callback",
    "a host below": "https://a.wiki.example.org/callback",
    "a host above": "https://example.org/callback",
    "a longer host": "https://wiki.example.org.evil.example/callback",
}


@pytest.mark.promise(89)
@row_by_row("is_public", [False, True], ids=["confidential", "public"])
@table(OTHER)
def test_a_uri_is_compared_exactly(uri, is_public):
    registered = f"{CALLBACK}\nhttps://a.example/cb"
    assert not is_registered(uri, registered, is_public=is_public)


LOOPBACK = {
    "an address": ("http://127.0.0.1/cb", "http://127.0.0.1:54321/cb"),
    "another port": ("http://127.0.0.1:8080/cb", "http://127.0.0.1:54321/cb"),
    "no port": ("http://127.0.0.1:8080/cb", "http://127.0.0.1/cb"),
    "IPv6": ("http://[::1]/cb", "http://[::1]:54321/cb"),
    "localhost": ("http://localhost/cb", "http://localhost:54321/cb"),
    "no path": ("http://localhost:3000", "http://localhost:54321"),
    "a query": ("http://localhost/cb?x=1", "http://localhost:1/cb?x=1"),
}


@row_by_row(("registered", "sent"), LOOPBACK.values(), ids=LOOPBACK)
def test_a_public_client_can_use_any_port_of_a_loopback_address(registered, sent):
    assert is_registered(sent, f"{CALLBACK}\n{registered}", is_public=True)


@pytest.mark.promise(89)
@row_by_row(("registered", "sent"), LOOPBACK.values(), ids=LOOPBACK)
def test_a_confidential_client_can_use_only_the_port_that_it_registered(registered, sent):
    assert not is_registered(sent, registered, is_public=False)


NOT_THE_LOOPBACK = {
    "another path": "http://127.0.0.1:54321/other",
    "a slash at the end": "http://127.0.0.1:54321/cb/",
    "a parameter": "http://127.0.0.1:54321/cb?x=1",
    "localhost instead of the address": "http://localhost:54321/cb",
    "IPv6 instead of the address": "http://[::1]:54321/cb",
    "TLS": "https://127.0.0.1:54321/cb",
    "TLS on the same port": "https://127.0.0.1/cb",
    "a fragment": "http://127.0.0.1:54321/cb#x",
    "a username": "http://x@127.0.0.1:54321/cb",
    "a port and a host": "http://127.0.0.1:54321@evil.example/cb",
    "port 0": "http://127.0.0.1:0/cb",
    "an empty port": "http://127.0.0.1:/cb",
    "a port that is too high": "http://127.0.0.1:65536/cb",
    "a longer host": "http://127.0.0.1.evil.example:54321/cb",
    "an upper-case scheme": "HTTP://127.0.0.1:54321/cb",
    "a line feed": "http://127.0.0.1:54321/cb\n",
}


@pytest.mark.promise(89)
@table(NOT_THE_LOOPBACK)
def test_only_the_port_of_a_loopback_address_is_free(uri):
    assert not is_registered(uri, "http://127.0.0.1/cb", is_public=True)


@pytest.mark.promise(89)
def test_no_other_port_is_free():
    assert not is_registered("https://localhost:2/cb", "https://localhost:1/cb", is_public=True)
    assert not is_registered("app.x://host:2/cb", "app.x://host:1/cb", is_public=True)


@row_by_row(
    ("uri", "source"),
    [
        (CALLBACK, "https://wiki.example.org"),
        ("https://wiki.example.org:8443?x=1", "https://wiki.example.org:8443"),
        ("http://127.0.0.1:54321/cb", "http://127.0.0.1:54321"),
        ("http://[::1]:54321/cb", "http:"),
        ("https://[2001:db8::7]/cb", "https:"),
        ("com.example.app:/cb", "com.example.app:"),
        ("cursor://host/cb", "cursor:"),
    ],
    ids=["https", "a port", "loopback", "loopback of IPv6", "IPv6", "an app", "an app with a host"],
)
def test_a_policy_names_the_origin_or_else_the_scheme(uri, source):
    assert origin_of(uri) == source


@pytest.mark.promise(89)
@table(WEB | OF_APPS)
def test_no_uri_adds_to_the_policy(uri):
    assert not set(origin_of(uri)) & set("; ,'\"\n[]*")


@row_by_row(
    ("uri", "host", "is_here"),
    [
        (CALLBACK, "wiki.example.org", False),
        ("https://wiki.example.org:8443/cb", "wiki.example.org:8443", False),
        ("https://localhost.example.org/cb", "localhost.example.org", False),
        ("https://localhost:8443/cb", "localhost:8443", True),
        ("http://[::1]:54321/cb", "[::1]:54321", True),
        ("com.example.app:/cb", "com.example.app:", True),
    ],
    ids=["https", "a port", "almost localhost", "localhost with TLS", "loopback", "an app"],
)
def test_a_person_sees_where_a_uri_leads(uri, host, is_here):
    assert (host_of(uri), is_of_this_computer(uri)) == (host, is_here)


OPENED = {
    "https": "https://wiki.example.org",
    "http in an intranet": "http://wiki.intranet:8080/start?x=1",
    "as long as possible": f"{CALLBACK}?{'a' * (MAX_LENGTH - len(CALLBACK) - 1)}",
}
NOT_OPENED = {
    "too long": f"{CALLBACK}?{'a' * (MAX_LENGTH - len(CALLBACK))}",
    "credentials": "https://ada:secret@wiki.example.org/",
    "a username": "https://ada@wiki.example.org/",
    "a fragment": "https://wiki.example.org/#start",
    "an empty fragment": "https://wiki.example.org/#",
    "no scheme": "wiki.example.org",
    "another scheme": "ftp://wiki.example.org/",
    "a script": "javascript:alert(1)",
    "an upper-case host": "https://Wiki.example.org/",
    "a space": "https://wiki.example.org/a b",
    "a line feed": "https://wiki.example.org/\n",
    "port 0": "https://wiki.example.org:0/",
    "other letters": "https://wiki.example.org/größe",
}


@row_by_row("uri", OPENED.values(), ids=OPENED)
def test_an_address_of_a_web_server_can_be_opened(uri):
    assert can_be_opened(uri)


@row_by_row("uri", NOT_OPENED.values(), ids=NOT_OPENED)
def test_a_dangerous_or_ambiguous_address_cannot_be_opened(uri):
    assert not can_be_opened(uri)
