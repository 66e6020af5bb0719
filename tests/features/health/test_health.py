"""GET /auth/health/live and /auth/health/ready, without a server."""

import logging
from pathlib import Path

import flask
import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.cli.applications import make_login_site
from wsgiauth.contrib.flask import WSGIAuth
from wsgiauth.storage.readiness import SHARED, Readiness
from wsgiauth.testing import api_key, bearer, logged_in, make_settings

LIVE, READY = "/auth/health/live", "/auth/health/ready"
BOTH = pytest.mark.parametrize("path", [LIVE, READY])
OK, UNAVAILABLE = {"status": "ok"}, {"status": "unavailable"}


@pytest.fixture
def later(site):
    """Return a function that lets the last answer about readiness expire."""
    readiness = site.site.require(Readiness)
    now = readiness.now
    passed = [0.0]
    readiness.now = lambda: now() + passed[0]

    def expire():
        passed[0] += SHARED

    return expire


@pytest.fixture
def remove_database(site):
    """Return a function that removes the database."""

    def remove():
        storage.discard_connection(site.database)
        Path(site.database.database).unlink()

    return remove


@BOTH
def test_a_healthy_process_answers_ok_and_nothing_else(client, later, path):
    for _ in range(2):
        found = client.get(path, status=200)
        assert found.json == OK
        assert found.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in found.headers
        later()
    head = client.head(path, status=200)
    assert head.body == b""
    assert head.headers["Content-Length"] == found.headers["Content-Length"]


def test_without_its_database_a_process_is_alive_and_not_ready(client, later, remove_database):
    remove_database()
    later()
    found = client.get(READY, status=503)
    assert found.json == UNAVAILABLE
    assert found.headers["Cache-Control"] == "no-store"
    assert "Retry-After" not in found.headers
    assert client.get(LIVE, status=200).json == OK


@BOTH
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(client, path, method):
    found = client.request(path, method=method, status=405)
    assert found.headers["Allow"] == "HEAD, GET"
    assert found.json["code"] == "method_not_allowed"


@pytest.mark.promise(102)
@BOTH
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("headers", [{}, BROWSER], ids=["a program", "a browser"])
def test_no_credentials_cost_a_query_or_change_the_answer(
    site, client, ada, queries, path, method, headers
):
    cookie = "; ".join(str(each) for each in logged_in(site, ada).cookies.items())
    sent = [
        {},
        bearer(site, ada),
        api_key(site, ada),
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic eDp5"},
        {"Cookie": cookie},
        {"Cookie": "wsgiauth=x; " + "y" * 10_000},
    ]
    answers = []
    for each in sent:
        arguments = {"method": method, "headers": each | headers, "expect_errors": True}
        assert queries(lambda send=arguments: answers.append(client.request(path, **send))) == []
    assert len({(each.status, each.body) for each in answers}) == 1
    assert not any("Set-Cookie" in each.headers for each in answers)


@BOTH
def test_the_query_and_other_headers_change_nothing(client, path):
    odd = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", **BROWSER}
    query = "?next=/x&token=" + "%ff" * 1000
    assert client.get(path + query, headers=odd, status=200).body == client.get(path).body


@pytest.mark.promise(102)
def test_probes_are_not_logged_but_for_changes(client, later, remove_database, caplog):
    caplog.set_level(logging.DEBUG, "wsgiauth")
    for _ in range(3):
        client.get(LIVE)
        client.get(READY)
        later()
    assert caplog.messages == []
    remove_database()
    for _ in range(3):
        later()
        client.get(READY, status=503)
        client.get(LIVE, status=200)
    (line,) = caplog.messages
    assert line.startswith("not ready")


@pytest.mark.parametrize("arguments", [{"public": ()}, {"require": "site.read"}])
def test_rules_for_paths_do_not_cover_probes(settings, arguments):
    guarded = AuthMiddleware(echo, settings, **arguments)
    client = TestApp(guarded)
    client.get("/", status=401)
    for path in (LIVE, READY):
        client.get(path, status=200)
    storage.discard_connection(guarded.database)


def test_the_login_alone_has_them(settings, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", settings.SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    alone = make_login_site()
    for path in (LIVE, READY):
        assert TestApp(alone).get(path, status=200).json == OK
    storage.discard_connection(alone.database)


def test_they_are_below_the_mount(settings):
    mounted = AuthMiddleware(echo, settings, mount="/accounts")
    TestApp(mounted, {"SCRIPT_NAME": "/site"}).get("/accounts/health/ready", status=200)
    storage.discard_connection(mounted.database)


def test_flask_has_them():
    app = flask.Flask(__name__)
    app.config.from_object(make_settings())
    WSGIAuth(app)
    for path in (LIVE, READY):
        assert app.test_client().get(path).json == OK


def test_the_document_says_that_they_need_no_credentials(client):
    paths = client.get("/auth/openapi.json").json["paths"]
    operations = [paths[each.removeprefix("/auth")]["get"] for each in (LIVE, READY)]
    assert [each["security"] for each in operations] == [[], []]
    assert [{*each["responses"]} for each in operations] == [{"200"}, {"200", "503"}]
