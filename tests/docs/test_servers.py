"""docs/deployment.md and docs/deployment: servers beside waitress and gunicorn, slow clients."""

import http.client
import json
import re
import socket
import ssl
import urllib.request
from contextlib import ExitStack, contextmanager
from urllib.parse import urlencode, urlsplit

import pytest

from tests.conftest import empty_tables, require
from tests.docs.accounts import ROUNDS, ask, token_of
from tests.docs.pages import CONFIGURATIONS, PAGES, code, section, shown
from tests.support.apache import apache
from tests.support.nginx import nginx
from tests.support.sites import (
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    SECRET_KEY,
    USERNAME,
    free_port,
    serving,
)
from wsgiauth import Settings, storage
from wsgiauth.accounts import create_user

DEPLOYMENT = PAGES["docs/deployment.md"]
UWSGI = (CONFIGURATIONS / "uwsgi.ini").read_text("utf-8")
ACCOUNT = {"username": USERNAME, "password": PASSWORD}
HELLO = (200, f"Hello, {USERNAME}!")


class Browser:
    """Keeps cookies and follows redirects."""

    def __init__(self, site, **options):
        self.site = site
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(), urllib.request.HTTPSHandler(**options)
        )

    def open(self, path, **fields):
        """Ask for a page, or send a form; return the path where that ends, and what is there."""
        form = urlencode(fields).encode() if fields else None
        request = urllib.request.Request(f"{self.site}{path}", form, SAME_ORIGIN)
        with self.opener.open(request, timeout=60) as answer:
            return urlsplit(answer.url).path, answer.read().decode()


def check_browser(site, **options):
    """Log in by the form, see the page, log out."""
    browser = Browser(site, **options)
    assert browser.open("/")[0] == "/auth/login"
    assert browser.open("/auth/login", next="/", **ACCOUNT) == ("/", HELLO[1])
    assert browser.open("/") == ("/", HELLO[1])
    assert browser.open("/auth/logout", next="")[0] == "/auth/login"
    assert browser.open("/")[0] == "/auth/login"


# Apache


@pytest.fixture
def serve_apache(folder, environ):
    """Return a context manager that runs Apache with our site, but for what is replaced."""

    @contextmanager
    def serve_site(**replaced):
        site = (CONFIGURATIONS / "apache.conf").read_text("utf-8")
        for old, new in {"/srv/site": str(folder), **replaced}.items():
            assert old in site
            site = site.replace(old, new)
        with apache(folder, site, environ) as port:
            yield f"http://127.0.0.1:{port}"

    return serve_site


def test_apache_passes_bearers_on_with_the_directive(serve_apache, ada):
    with serve_apache() as site:
        token = token_of(site)
        assert ask(f"{site}/", token) == HELLO
        check_browser(site)
        assert ask(f"{site}/", token) == HELLO
        assert ask(f"{site}/auth/logout", token, b"")[0] == 200
        assert ask(f"{site}/auth/me", token)[0] == 401


def test_apache_ignores_bearers_without_the_directive_and_knows_cookies(serve_apache, ada):
    with serve_apache(**{"\nWSGIPassAuthorization On\n": ""}) as site:
        assert ask(f"{site}/auth/me", token_of(site))[0] == 401
        check_browser(site)


# uWSGI


@pytest.fixture
def serve_uwsgi(folder, serve):
    """Return a context manager that runs uWSGI.

    Yields the port of its own protocol, and one for HTTP, which nginx would speak.
    """
    require("pyuwsgi")

    @contextmanager
    def serve_ini(more=""):
        command, port = UWSGI.partition("\n")[0].removeprefix("; "), free_port()
        (folder / "uwsgi.ini").write_text(UWSGI.replace("8081", str(port)), "utf-8")
        options = "--http-socket=127.0.0.1:8080 --static-map=/members=members"
        # A worker that has just started can miss the signal to end; it is killed after a second,
        # instead of a minute.
        options += " --worker-reload-mercy=1"
        with serve(f"{command} {options} {more}") as http_port:
            yield port, http_port

    return serve_ini


def chunked_login(client, password):
    """Log in by JSON in one chunk, sent at once; return the status."""
    body = json.dumps({"username": USERNAME, "password": password})
    headers = "Host: site\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
    request = f"POST /auth/login HTTP/1.1\r\n{headers}\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n"
    client.sendall(request.encode())
    answer = http.client.HTTPResponse(client)
    answer.begin()
    answer.close()
    return answer.status


CLIENT = "127.0.0.2"  # not the address of nginx


def test_uwsgi_behind_nginx(serve_uwsgi, folder, ada):
    site = code(section(DEPLOYMENT, "Behind nginx or another proxy"), "nginx")[0]
    location = re.search(r"^; location /.*?^; }$", UWSGI, re.MULTILINE | re.DOTALL)[0]
    location = location.replace("; ", "")
    with serve_uwsgi() as (port, _):
        location = location.replace("127.0.0.1:8081", f"127.0.0.1:{port}")
        location = location.replace("uwsgi_params", "/etc/nginx/uwsgi_params")
        site = re.sub(r"(?s)location / \{.*?\}", location, site.replace("/etc/ssl/site/", ""))
        assert "proxy_pass" not in site
        with nginx(folder, site) as https_port:
            context = ssl.create_default_context(cafile=folder / "certificate.pem")
            check_browser(f"https://127.0.0.1:{https_port}", context=context)
            for password, status in {PASSWORD: 200, "wrong": 401}.items():
                client = socket.create_connection(
                    ("127.0.0.1", https_port), timeout=60, source_address=(CLIENT, 0)
                )
                with context.wrap_socket(client, server_hostname="127.0.0.1") as client:
                    assert chunked_login(client, password) == status
    assert f"address={CLIENT}" in (folder / "log").read_text()


@pytest.mark.parametrize("loading", ["", "--lazy-apps"], ids=["forked", "lazy"])
def test_uwsgi_without_nginx(loading, serve_uwsgi, folder, ada):
    (folder / "members").mkdir()
    (folder / "members/file").write_text("for members")
    with serve_uwsgi(loading) as (_, port):
        site = f"http://127.0.0.1:{port}"
        token = token_of(site)
        assert ask(f"{site}/", {**token, "Cookie": f"tab={'x' * 8000}"}) == HELLO
        assert ask(f"{site}/members/file") == (200, "for members")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            assert chunked_login(client, PASSWORD) == 411
        assert ask(f"{site}/auth/logout", token, b"")[0] == 200
        assert {ask(f"{site}/auth/me", token)[0] for _ in range(4)} == {401}


# gunicorn with gevent


@pytest.fixture
def postgresql(server_urls, postgresql_driver):
    """Return the URL of a database on PostgreSQL with the README's user."""
    url = server_urls("postgresql")
    database = storage.open_database(url)
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=ROUNDS, DATABASE_URL=url)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    yield url
    empty_tables()
    storage.discard_connection(database)


def connections():
    """Return how many connections to the current database others have."""
    count = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    return storage.current().execute_sql(count).fetchone()[0]


@pytest.mark.parametrize("is_pooled", [True, False], ids=["pool", "no pool"])
def test_a_pool_bounds_the_connections_of_gevent(is_pooled, postgresql, serve, environ):
    require("gevent", "gunicorn", "werkzeug")
    (export, _), (command, _) = shown(DEPLOYMENT, "gunicorn with gevent")
    scheme, _, query = re.search("'(.*)://.*[?](.*)'", export).group(1, 0, 2)
    assert (scheme, query) == ("postgresql+pool", "max_connections=6")
    pooled = postgresql.replace("postgresql", scheme, 1) + f"?{query}"
    environ["DATABASE_URL"] = pooled if is_pooled else postgresql
    # Without a pool, a connection lasts as long as its client: on a slow machine that must be
    # longer than the two seconds that gunicorn keeps a silent client by default.
    environ["GUNICORN_CMD_ARGS"] = "--keep-alive 60"
    before = connections()  # of other tests
    with serve(command) as port, ExitStack() as stack:
        token = token_of(f"http://127.0.0.1:{port}")
        clients = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(20)]
        for client in clients:
            stack.callback(client.close)
            client.request("GET", "/", headers=token)
        assert [client.getresponse().read().decode() for client in clients] == [HELLO[1]] * 20
        # Two workers; and without a pool, the connection of a client that has left may linger.
        now = connections()
        assert now - before <= 2 * 6 if is_pooled else now >= 20


# Slow clients


@contextmanager
def silent_clients(port, count):
    """Hold connections that have sent the beginning of a request, and no more."""
    with ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(b"GET / HTTP/1.1\r\n")
        yield


LIMIT = 100  # of waitress


def test_slow_clients_fill_waitress(serve, ada):
    """... which the tests below have remedies for."""
    ((command, _),) = shown(DEPLOYMENT, "Slow clients")
    command = re.sub("--(connection|channel|asyncore)[^ ]* ", "", command)
    with serve(command) as port, silent_clients(port, LIMIT):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        client.request("GET", "/auth/login")
        with pytest.raises(TimeoutError):
            client.getresponse()
        client.close()


def test_a_higher_limit_leaves_room_beside_slow_clients(serve, ada):
    ((command, _),) = shown(DEPLOYMENT, "Slow clients")
    with serve(command) as port, silent_clients(port, 2 * LIMIT):
        assert ask(f"http://127.0.0.1:{port}/auth/login")[0] == 200


def test_slow_clients_of_nginx_hold_no_connection_of_waitress(folder, site):
    server = "server {{ listen 443; location / {{ proxy_pass {}; }} }}"
    with (
        serving(site, connection_limit=10) as address,
        nginx(folder, server.format(address)) as port,
        silent_clients(port, LIMIT),
    ):
        assert ask(f"http://127.0.0.1:{port}/auth/login")[0] == 200


def test_the_channel_timeout_ends_silent_connections(site):
    options = {"connection_limit": 10, "channel_timeout": 1, "cleanup_interval": 1}
    with serving(site, **options) as address, silent_clients(urlsplit(address).port, 10):
        assert ask(f"{address}/auth/login")[0] == 200
