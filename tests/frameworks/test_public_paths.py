"""`public` and `require` in front of an application that understands every spelling of a path.

Under real servers. A header chooses the site that is open but for one permission.
"""

import http.client
import os
import socket
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import require
from tests.frameworks.clients import PATIENCE, Client, settings_of
from tests.support.nginx import nginx
from tests.support.sites import SECRET_KEY, running
from tests.support.spellings import TARGETS

PROGRAMS = {
    "served": """
from tests.support.spellings import PUBLIC, gullible
from wsgiauth import AuthMiddleware

closed = AuthMiddleware(gullible, public=PUBLIC)
open_but_for = AuthMiddleware(gullible, require={"/priv/": "code.secret"})


def application(environ, start_response):
    site = open_but_for if "HTTP_X_RULES" in environ else closed
    return site(environ, start_response)
""",
    "by_werkzeug": """
import sys
from served import application
from werkzeug.serving import run_simple

run_simple("127.0.0.1", int(sys.argv[1]), application, threaded=True)
""",
    "by_wsgiref": """
import sys
from wsgiref.simple_server import make_server
from served import application

make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
""",
}
RULES = "X-Rules: yes"
SERVERS = {
    "waitress": "waitress --threads=4 --listen=127.0.0.1:8080 served:application",
    "waitress with a prefix": (
        "waitress --threads=4 --listen=127.0.0.1:8080 --url-prefix=/pub served:application"
    ),
    "gunicorn": "gunicorn --bind=127.0.0.1:8080 served:application",
    "gunicorn with gevent": "gunicorn --bind=127.0.0.1:8080 --worker-class=gevent served",
    "cheroot": "cheroot --bind=127.0.0.1:8080 served:application",
    "werkzeug": "by_werkzeug 8080",
    "wsgiref": "by_wsgiref 8080",
}
PROXY = """
    server {{
        listen 443;
        location / {{
            proxy_pass http://127.0.0.1:{port}/;  # nginx decodes and normalises, then encodes again
        }}
    }}
"""


@contextmanager
def served(name, folder):
    """Run a server of `SERVERS` in a folder; yields its port."""
    command = SERVERS[name]
    if name != "wsgiref":
        require(name.partition(" ")[0], *(["gevent"] if "gevent" in name else []))
    for module, code in PROGRAMS.items():
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{folder}:{Path(__file__).parents[2]}",
        "SECRET_KEY": SECRET_KEY,
        "BCRYPT_ROUNDS": "4",
        "DATABASE_URL": settings_of(folder).DATABASE_URL,
    }
    command = f"{sys.executable} -m {command}"
    with (
        (folder / "log").open("wb") as log,
        running(command, cwd=folder, env=environ, stdout=log, stderr=log) as port,
    ):
        yield port


@pytest.fixture(scope="module", params=SERVERS)
def port(request, tmp_path_factory):
    """Return the port of each server in turn."""
    with served(request.param, tmp_path_factory.mktemp("served")) as port:
        yield port


def ask(port, target, headers=()):
    """Send a request target as it stands; return all that the server says."""
    lines = [f"GET {target} HTTP/1.1", "Host: site", *headers, "Connection: close", "", ""]
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall("\r\n".join(lines).encode("latin-1"))
        try:
            while chunk := client.recv(65536):
                said += chunk
        except ConnectionResetError:  # the server has not read everything
            pass
    return said


def leaks(port, *headers):
    """Return the targets that get the secret."""
    targets = [prefix + each for prefix in ("", "/pub") for each in TARGETS]
    return {each for each in targets if b"SECRET" in ask(port, each, headers)}


def is_open(port, *headers):
    """Return whether an open page can be read, with the prefix of the server or without."""
    return any(
        ask(port, f"{prefix}/pub/open", headers).endswith(b"open") for prefix in ("", "/pub")
    )


def bearer(port):
    """Log in; return the header with the token."""
    client = Client(lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE))
    return f"Authorization: {client.bearer()['Authorization']}"


@pytest.mark.promise(48)
def test_no_spelling_reaches_the_secret_without_a_login(port):
    assert leaks(port) == set()
    assert len(leaks(port, bearer(port))) > len(TARGETS) / 2  # of an application that gullible
    assert is_open(port)
    assert ask(port, "/").endswith(b"home")


@pytest.mark.promise(48)
def test_no_spelling_reaches_the_secret_without_its_permission(port):
    assert leaks(port, RULES) == leaks(port, RULES, bearer(port)) == set()
    assert is_open(port, RULES)


@pytest.mark.promise(48)
def test_no_spelling_reaches_the_secret_behind_nginx(tmp_path):
    with (
        served("waitress", tmp_path) as port,
        nginx(tmp_path, PROXY.format(port=port)) as nginx_port,
    ):
        assert leaks(nginx_port) == leaks(nginx_port, RULES) == set()
        assert len(leaks(nginx_port, bearer(nginx_port))) > len(TARGETS) / 4
        assert ask(nginx_port, "/pub/open").endswith(b"open")
