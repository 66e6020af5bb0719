"""Where a request begins and ends, as two real servers see it: one buffers bodies, one does not."""

import json
import re
import socket
import threading
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from tests.support.sites import BROWSER, EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, Settings, login_required, storage
from wsgiauth.accounts import create_user
from wsgiauth.web.request import MAX_BODY

PATIENCE = 60  # seconds, after which an answer counts as missing
THREADS = 2
BODY = json.dumps({"username": USERNAME, "password": PASSWORD}).encode()


class ThreadedServer(ThreadingMixIn, WSGIServer):
    """A thread for each connection, so that slow clients can be had at all."""


class QuietHandler(WSGIRequestHandler):
    """Hands the connection's own stream over as `wsgi.input`: who reads too much, waits."""

    def log_message(self, *arguments):
        pass


@contextmanager
def serving_unbuffered(app):
    """Serve `app` by the standard library on a port of the system's choice; yields the address."""
    server = make_server("127.0.0.1", 0, app, ThreadedServer, QuietHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()  # waits for the connections' threads


SERVERS = {
    "waitress": lambda app: serving(app, threads=THREADS),
    "wsgiref": serving_unbuffered,
}


@pytest.fixture(scope="module", params=SERVERS)
def server(request):
    """Return the name of a server, which a module's worth of tests speaks to."""
    return request.param


@pytest.fixture(scope="module")
def connect(server, tmp_path_factory):
    """Return a function that connects to a site with nothing public but /auth."""
    url = f"sqlite:///{tmp_path_factory.mktemp('framing')}/accounts.db"
    settings = Settings.from_mapping(
        {
            "SECRET_KEY": SECRET_KEY,
            "BCRYPT_ROUNDS": 4,
            "DATABASE_URL": url,
            "LOGIN_FAILURES_PER_ACCOUNT": 0,
            "LOGIN_FAILURES_PER_ADDRESS": 0,
            "REGISTRATIONS_PER_ADDRESS": 0,
            "HASHING_PER_ADDRESS": 0,
        }
    )
    site = AuthMiddleware(login_required(redirect_url="/auth/login")(echo), settings)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    storage.discard_connection(storage.current())
    with SERVERS[server](site) as address:
        host, port = urlsplit(address).netloc.split(":")
        yield lambda: socket.create_connection((host, port), timeout=PATIENCE)


@pytest.fixture
def answer_to(connect):
    """Return a function that sends bytes and returns all that comes back."""

    def send(request):
        with connect() as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return received(connection)

    return send


def received(connection):
    """Return what the server says until it closes, with what it left unread or without."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] ([0-9]{3}) ", answer)]


def get(target, *lines, last=True):
    close = ["Connection: close"] if last else []
    return "\r\n".join((f"GET {target} HTTP/1.1", "Host: x", *close, *lines, "", "")).encode(
        "latin-1"
    )


def login(*lines, body=BODY, version="1.1", last=True):
    close = ["Connection: close"] if last else []
    head = (f"POST /auth/login HTTP/{version}", "Host: x", *close, "Content-Type: application/json")
    return "\r\n".join((*head, *lines, "", "")).encode() + body


LENGTH = f"Content-Length: {len(BODY)}"
CHUNKED = "Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    ("request_", "waitress", "wsgiref"),
    [
        pytest.param(login(LENGTH), 200, 200, id="the right length"),
        pytest.param(login(), 400, 411, id="no length"),
        pytest.param(login(version="1.0"), 400, 411, id="no length, HTTP/1.0"),
        pytest.param(login("Content-Length: 0"), 400, 400, id="a length of 0"),
        pytest.param(login("Content-Length: 9"), 400, 400, id="too short"),
        pytest.param(login("Content-Length: -1"), 400, 400, id="a negative length"),
        pytest.param(login("Content-Length: +9"), 400, 400, id="a length with a sign"),
        pytest.param(login("Content-Length: many"), 400, 400, id="a length in words"),
        pytest.param(login(f"Content-Length: {len(BODY) + 1}"), None, 400, id="too long"),
        pytest.param(login(f"Content-Length: {MAX_BODY}"), None, 400, id="much too long"),
        pytest.param(login(f"Content-Length: {MAX_BODY + 1}"), None, 413, id="too large"),
        pytest.param(login("Content-Length: " + "9" * 40), 413, 413, id="out of all proportion"),
        pytest.param(login(LENGTH, LENGTH), 400, 200, id="the same length twice"),
        pytest.param(login("Content-Length: 9", LENGTH), 400, 400, id="two lengths"),
        pytest.param(login(CHUNKED, body=CHUNKS), 200, 411, id="chunked"),
        pytest.param(login(CHUNKED, LENGTH, body=CHUNKS), 200, 400, id="chunked with a length"),
        pytest.param(login("Transfer-Encoding: x, chunked"), 501, 411, id="an odd encoding"),
    ],
)
def test_a_body_is_as_long_as_its_framing_says(answer_to, server, request_, waitress, wsgiref):
    expected = {"waitress": waitress, "wsgiref": wsgiref}[server]
    assert statuses(answer_to(request_))[:1] == [expected] * (expected is not None)


@pytest.mark.promise(15)
def test_a_client_that_asks_first_is_told_to_go_on(answer_to, server):
    answers = statuses(answer_to(login("Expect: 100-continue", LENGTH)))
    assert answers == ([100, 200] if server == "waitress" else [200])


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    "part",
    [
        pytest.param(login(LENGTH)[:10], id="request line"),
        pytest.param(login(LENGTH)[:70], id="headers"),
        pytest.param(login(LENGTH)[:-10], id="body"),
    ],
)
def test_slow_clients_keep_nobody_waiting(connect, answer_to, part):
    slow = [connect() for _ in range(2 * THREADS)]
    for connection in slow:
        connection.sendall(part)
    assert statuses(answer_to(login(LENGTH))) == [200]
    for connection in slow:
        for octet in login(LENGTH)[len(part) :]:
            connection.sendall(bytes([octet]))
        assert statuses(received(connection)) == [200]
        connection.close()


@pytest.mark.promise(15)
def test_a_client_that_goes_away_harms_nobody(connect, answer_to):
    for _ in range(2 * THREADS):
        with connect() as connection:
            connection.sendall(login(LENGTH)[:-10])
    assert statuses(answer_to(login(LENGTH))) == [200]


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param(get("/auth/login", last=False), [200, 401], id="page"),
        pytest.param(login(LENGTH, last=False), [200, 401], id="login"),
        pytest.param(login(CHUNKED, body=CHUNKS, last=False), [200, 401], id="chunked login"),
        pytest.param(
            login(LENGTH, last=False).replace(b"/login", b"/x"), [404, 401], id="a body not read"
        ),
    ],
)
@pytest.mark.parametrize("server", ["waitress"], indirect=True)
def test_requests_in_one_go_are_answered_one_by_one(answer_to, first, expected):
    assert statuses(answer_to(first + get("/auth/me"))) == expected


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["Content-Length: 0"], id="a length of 0"),
        pytest.param(["Content-Length: 1"], id="a length of 1"),
        pytest.param(["Transfer-Encoding: chunked", "Content-Length: 5"], id="two framings"),
    ],
)
def test_a_request_hidden_in_a_body_is_given_no_rights(connect, answer_to, lines):
    token = json.loads(answer_to(login(LENGTH)).partition(b"\r\n\r\n")[2])["access_token"]
    visible = get("/", f"Authorization: Bearer {token}", *lines, last=False)
    answers = answer_to(visible + b"0\r\n\r\n" + get("/auth/me"))
    assert USERNAME.encode() not in answers.partition(b"HTTP/1.")[2].partition(b"HTTP/1.")[2]


BROWSER_LINES = [f"{name}: {value}" for name, value in BROWSER.items()]


@pytest.mark.promise(23)
@pytest.mark.parametrize(
    ("target", "waitress", "wsgiref"),
    [
        pytest.param("/auth/me", 401, 401, id="as it should be"),
        pytest.param("/%61uth/me", 401, 401, id="escaped"),
        pytest.param("/auth%2fme", 401, 401, id="escaped slash"),
        pytest.param("/auth/login%00", 404, 404, id="NUL"),
        pytest.param("/auth/%ff", 404, 404, id="no UTF-8"),
        pytest.param("/auth%ff", 302, 302, id="no UTF-8 in the mount"),
        pytest.param("/auth/../", 404, 404, id="dots"),
        pytest.param("/auth/../auth/me", 404, 404, id="dots and back"),
        pytest.param("/auth//me", 404, 404, id="two slashes"),
        pytest.param("//auth/me", 401, 401, id="two slashes first"),
        pytest.param("http://evil.example/auth/me", 401, 302, id="another host"),
        pytest.param("*", 302, 302, id="asterisk"),
        pytest.param("/%0d%0aSet-Cookie:%20wsgiauth=x", 302, 302, id="line break"),
        pytest.param("/?a\rSet-Cookie: wsgiauth=x", 400, 400, id="raw carriage return"),
        pytest.param("/\xff?\xff", 400, 302, id="raw bytes"),
        pytest.param("//evil.example/%2e%2e", 302, 302, id="evil"),
        pytest.param("/\\evil.example", 302, 302, id="backslash"),
        pytest.param("/" + "a" * 60_000, 302, 302, id="60,000 characters"),
    ],
)
def test_a_target_is_what_it_says_and_leads_nowhere_else(
    answer_to, server, target, waitress, wsgiref
):
    answer = answer_to(get(target, *BROWSER_LINES))
    assert statuses(answer) == [{"waitress": waitress, "wsgiref": wsgiref}[server]]
    assert re.findall(rb"(?i)^set-cookie", answer, re.MULTILINE) == []
    for location in re.findall(rb"(?im)^location: (.*)\r$", answer):
        assert location.startswith(b"/auth/login")


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    ("line", "waitress", "wsgiref"),
    [
        pytest.param("Cookie: a=b\r\n ; wsgiauth=x", 401, 401, id="folded"),
        pytest.param("Authorization: Bearer\r\n x\r\n\ty", 401, 401, id="folded token"),
        pytest.param("Accept: a\0b", 400, 401, id="NUL"),
        pytest.param("Accept: a\rb", 400, 401, id="carriage return"),
        pytest.param("Cookie: \xff=\xfe; wsgiauth=\xe9", 401, 401, id="raw bytes"),
        pytest.param("Authorization : Bearer x", 400, 401, id="space before the colon"),
        pytest.param("no colon", 400, 401, id="no colon"),
        pytest.param("Accept: " + "a" * 60_000, 401, 401, id="60,000 characters"),
        pytest.param("\r\n".join(["X: y"] * 90), 401, 401, id="90 headers"),
        pytest.param("Sec_Fetch_Site: none\r\nWsgiauth.user: root", 401, 401, id="odd names"),
    ],
)
def test_an_odd_header_identifies_nobody(answer_to, server, line, waitress, wsgiref):
    answer = answer_to(get("/auth/me", line))
    assert statuses(answer) == [{"waitress": waitress, "wsgiref": wsgiref}[server]]
