"""The same small site under other servers than waitress."""

import http.client
import os
import re
import sys
import time
from contextlib import contextmanager

import pytest

from tests.conftest import require
from tests.docs.pages import PAGES
from tests.frameworks.clients import PATIENCE, Client, cookie, settings_of
from tests.frameworks.conftest import PACKAGES, SOURCES
from tests.support.sites import BROWSER, SAME_ORIGIN, SECRET_KEY, USERNAME, running
from wsgiauth import Settings
from wsgiauth.authentication.tokens import Tokens

# The plain recipe or, by a header, that of a framework; and which process answers.
SERVED = """
import os
from importlib import import_module

FRAMEWORKS = {frameworks}
modules = {{name: import_module(f"{{name}}_site") for name in ["plain", *FRAMEWORKS]}}
sites = {{name: getattr(each, "application", None) or each.app for name, each in modules.items()}}
if "django" in sites:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def application(environ, start_response):
    def start(status, headers, exc_info=None):
        return start_response(status, [*headers, ("X-Process", str(os.getpid()))])

    return sites[environ.get("HTTP_X_FRAMEWORK", "plain")](environ, start)
"""
SERVERS = {
    "waitress": "waitress --threads=4 --listen=127.0.0.1:8080",
    "gunicorn": "gunicorn --bind=127.0.0.1:8080",
    "gunicorn with threads": "gunicorn --bind=127.0.0.1:8080 --worker-class=gthread --threads=4",
    "gunicorn with gevent": "gunicorn --bind=127.0.0.1:8080 --worker-class=gevent",
    "gunicorn that forks": "gunicorn --bind=127.0.0.1:8080 --preload --workers=2",
    "gunicorn with gevent that forks": (
        "gunicorn --bind=127.0.0.1:8080 --worker-class=gevent --preload"
    ),
    "cheroot": "cheroot --bind=127.0.0.1:8080",
}
WITH_FRAMEWORKS = ("waitress", "gunicorn with threads", "cheroot")
CONFIGURATION = re.search(
    r"first line of `gunicorn.conf.py`: `(.*?)`", PAGES["docs/deployment.md"]
)[1]


@contextmanager
def served(name, folder, *, configuration=CONFIGURATION):
    """Run a server of `SERVERS` in a folder; yields a client of it."""
    command = SERVERS[name]
    require(command.partition(" ")[0], *(["gevent"] if "gevent" in name else []))
    frameworks = PACKAGES if name in WITH_FRAMEWORKS else []
    require(*frameworks)
    programs = {f"{each}_site": SOURCES[each] for each in ("plain", *frameworks)}
    programs["served"] = SERVED.format(frameworks=frameworks)
    for module, code in programs.items():
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
    if "gevent" in command:
        require("gevent")
        if "--preload" in command:
            (folder / "gunicorn.conf.py").write_text(configuration, encoding="utf-8")
    settings = settings_of(folder)
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(folder),
        "SECRET_KEY": SECRET_KEY,
        "BCRYPT_ROUNDS": "4",
        "DATABASE_URL": settings.DATABASE_URL,
    }
    command = f"{sys.executable} -m {command} served:application"
    with (
        (folder / "log").open("wb") as log,
        running(command, cwd=folder, env=environ, stdout=log, stderr=log) as port,
    ):
        yield Client(lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE))


@pytest.fixture(scope="module", params=SERVERS)
def client(request, tmp_path_factory):
    """Return a client of each server in turn."""
    with served(request.param, tmp_path_factory.mktemp("served")) as client:
        yield client


def test_a_program_logs_in_and_out(client):
    assert client.ask("GET", "/").json == {"user": None}
    bearer = client.bearer()
    assert client.ask("GET", "/", headers=bearer).json == {"user": USERNAME}
    assert client.ask("POST", "/auth/logout", headers=bearer).status == 200
    assert client.ask("GET", "/", headers=bearer).json == {"user": None}


def test_a_browser_logs_in_and_out(client):
    sent = client.ask("GET", "/account", headers=BROWSER)
    assert (sent.status, sent.headers["Location"]) == (302, "/auth/login?next=%2Faccount")
    answer = client.log_in(next="/account")
    assert (answer.status, answer.headers["Location"]) == (303, "/account")
    browser = {**SAME_ORIGIN, **cookie(answer)}
    assert client.ask("GET", "/account", headers=browser).json == {"user": USERNAME}
    assert client.ask("POST", "/auth/logout", headers=browser).status == 303
    assert client.ask("GET", "/account", headers=browser).status == 302


def test_a_program_without_a_login_is_challenged(client):
    answer = client.ask("GET", "/members/news")
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'


@pytest.mark.promise(62)
@pytest.mark.parametrize("client", WITH_FRAMEWORKS, indirect=True)
@pytest.mark.parametrize("framework", PACKAGES)
def test_the_site_of_each_framework_is_served(client, framework):
    chosen = {"X-Framework": framework}
    assert client.ask("GET", "/", headers=chosen).json == {"user": None}
    refused = client.ask("GET", "/members/news", headers=chosen)
    assert (refused.status, refused.json["code"]) == (401, "unauthenticated")
    bearer = {**client.bearer(), **chosen}
    connection = client.connect()  # one for all
    for headers, user in [(bearer, USERNAME), (chosen, None), (bearer, USERNAME)]:
        connection.request("GET", "/", headers=headers)
        assert client.read(connection.getresponse()).json == {"user": user}
    assert client.ask("GET", "/account", headers=bearer).json == {"user": USERNAME}
    assert client.ask("GET", "/members/news", headers=bearer).json == {"news": "for members"}
    assert client.ask("POST", "/auth/logout", headers=bearer).status == 200
    connection.request("GET", "/", headers=bearer)
    assert client.read(connection.getresponse()).json == {"user": None}
    connection.close()


@pytest.mark.parametrize("client", ["gunicorn that forks"], indirect=True)
def test_a_login_and_a_logout_are_known_to_every_worker(client):
    bearer = client.bearer()
    for user in (USERNAME, None):
        # A worker that waits for the end of a request leaves the next one to the other.
        held = client.connect()
        held.connect()
        held.sock.sendall(f"GET / HTTP/1.0\r\nAuthorization: {bearer['Authorization']}".encode())
        answers = [client.ask("GET", "/", headers=bearer)]
        held.sock.sendall(b"\r\n\r\n")
        response = http.client.HTTPResponse(held.sock)
        response.begin()
        answers.append(client.read(response))
        held.close()
        assert [answer.json for answer in answers] == [{"user": user}] * 2
        assert len({answer.headers["X-Process"] for answer in answers}) == 2
        client.ask("POST", "/auth/logout", headers=bearer)


@pytest.mark.promise(22)
def test_greenlets_that_would_share_a_connection_are_refused(tmp_path):
    with served("gunicorn with gevent that forks", tmp_path, configuration="") as client:
        assert client.ask("GET", "/").json == {"user": None}
        token = Tokens(Settings(SECRET_KEY=SECRET_KEY)).issue(1, "a" * 22, int(time.time()) + 60)
        answer = client.ask("GET", "/", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status, answer.json["code"]) == (503, "unavailable")
        assert client.log_in().status == 503
    log = (tmp_path / "log").read_text()
    assert "the account database failed: InterfaceError: greenlets would share" in log
    assert "Traceback" not in log
