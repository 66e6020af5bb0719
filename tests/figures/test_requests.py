"""How many requests a process has answered, by the class of the status."""

import os
from dataclasses import replace
from threading import Thread

import pytest
from webtest import TestApp

from tests.figures.test_event_counts import in_child
from wsgiauth import AuthMiddleware, storage
from wsgiauth.figures import requests
from wsgiauth.figures.requests import CountingScope, RequestCounts
from wsgiauth.storage.request_scope import RequestScope


def answering(status, *errors):
    def app(environ, start_response):
        start_response(status, [("Content-Type", "text/plain")], *errors)
        return [b"x"]

    return app


def failing(environ, start_response):
    raise ZeroDivisionError


def failing_later(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    raise ZeroDivisionError


def generating(environ, start_response):
    start_response("404 Not Found", [("Content-Type", "text/plain")])
    yield b"x"
    yield b"y"


def failing_generator(environ, start_response):
    yield b""[1:] if environ["QUERY_STRING"] else 1 / 0


def recovering(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        problem = type(error), error, error.__traceback__
        start_response("500 Internal Server Error", [("Content-Type", "text/plain")], problem)
    return [b"x"]


@pytest.fixture
def make(settings):
    """Return a function that wraps an application, with METRICS."""
    made = []

    def site(app):
        made.append(AuthMiddleware(app, replace(settings, METRICS=True)))
        return made[-1]

    yield site
    for each in made:
        storage.discard_connection(each.database)


def numbers(site):
    counted = site.site.parts.need(RequestCounts).numbers()
    assert [*counted] == ["1xx", "2xx", "3xx", "4xx", "5xx"]
    return {name: number for name, number in counted.items() if number}


def get(site, path="/"):
    return TestApp(site, lint=False).get(path, status="*", expect_errors=True)


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        (answering("204 No Content"), "2xx"),
        (answering("302 Found"), "3xx"),
        (answering("418 I'm a teapot"), "4xx"),
        (answering("599 x"), "5xx"),
        (generating, "4xx"),
        (recovering, "5xx"),
    ],
    ids=["2xx", "3xx", "4xx", "5xx", "generator", "recovering"],
)
def test_each_answer_counts_by_its_class(make, app, expected):
    site = make(app)
    get(site)
    assert numbers(site) == {expected: 1}


@pytest.mark.parametrize("app", [failing, failing_later, failing_generator])
def test_an_exception_counts_as_5xx(make, app):
    site = make(app)
    with pytest.raises(ZeroDivisionError):
        get(site)
    assert numbers(site) == {"5xx": 1}


def test_a_status_that_is_none_does_not_count(make):
    counts = RequestCounts()
    counts.add("999 x")
    assert set(counts.numbers().values()) == {0}


def test_a_response_that_is_closed_unread_counts(make):
    for app, expected in ((generating, "5xx"), (silent, "5xx")):
        site = make(app)
        response = site({"PATH_INFO": "/", "REQUEST_METHOD": "GET"}, lambda *_: None)
        response.close()
        response.close()
        assert numbers(site) == {expected: 1}


def silent(environ, start_response):
    return [b"x"]


def test_pages_of_accounts_count_and_probes_do_not(make):
    site = make(answering("200 OK"))
    get(site, "/auth/login")
    get(site, "/auth/me")
    assert numbers(site) == {"2xx": 1, "4xx": 1}
    for path in ("/auth/health/live", "/auth/health/ready"):
        get(site, path)
    assert numbers(site) == {"2xx": 1, "4xx": 1}


def test_the_middleware_around_another_application_counts_there_too(make):
    site = make(answering("200 OK"))
    get(site.around(answering("404 Not Found")))
    get(site)
    assert numbers(site) == {"2xx": 1, "4xx": 1}


def test_threads_lose_no_request(make):
    counts = RequestCounts()
    threads = [
        Thread(target=lambda: [counts.add("200 OK") for _ in range(5_000)]) for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert counts.numbers()["2xx"] == 40_000


def test_without_metrics_nothing_counts(site):
    assert site.site.part(RequestCounts) is None
    assert type(site._scope) is RequestScope


def test_with_metrics_the_scope_counts(make):
    assert type(make(generating)._scope) is CountingScope


def test_a_forked_process_has_a_start_of_its_own(monkeypatch):
    monkeypatch.setattr(requests, "_started_at", 1.0)
    assert requests.started_at() == 1.0
    assert in_child(lambda: int(requests.started_at() == 1.0)) == 0
    assert os.getpid()
