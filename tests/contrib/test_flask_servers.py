"""The adapter's program under real servers: each request has its own user, and no other."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest

from tests.conftest import require
from tests.frameworks.clients import PATIENCE, Client, cookie, settings_of
from tests.frameworks.conftest import SOURCES
from tests.support.sites import BROWSER, SAME_ORIGIN, SECRET_KEY, USERNAME, running

SERVERS = {
    "waitress": "waitress --threads=4 --listen=127.0.0.1:8080",
    "cheroot": "cheroot --bind=127.0.0.1:8080",
    "gunicorn with threads": "gunicorn --bind=127.0.0.1:8080 --worker-class=gthread --threads=4",
    "gunicorn with gevent": "gunicorn --bind=127.0.0.1:8080 --worker-class=gevent",
}


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    """Return a client of each server in turn."""
    command = SERVERS[request.param]
    require("flask", command.partition(" ")[0], *(["gevent"] if "gevent" in command else []))
    folder = tmp_path_factory.mktemp("served")
    (folder / "flask_site.py").write_text(SOURCES["flask"], encoding="utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(folder),
        "SECRET_KEY": SECRET_KEY,
        "BCRYPT_ROUNDS": "4",
        "DATABASE_URL": settings_of(folder).DATABASE_URL,
    }
    command = f"{sys.executable} -m {command} flask_site:app"
    with (
        (folder / "log").open("wb") as log,
        running(command, cwd=folder, env=environ, stdout=log, stderr=log) as port,
    ):
        yield Client(lambda: HTTPConnection("127.0.0.1", port, timeout=PATIENCE))


def users_of(server, *requests):
    """Return who the site says is calling, for requests over one connection."""
    connection, users = server.connect(), []
    for headers in requests:
        connection.request("GET", "/", headers=headers)
        users.append(json.loads(connection.getresponse().read())["user"])
    connection.close()
    return users


@pytest.mark.promise(62)
def test_after_a_logout_nobody_is_logged_in(server):
    bearer = server.bearer()
    assert users_of(server, bearer, {}, bearer) == [USERNAME, None, USERNAME]
    assert server.ask("POST", "/auth/logout", headers=bearer).status == 200
    assert users_of(server, bearer, {}) == [None, None]


@pytest.mark.promise(62)
def test_concurrent_requests_have_their_own_users(server):
    bearer = server.bearer()
    requests = [bearer, {}] * 5
    with ThreadPoolExecutor(4) as clients:
        found = clients.map(lambda _: users_of(server, *requests), range(8))
        assert list(found) == [[USERNAME, None] * 5] * 8


def test_a_browser_logs_in_and_out(server):
    assert server.ask("GET", "/members/news", headers=BROWSER).status == 302
    answer = server.log_in(next="/members/news")
    browser = {**SAME_ORIGIN, **cookie(answer)}
    assert server.ask("GET", "/members/news", headers=browser).json == {"news": "for members"}
    assert server.ask("POST", "/auth/logout", headers=browser).status == 303
    assert server.ask("GET", "/members/news", headers=browser).status == 302
