"""nginx, Caddy and Traefik ask /auth/check for a server that is not Python's, as the page shows.

The server answers with the request that reaches it. Requests are sent as bytes, because no client
spells a header in all of these ways.
"""

import json
import os
import posixpath
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlencode

import pytest

from tests.conftest import skip_or_fail
from tests.docs.pages import PAGES, ROOT, code
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, free_port, started
from wsgiauth import Group, Settings, storage
from wsgiauth.accounts import create_user

PAGE = PAGES["docs/forward-auth.md"]
LINKED = ROOT / "docs/examples/forward-auth"
FILES = {re.match("# (.*)\n", each)[1]: each for each in code(PAGE, "nginx")} | {
    name: (LINKED / name).read_text("utf-8")
    for name in ("Caddyfile", "fastcgi_headers.conf", "routes.yml", "traefik.yml")
}
PROXIES = {
    "nginx": "nginx -p . -c nginx.conf -e error.log",
    "caddy": "caddy run",
    "traefik": "traefik --configFile=traefik.yml",
}
ECHO = """
const server = require("node:http").createServer((request, response) => {
  const body = [];
  request.on("data", (chunk) => body.push(chunk));
  request.on("end", () => response.end(JSON.stringify({
    path: request.url, method: request.method, body: Buffer.concat(body).toString(),
    headers: request.rawHeaders, trailers: request.rawTrailers,
  })));
});
server.on("upgrade", (request, socket) => {
  if (!request.url.startsWith("/live/")) return socket.end();
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n");
  socket.write(`Connection: Upgrade\\r\\nX-User: ${request.headers["remote-user"]}\\r\\n\\r\\n`);
  socket.on("data", (sent) => socket.end(`${sent}, sent back`));
});
server.listen(Number(process.argv[2]), "127.0.0.1");
"""
NAMES = ("Remote-User", "Remote-Id", "Remote-Email", "Remote-Groups")
ADA = {"REMOTE_USER": "ada", "REMOTE_ID": "1", "REMOTE_EMAIL": EMAIL, "REMOTE_GROUPS": "editors"}
BROWSER = "Accept: text/html\r\n"
SAME_ORIGIN = "Sec-Fetch-Site: same-origin\r\n"
CROSS_SITE = "Sec-Fetch-Site: cross-site\r\n"
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


class Answer(NamedTuple):
    """What a proxy answers."""

    status: int
    head: str
    body: str

    @property
    def location(self):
        """Return the address of a redirect."""
        return re.search(r"^Location: (.*)\r$", self.head, re.MULTILINE)[1]

    @property
    def seen(self):
        """Return the request that reached the service, or None."""
        return json.loads(self.body) if self.body.startswith('{"path"') else None


def send(port, raw):
    """Send bytes and return the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(raw.encode("latin-1"))
        received = b"".join(iter(lambda: connection.recv(65536), b"")).decode("utf-8", "replace")
    head, _, body = received.partition("\r\n\r\n")
    if re.search("^transfer-encoding: chunked", head, re.IGNORECASE | re.MULTILINE):
        body = re.sub(r"(?:\A|\r\n)[0-9a-f]+\r\n", "", body)
    return Answer(int(head.split(" ", 2)[1]), head, body)


class Proxy(NamedTuple):
    """A proxy that runs, and the session of a user."""

    port: int
    cookie: str
    database: Path

    def ask(self, path, headers="", *, method="GET", body="", cookie=""):
        """Send a request with these lines of headers, of which it can have one of its own."""
        own = "" if "Connection:" in headers else "Connection: close\r\n"
        if "Transfer-Encoding" not in headers:
            own += f"Content-Length: {len(body)}\r\n"
        start = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
        return send(self.port, f"{start}{cookie}{headers}{own}\r\n{body}")

    @contextmanager
    def changed(self, statement, undo):
        """Change the database for a while, as an operator would."""
        for each in (statement, None, undo):
            if each is None:
                yield
            else:
                with sqlite3.connect(self.database) as connection:
                    connection.execute(each)


def test_the_page_has_the_commands():
    for command in PROXIES.values():
        assert command in PAGE


@pytest.fixture(scope="module")
def environ():
    """Return the environment of the login."""
    return {**os.environ, "SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4"}


@pytest.fixture(scope="module")
def site(tmp_path_factory, empty_file, environ):
    """Run the login alone and the service; return the folder and their ports."""
    if shutil.which("node") is None:
        skip_or_fail("node is not installed")
    folder = tmp_path_factory.mktemp("forward")
    (folder / "echo.js").write_text(ECHO, encoding="utf-8")
    (folder / "files").mkdir()
    (folder / "files/report.txt").write_text("private", encoding="utf-8")
    shutil.copy(empty_file, folder / "wsgiauth.db")
    opened = storage.open_database(f"sqlite:///{folder}/wsgiauth.db")
    create_user("ada", EMAIL, PASSWORD, settings=Settings(BCRYPT_ROUNDS=4)).join(
        Group.objects.create(name="editors")
    )
    storage.discard_connection(opened)
    login, service = free_port(), free_port()
    serve = [sys.executable, "-m", "wsgiauth", "serve", "--trusted-proxy=127.0.0.1"]
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        started([*serve, f"--listen=127.0.0.1:{login}"], login, env=environ, **quiet),
        started(["node", "echo.js", str(service)], service, **quiet),
    ):
        fields = urlencode({"username": "ada", "password": PASSWORD})
        answer = send(
            login,
            f"POST /auth/login HTTP/1.0\r\n{FORM}{BROWSER}{SAME_ORIGIN}"
            f"Content-Length: {len(fields)}\r\n\r\n{fields}",
        )
        cookie = re.search("^Set-Cookie: (wsgiauth=[^;]+)", answer.head, re.MULTILINE)[1]
        yield folder, login, service, f"Cookie: {cookie}\r\n"


@contextmanager
def proxied(name, site):
    """Run a proxy with the configuration of the page."""
    folder, login, service, cookie = site
    program, *arguments = PROXIES[name].split()
    if name == "nginx":  # run by root, its workers could not read the folder of a test
        arguments += ["-g", "master_process off;"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
    found = shutil.which(program, path=path)
    if found is None:
        skip_or_fail(f"{program} is not installed")
    port = free_port()
    ports = {"8000": port, "8080": login, "3000": service}
    for file, text in FILES.items():
        text = re.sub(r"(?<=:)(8000|8080|3000)\b", lambda found: str(ports[found[0]]), text)
        (folder / file).write_text(text, encoding="utf-8")
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environ = {**os.environ, "HOME": str(folder)}
    with started([found, *arguments], port, env=environ, **quiet):
        proxy = Proxy(port, cookie, folder / "wsgiauth.db")
        while proxy.ask("/public/").status == 404:  # Traefik listens before it has read the routes
            time.sleep(0.02)
        yield proxy


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request, site):
    """Return each proxy in turn."""
    with proxied(request.param, site) as running:
        yield running


@pytest.fixture(scope="module")
def nginx(site):
    """Return nginx."""
    with proxied("nginx", site) as running:
        yield running


def everyone(template):
    """Return a line for each of the four headers."""
    underscored = [name.replace("-", "_") for name in NAMES]
    return "".join(
        template.format(name=name, lower=name.lower(), upper=name.upper(), underscored=other)
        for name, other in zip(NAMES, underscored, strict=True)
    )


CHUNKED = "Transfer-Encoding: chunked\r\n"
TRAILERS = f"Trailer: {', '.join(NAMES)}\r\n"
# How a client spells the four headers: lines of headers, and a body.
SPELLINGS = {
    "as they are": (everyone("{name}: root\r\n"), ""),
    "lower case": (everyone("{lower}: root\r\n"), ""),
    "upper case": (everyone("{upper}: root\r\n"), ""),
    "underscores": (everyone("{underscored}: root\r\n"), ""),
    "upper case and underscores": (everyone("{underscored}: root\r\n").upper(), ""),
    "lower case and underscores": (everyone("{underscored}: root\r\n").lower(), ""),
    "twice": (everyone("{name}: root\r\n{name}: admin\r\n"), ""),
    "twice, in both ways": (everyone("{underscored}: root\r\n{name}: root\r\n"), ""),
    "a list": (everyone("{name}: root, admin\r\n"), ""),
    "empty": (everyone("{name}:\r\n"), ""),
    "a space before the colon": (everyone("{name} : root\r\n"), ""),
    "a tab before the colon": (everyone("{name}\t: root\r\n"), ""),
    "a space before the name": (everyone("X-A: a\r\n {name}: root\r\n"), ""),
    "a folded value": (everyone("{name}:\r\n root\r\n"), ""),
    "after a bare line feed": (everyone("X-A: a\n{name}: root\r\n"), ""),
    "after a bare carriage return": (everyone("X-A: a\r{name}: root\r\n"), ""),
    "with a null": (everyone("{name}\0: root\r\n"), ""),
    "as headers of the connection": (
        f"Connection: close, {', '.join(NAMES)}\r\n" + everyone("{name}: root\r\n"),
        "",
    ),
    "in trailers": (TRAILERS + CHUNKED, "1\r\na\r\n0\r\n" + everyone("{name}: root\r\n") + "\r\n"),
    "in trailers that are not announced": (
        CHUNKED,
        "1\r\na\r\n0\r\n" + everyone("{underscored}: root\r\n") + "\r\n",
    ),
}


def named(seen):
    """Return the values of the four headers as the most careless service reads them."""
    values = {}
    lines = seen["headers"] + seen["trailers"]
    for name, value in zip(lines[::2], lines[1::2], strict=True):
        key = re.sub("[^A-Z]", "_", name.strip().upper())
        if key in ADA:
            values.setdefault(key, []).append(value)
    return {name: value for name, each in values.items() for value in each if each != [""]}


@pytest.mark.promise(60)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_header_reaches_the_service(proxy, spelling):
    headers, body = SPELLINGS[spelling]
    for path, cookie, expected in (("/public/", "", {}), ("/service/", proxy.cookie, ADA)):
        answer = proxy.ask(path, SAME_ORIGIN + headers, method="POST", body=body, cookie=cookie)
        if answer.seen is None:
            assert answer.status == 400
        else:
            assert named(answer.seen) == expected


@pytest.mark.promise(60)
def test_a_client_of_http_1_0_names_no_one_either(proxy):
    start = f"GET /service/ HTTP/1.0\r\nHost: 127.0.0.1\r\n{proxy.cookie}"
    answer = send(proxy.port, start + everyone("{name}: root\r\n") + "\r\n")
    assert named(answer.seen) == ADA


def test_a_browser_is_sent_to_the_login_page_and_back(proxy):
    answer = proxy.ask("/service/a?b=c&d=%2F", BROWSER)
    assert (answer.status, answer.seen) == (302, None)
    assert answer.location == "/auth/login?next=%2Fservice%2Fa%3Fb%3Dc%26d%3D%252F"


def test_a_program_is_challenged(proxy):
    answer = proxy.ask("/service/")
    assert (answer.status, answer.seen) == (401, None)
    assert 'www-authenticate: bearer realm="wsgiauth"' in answer.head.lower()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PROPFIND"])
def test_a_request_reaches_the_service_as_it_is(proxy, method):
    body = "a=b&c=d"
    seen = proxy.ask("/service/a%20b?c", SAME_ORIGIN, method=method, body=body, cookie=proxy.cookie)
    path = "/service/a%20b?c"
    assert (seen.seen["method"], seen.seen["path"], seen.seen["body"]) == (method, path, body)


# What a page of another site can send, or a client add to it.
FORGED = {
    "alone": "",
    "another method": "X-Forwarded-Method: GET\r\n",
    "with underscores": "X_Forwarded_Method: GET\r\n",
    "of the connection": "Connection: close, X-Forwarded-Method\r\nX-Forwarded-Method: GET\r\n",
    "another method for all": "X-HTTP-Method-Override: GET\r\n",
    "another address": "X-Forwarded-Uri: /public/\r\nX-Original-URL: /public/\r\n",
}


@pytest.mark.promise(61)
@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize(
    "origin", [CROSS_SITE, "Origin: http://evil.example\r\nX-Forwarded-Host: evil.example\r\n"]
)
def test_a_form_of_another_site_is_anonymous(proxy, origin, forged):
    headers = origin + FORGED[forged]
    answer = proxy.ask("/service/", headers, method="POST", cookie=proxy.cookie)
    assert (answer.status, answer.seen) == (401, None)


def test_a_form_of_the_site_is_that_of_its_user_by_its_origin_alone(proxy):
    origin = f"Origin: http://127.0.0.1:{proxy.port}\r\n"
    answer = proxy.ask("/service/", origin, method="POST", cookie=proxy.cookie)
    assert named(answer.seen) == ADA


# How a path lets preflights pass.
PASSING = {
    "nginx": (
        "nginx.conf",
        "location /service/ {",
        'location /service/ { set $needs "preflight=pass";',
    ),
    "caddy": ("Caddyfile", "uri /auth/check?", "uri /auth/check?preflight=pass"),
    "traefik": ("routes.yml", "/auth/check", "/auth/check?preflight=pass"),
}
PREFLIGHT = "Origin: http://app.example\r\nAccess-Control-Request-Method: DELETE\r\n"


@pytest.mark.promise(60)
@pytest.mark.parametrize("name", PROXIES)
def test_a_preflight_reaches_the_service_without_a_name_if_the_path_says_so(
    site, monkeypatch, name
):
    file, old, new = PASSING[name]
    assert old in FILES[file]
    monkeypatch.setitem(FILES, file, FILES[file].replace(old, new))
    forged = PREFLIGHT + everyone("{name}: root\r\n")
    with proxied(name, site) as running:
        passed = running.ask("/service/", forged, method="OPTIONS", cookie=running.cookie)
        assert (passed.seen["method"], named(passed.seen)) == ("OPTIONS", {})
        for method in ("X-Forwarded-Method", "X_Forwarded_Method", "X-HTTP-Method-Override"):
            headers = f"{PREFLIGHT}{method}: OPTIONS\r\n"
            assert running.ask("/service/", headers, method="DELETE").status == 401
        assert running.ask("/service/", method="OPTIONS").status == 401


@pytest.mark.parametrize("method", ["OPTIONS", "GET"])
def test_no_preflight_passes_otherwise(proxy, method):
    headers = PREFLIGHT + "X-Forwarded-Method: OPTIONS\r\n"
    assert proxy.ask("/service/", headers, method=method).status == 401


UPGRADE = (
    "Connection: close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.promise(61)
def test_a_websocket_of_another_site_is_anonymous(proxy):
    origin = "Origin: http://evil.example\r\n"
    answer = proxy.ask("/service/", UPGRADE + origin, cookie=proxy.cookie)
    assert (answer.status, answer.seen) == (401, None)


def test_a_websocket_of_the_site_reaches_the_service_with_the_name_of_its_user(nginx):
    start = f"GET /live/ HTTP/1.1\r\nHost: 127.0.0.1:{nginx.port}\r\n{nginx.cookie}{UPGRADE}"
    own = f"Origin: http://127.0.0.1:{nginx.port}\r\nRemote-User: root\r\n"
    with socket.create_connection(("127.0.0.1", nginx.port), timeout=20) as connection:
        connection.sendall(f"{start}{own}\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        connection.sendall(b"Hello")
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"\r\nX-User: ada\r\n" in head
    assert received == b"Hello, sent back"
    refused = nginx.ask("/live/", f"{UPGRADE}Origin: https://evil.example\r\n", cookie=nginx.cookie)
    assert refused.status == 401


def test_no_client_says_which_address_it_comes_back_to(proxy):
    forged = "X-Forwarded-Uri: /public/\r\nX_Forwarded_Uri: /public/\r\n"
    answer = proxy.ask("/service/", BROWSER + forged)
    assert answer.location == "/auth/login?next=%2Fservice%2F"


# Paths that a proxy, or the service, could read as another one.
PATHS = [
    "/public/../service/",
    "/public/%2e%2e/service/",
    "/public/..%2fservice/",
    "/public/%2e%2e%2fservice/",
    "/public//../../service/",
    "/public/./../service/",
    "//service/",
    "/service//",
    "/SERVICE/",
    "/public/%00/../../service/",
    "/service/%00/public/",
    "/service/?/public/",
    "/service/#/public/",
    "/public/#/../../service/",
    "/auth/../service/",
    "/auth/%2e%2e/service/",
    "/auth/check",
    "http://127.0.0.1/service/",
    "*",
]


@pytest.mark.promise(60)
@pytest.mark.parametrize("path", PATHS)
def test_no_spelling_of_a_path_is_public(proxy, path):
    answer = proxy.ask(path, everyone("{name}: root\r\n"))
    if answer.seen is not None:
        read = posixpath.normpath(unquote(answer.seen["path"].partition("?")[0]))
        assert f"{read}/".startswith("/public/")
        assert named(answer.seen) == {}
    assert "root" not in answer.body


def test_whoever_lacks_the_permission_is_refused(nginx):
    answer = nginx.ask("/service/admin/", BROWSER, cookie=nginx.cookie)
    assert (answer.status, answer.seen) == (403, None)
    assert "You do not have permission to open this page" in answer.body


def test_a_folder_is_for_users(nginx):
    refused = nginx.ask("/report.txt", BROWSER)
    assert refused.location == "/auth/login?next=%2Freport.txt"
    assert nginx.ask("/report.txt", cookie=nginx.cookie).body == "private"


def test_a_proof_that_is_too_old_is_asked_for_and_then_leads_back(nginx):
    grant = "INSERT INTO wsgiauth_permission (user_id, name) VALUES (1, 'service.admin')"
    with (
        nginx.changed(grant, "DELETE FROM wsgiauth_permission"),
        nginx.changed(
            "UPDATE wsgiauth_session SET authenticated_at = authenticated_at - 3600",
            "UPDATE wsgiauth_session SET authenticated_at = authenticated_at + 3600",
        ),
    ):
        asked = nginx.ask("/service/admin/?a=b", BROWSER, cookie=nginx.cookie)
        assert asked.location == "/auth/confirm?next=%2Fservice%2Fadmin%2F%3Fa%3Db"
        assert nginx.ask(asked.location, BROWSER, cookie=nginx.cookie).status == 200
        program = nginx.ask("/service/admin/", cookie=nginx.cookie)
        assert 'max_age="900"' in program.head
    with nginx.changed(grant, "DELETE FROM wsgiauth_permission"):
        assert named(nginx.ask("/service/admin/?a=b", BROWSER, cookie=nginx.cookie).seen) == ADA


def test_the_longest_names_and_all_groups_reach_the_service(proxy):
    name, email = "\U0001d400" * 150, "\U0001d400" * 242 + "@example.org"
    numbers = "WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 63)"
    long = f"i || '{'x' * 148}'"  # 151 characters with its comma: 8,161 with "editors"
    groups = f"INSERT INTO wsgiauth_group (id, name, name_key) SELECT i, {long}, {long} FROM n"  # noqa: S608 - ours
    members = "INSERT INTO wsgiauth_membership (group_id, user_id) SELECT i, 1 FROM n"
    with (
        proxy.changed(
            f"UPDATE wsgiauth_user SET username = '{name}', email = '{email}'",  # noqa: S608 - ours
            f"UPDATE wsgiauth_user SET username = 'ada', email = '{EMAIL}'",  # noqa: S608 - ours
        ),
        proxy.changed(f"{numbers} {groups}", "DELETE FROM wsgiauth_group WHERE id >= 10"),
        proxy.changed(
            f"{numbers} {members}", "DELETE FROM wsgiauth_membership WHERE group_id >= 10"
        ),
    ):
        seen = named(proxy.ask("/service/", cookie=proxy.cookie).seen)
    assert (unquote(seen["REMOTE_USER"]), unquote(seen["REMOTE_EMAIL"])) == (name, email)
    assert len(seen["REMOTE_GROUPS"]) == 8161


@pytest.mark.parametrize("path", ["/service/", "/auth/account"])
def test_a_client_that_waits_to_send_its_body_is_answered(proxy, path):
    answer = proxy.ask(path, "Expect: 100-continue\r\n", cookie=proxy.cookie)
    assert "HTTP/1.1 200 OK" in answer.head + answer.body


@pytest.mark.parametrize("name", PROXIES)
def test_a_form_reaches_the_login_when_all_of_it_was_sent(site, name):
    folder, _, service, cookie = site
    with (
        socket.create_server(("127.0.0.1", 0)) as login,
        proxied(name, (folder, login.getsockname()[1], service, cookie)) as running,
    ):
        login.settimeout(20)
        form = "POST /auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\na="
        with (
            socket.create_connection(("127.0.0.1", running.port)) as slow,
            socket.create_connection(("127.0.0.1", running.port)) as other,
        ):
            slow.sendall(form.encode())
            time.sleep(0.1)  # for a proxy that would pass it on
            other.sendall(b"GET /auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            first, _ = login.accept()
            with first:
                assert first.recv(4) == b"GET "


@pytest.mark.promise(60)
def test_a_service_without_the_credentials_gets_the_names_alone(nginx):
    headers = everyone("{name}: root\r\n") + "Authorization: Digest a\r\n"
    seen = nginx.ask("/guest/", headers, cookie=nginx.cookie).seen
    assert named(seen) == ADA
    assert not {"Cookie", "Authorization"} & set(seen["headers"])


@pytest.mark.promise(60)
@pytest.mark.parametrize(
    ("path", "is_named"),
    [
        pytest.param("/public/", False, id="a public path"),
        pytest.param("/service/", True, id="a protected path"),
    ],
)
def test_no_header_reaches_a_service_of_fastcgi(site, monkeypatch, path, is_named):
    by_fastcgi = "include fastcgi_headers.conf; fastcgi_pass 127.0.0.1:3000;"
    configuration = FILES["nginx.conf"].replace("proxy_pass http://127.0.0.1:3000;", by_fastcgi)
    monkeypatch.setitem(FILES, "nginx.conf", configuration)
    folder, login, _, cookie = site
    received = []

    def receive(listening):
        while True:
            connection, _ = listening.accept()
            with connection:
                received.append(connection.recv(65536))
            if b"secret" in received[-1]:
                return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=receive, args=(listening,), daemon=True)
        thread.start()
        with proxied("nginx", (folder, login, listening.getsockname()[1], cookie)) as running:
            headers = everyone("{name}: root\r\n") + "X-A: secret\r\n"
            assert running.ask(path, headers, cookie=cookie).status == 502
        thread.join(timeout=20)
    assert b"root" not in received[-1]
    assert (b"HTTP_REMOTE_USERada" in received[-1]) == is_named


@pytest.mark.promise(60)
def test_without_the_database_no_request_passes(proxy):
    gone = (
        "ALTER TABLE wsgiauth_session RENAME TO gone",
        "ALTER TABLE gone RENAME TO wsgiauth_session",
    )
    with proxy.changed(*gone):
        answer = proxy.ask("/service/", cookie=proxy.cookie)
        assert answer.status in (500, 503)
        assert answer.seen is None
        assert proxy.ask("/public/").status == 200
    assert proxy.ask("/service/", cookie=proxy.cookie).status == 200


@pytest.mark.promise(60)
@pytest.mark.parametrize("name", PROXIES)
def test_without_the_login_no_request_passes(site, name):
    folder, _, service, cookie = site
    with proxied(name, (folder, free_port(), service, cookie)) as alone:
        answer = alone.ask("/service/", cookie=cookie)
        assert answer.status in (500, 502)
        assert answer.seen is None
        assert alone.ask("/public/").status == 200
