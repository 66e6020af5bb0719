"""The whole of it behind a real server, spoken to over sockets."""

import http.client
import json
import socket
from urllib.parse import urlencode, urlsplit

import pytest

from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo, serving
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.web.cookies import MAX_COOKIE_HEADER
from wsgiauth.web.request import MAX_BODY

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", **SAME_ORIGIN}
ACCOUNT = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
PATIENCE = 60  # seconds, after which an answer counts as missing


@pytest.fixture(scope="module", params=["", "/site"], ids=["at the root", "below a prefix"])
def prefix(request):
    """Return the path below which the server runs the site."""
    return request.param


@pytest.fixture(scope="module")
def address(prefix, tmp_path_factory):
    """Return the host and port of a server, where Ada has an account."""
    url = f"sqlite:///{tmp_path_factory.mktemp('waitress')}/accounts.db"
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    site = AuthMiddleware(echo, settings)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    storage.discard_connection(storage.current())
    with serving(site, threads=4, url_prefix=prefix) as address:
        yield urlsplit(address).netloc


@pytest.fixture
def ask(address, prefix):
    """Return a function that sends a request and returns the response and its body."""

    def send(method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        connection.request(method, prefix + path, body, headers or {})
        response = connection.getresponse()
        document = response.read()
        connection.close()
        return response, document

    return send


@pytest.fixture
def answer_to(address):
    """Return a function that sends bytes and returns the first line of what comes back."""
    host, port = address.split(":")

    def send(request):
        with socket.create_connection((host, port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as answer:
                return answer.readline().decode()

    return send


@pytest.fixture
def bearer(ask):
    """Return the header of a login of Ada's."""
    _, body = ask("POST", "/auth/login", json.dumps(ACCOUNT), JSON)
    return {"Authorization": f"Bearer {json.loads(body)['access_token']}"}


@pytest.fixture
def cookie(ask):
    """Return the header of a browser in which Ada has logged in."""
    response, _ = ask("POST", "/auth/login", urlencode(ACCOUNT), FORM)
    return {"Cookie": response.headers["Set-Cookie"].partition(";")[0]}


def user(answer):
    return json.loads(answer[1])["user"]


# From registration to logout


def test_a_stranger_registers(ask, prefix):
    grace = {"username": "Grace", "email": "grace@example.org", "password": PASSWORD}
    response, body = ask("POST", "/auth/register", json.dumps(grace), JSON)
    assert response.status == 201
    assert response.headers["Location"] == f"{prefix}/auth/me"
    assert json.loads(body)["username"] == "Grace"


def test_a_name_is_registered_once(ask):
    response, body = ask("POST", "/auth/register", json.dumps(ACCOUNT), JSON)
    assert (response.status, json.loads(body)["code"]) == (409, "taken")


def test_a_login_identifies_the_caller_everywhere(ask, bearer):
    assert json.loads(ask("GET", "/auth/me", headers=bearer)[1])["username"] == USERNAME
    assert user(ask("GET", "/any/page", headers=bearer)) == USERNAME


def test_a_logout_ends_the_login(ask, bearer):
    assert ask("POST", "/auth/logout", headers=bearer)[0].status == 200
    assert ask("GET", "/auth/me", headers=bearer)[0].status == 401
    assert user(ask("GET", "/", headers=bearer)) is None


def test_a_browser_logs_in_by_form_and_is_sent_on(ask, prefix):
    form = urlencode({**ACCOUNT, "next": f"{prefix}/any/page?x=1"})
    response, body = ask("POST", "/auth/login", form, FORM)
    assert (response.status, body) == (303, b"")
    assert response.headers["Location"] == f"{prefix}/any/page?x=1"


def test_without_a_destination_the_browser_is_sent_home(ask, prefix):
    response, _ = ask("POST", "/auth/login", urlencode(ACCOUNT), FORM)
    assert response.headers["Location"] == f"{prefix}/"


def test_the_cookie_identifies_the_browser(ask, cookie):
    assert user(ask("GET", "/", headers=cookie)) == USERNAME


def test_a_browser_logs_out(ask, cookie, prefix):
    response, _ = ask("POST", "/auth/logout", headers={**SAME_ORIGIN, **cookie})
    location = f"{prefix}/auth/login?done=logout"
    assert (response.status, response.headers["Location"]) == (303, location)
    assert "Max-Age=0" in response.headers["Set-Cookie"]
    assert user(ask("GET", "/", headers=cookie)) is None


def test_the_pages_link_to_where_they_are(ask, prefix):
    _, body = ask("GET", "/auth/login", headers=SAME_ORIGIN)
    assert f'action="{prefix}/auth/login"'.encode() in body


def test_the_application_sees_its_own_address(ask, prefix):
    seen = json.loads(ask("GET", "/any/page")[1])
    assert (seen["script_name"], seen["path_info"]) == (prefix, "/any/page")


def test_a_connection_is_kept_for_the_next_request(address, prefix):
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    for path in ("/auth/me", "/", "/auth/nowhere"):
        connection.request("GET", prefix + path)
        connection.getresponse().read()
        assert connection.sock is not None
    connection.close()


def test_the_answer_to_head_has_no_body(ask):
    response, body = ask("HEAD", "/auth/login")
    assert (response.status, body) == (200, b"")


# Requests that no client should send


def post(prefix, *lines, body=b"", path="/auth/login"):
    head = (f"POST {prefix}{path} HTTP/1.1", "Host: x", "Connection: close", *lines)
    return "\r\n".join((*head, "", "")).encode() + body


LOGIN = json.dumps(ACCOUNT).encode()
AS_JSON = "Content-Type: application/json"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n"


BODIES = [
    ([], LOGIN, "400"),  # no length
    ([f"Content-Length: {len(LOGIN)}"], LOGIN, "200"),  # the right length
    ([f"Content-Length: {len(LOGIN) - 1}"], LOGIN, "400"),  # too short
    (["Content-Length: 0"], LOGIN, "400"),  # a length of 0
    (["Content-Length: -1"], LOGIN, "400"),  # a negative length
    (["Content-Length: many"], LOGIN, "400"),  # a length in words
    ([f"Content-Length: {len(LOGIN)}", "Content-Length: 1"], LOGIN, "400"),  # two lengths
    ([f"Content-Length: {len(LOGIN) + 1}"], LOGIN, ""),  # too long
    ([f"Content-Length: {MAX_BODY}"], LOGIN.ljust(MAX_BODY), "200"),  # 16 KiB
    ([f"Content-Length: {MAX_BODY + 1}"], LOGIN.ljust(MAX_BODY + 1), "413"),  # 16 KiB + 1
    (["Content-Length: 1000000"], LOGIN.ljust(1_000_000), "413"),  # a million bytes
    (["Transfer-Encoding: chunked"], CHUNKED % (len(LOGIN), LOGIN), "200"),  # chunked
    (
        ["Transfer-Encoding: chunked"],
        CHUNKED % (MAX_BODY + 1, LOGIN.ljust(MAX_BODY + 1)),
        "413",
    ),  # chunked, 16 KiB + 1
    (["Transfer-Encoding: chunked"], b"zz\r\n", "400"),  # chunked badly
    (["Transfer-Encoding: chunked"], b"40\r\n{", ""),  # chunked and broken off
    (["Transfer-Encoding: gzip"], LOGIN, "501"),  # an unknown encoding
]


@pytest.mark.promise(15)
def test_a_body_is_answered_or_given_up_but_never_waited_for(answer_to, ask, prefix):
    for lines, body, status in BODIES:
        line = answer_to(post(prefix, AS_JSON, *lines, body=body))
        assert (lines, line[9:12]) == (lines, status)
        assert ask("GET", "/")[0].status == 200


@pytest.mark.promise(15)
def test_a_long_cookie_header_is_read_up_to_a_limit(ask, cookie):
    limits = {MAX_COOKIE_HEADER: USERNAME, MAX_COOKIE_HEADER + 1: None, 100_000: None}
    for length, expected in limits.items():
        padded = f"{cookie['Cookie']}; x=".ljust(length, "x")
        assert user(ask("GET", "/", headers={"Cookie": padded})) == expected


@pytest.mark.promise(4)
def test_two_authorization_headers_identify_nobody(address, prefix, bearer):
    for second in ("Bearer x", "Basic x"):
        for order in (1, -1):
            connection = http.client.HTTPConnection(address, timeout=PATIENCE)
            connection.putrequest("GET", f"{prefix}/auth/me")
            for value in [bearer["Authorization"], second][::order]:
                connection.putheader("Authorization", value)
            connection.endheaders()
            response = connection.getresponse()
            response.read()
            connection.close()
            assert response.status == 401
