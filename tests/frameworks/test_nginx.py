"""Behind nginx, which speaks https to the client and gives the site a prefix."""

import http.client
import json
import socket
import ssl
from dataclasses import replace

import pytest

from tests.conftest import skip_or_fail
from tests.frameworks.clients import JSON, PATIENCE, Client, cookie, settings_of
from tests.support.nginx import nginx
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME, free_port, serving
from wsgiauth import AuthMiddleware

SERVER = """
    server {{
        listen 443 ssl;
        ssl_certificate certificate.pem;
        ssl_certificate_key key.pem;
        location /site/ {{
            proxy_pass {address};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
"""
CLIENT = "127.0.0.2"  # not the address of nginx


def who(environ, start_response):
    """Answer with what the site knows of its caller, or at /account with a 401."""
    user = environ["wsgiauth.user"]
    is_refused = environ["PATH_INFO"] == "/account" and user is None
    status = "401 Unauthorized" if is_refused else "200 OK"
    start_response(status, [("Content-Type", "application/json")])
    seen = {name: environ[name] for name in ("SCRIPT_NAME", "REMOTE_ADDR", "wsgi.url_scheme")}
    return [json.dumps({**seen, "user": user and user.username}).encode()]


@pytest.fixture(scope="module")
def https(tmp_path_factory):
    """Return a client of a site behind nginx."""
    try:
        socket.create_server((CLIENT, 0)).close()
    except OSError:
        skip_or_fail(f"{CLIENT} is not an address of this machine")
    folder = tmp_path_factory.mktemp("nginx")
    site = AuthMiddleware(who, settings_of(folder), challenge=True)
    headers = "x-forwarded-for x-forwarded-proto"
    options = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": headers}
    with (
        serving(site, threads=4, url_prefix="/site", **options) as address,
        nginx(folder, SERVER.format(address=address)) as port,
    ):
        context = ssl.create_default_context(cafile=folder / "certificate.pem")
        yield Client(
            lambda: http.client.HTTPSConnection(
                "127.0.0.1", port, timeout=PATIENCE, source_address=(CLIENT, 0), context=context
            )
        )


def test_the_site_knows_its_prefix_its_scheme_and_its_client(https):
    seen = {"SCRIPT_NAME": "/site", "REMOTE_ADDR": CLIENT, "wsgi.url_scheme": "https"}
    assert https.ask("GET", "/site/").json == {**seen, "user": None}


def test_no_client_says_otherwise(https):
    lies = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http", "Forwarded": "for=_x"}
    answer = https.ask("GET", "/site/", headers=lies).json
    assert (answer["REMOTE_ADDR"], answer["wsgi.url_scheme"]) == (CLIENT, "https")


def test_the_redirects_carry_the_prefix(https):
    sent = https.ask("GET", "/site/account", headers=BROWSER)
    assert sent.headers["Location"] == "/site/auth/login?next=%2Fsite%2Faccount"
    assert https.log_in("/site", next="/site/account").headers["Location"] == "/site/account"
    assert https.log_in("/site").headers["Location"] == "/site/"
    left = https.ask("POST", "/site/auth/logout", headers=SAME_ORIGIN)
    assert left.headers["Location"] == "/site/auth/login?done=logout"


def test_the_cookie_is_for_https_and_this_host_only(https):
    name, _, attributes = https.log_in("/site").headers["Set-Cookie"].partition("=")
    assert name == "__Host-wsgiauth"
    assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"} <= set(attributes.split("; "))


def test_a_browser_logs_in_and_out(https):
    browser = {**SAME_ORIGIN, **cookie(https.log_in("/site"))}
    assert https.ask("GET", "/site/account", headers=browser).json["user"] == USERNAME
    assert https.ask("POST", "/site/auth/logout", headers=browser).status == 303
    assert https.ask("GET", "/site/account", headers=browser).status == 302


def test_a_program_logs_in(https):
    assert https.ask("GET", "/site/account", headers=https.bearer("/site")).json["user"] == USERNAME
    assert https.ask("GET", "/site/account").json["code"] == "unauthenticated"


DUAL_STACK = """
    server {{
        listen 443;
    }}
    server {{
        listen [::]:{port} ipv6only=off;
        location / {{
            proxy_pass {address};
            proxy_set_header X-Forwarded-For $remote_addr;
        }}
    }}
"""


@pytest.mark.promise(13)
def test_ipv4_clients_of_a_listener_for_ipv6_are_told_apart(tmp_path):
    # nginx passes ::ffff:127.0.0.2 on, and waitress cuts it to ::ffff.
    if not socket.has_dualstack_ipv6():
        skip_or_fail("this machine has no IPv6")
    settings = replace(settings_of(tmp_path), LOGIN_FAILURES_PER_ADDRESS=1)
    proxy = {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": "x-forwarded-for"}
    port = free_port()

    def status_of(address, name):
        source = (address, 0)
        client = Client(
            lambda: http.client.HTTPConnection("127.0.0.1", port, PATIENCE, source_address=source)
        )
        guess = json.dumps({"username": name, "password": "wrong"})
        return client.ask("POST", "/auth/login", guess, JSON).status

    with (
        serving(AuthMiddleware(who, settings), **proxy) as address,
        nginx(tmp_path, DUAL_STACK.format(address=address, port=port)),
    ):
        statuses = [
            status_of("127.0.0.2", "a"),
            status_of("127.0.0.3", "b"),
            *(status_of("127.0.0.2", f"c{number}") for number in range(3)),
        ]
    assert statuses[:2] == [401, 401]
    assert 429 in statuses[2:]
