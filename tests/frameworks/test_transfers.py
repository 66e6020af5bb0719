"""Long answers and large requests go through the middleware, in each framework, as they come."""

import http.client
import random
from urllib.parse import urlsplit

import pytest
from webob import Request
from webtest import TestApp, lint

from tests.conftest import require
from tests.frameworks import transfers
from tests.frameworks.conftest import PACKAGES, each_of
from tests.support.sites import serving
from wsgiauth import AuthMiddleware

PATIENCE = 60  # seconds, after which what was expected counts as missing
DATA = random.Random(1).randbytes(1_000_000)  # noqa: S311 - any bytes do


@pytest.fixture
def source():
    return transfers.Source()


@pytest.fixture(params=each_of(["plain", *PACKAGES]))
def site(request, settings, source):
    """Return a framework's site, wrapped."""
    if request.param in PACKAGES:
        require(request.param)
    if request.param == "django":
        request.getfixturevalue("paths")
    app = getattr(transfers, request.param)(source)
    return AuthMiddleware(app, settings, challenge=True)


@pytest.fixture
def paths(recipe, source):
    """Have Django answer by the paths of this file."""
    recipe("django")
    from django.test import override_settings

    with override_settings(ROOT_URLCONF=transfers.paths_of(source)):
        yield


@pytest.fixture(params=["nobody", "a user"])
def headers(request, ada, bearer):
    """Return the headers of a program, without a login and with one."""
    return {} if request.param == "nobody" else bearer(ada)


def begun(site, headers):
    """Return the answer of `site`, checked against PEP 3333 and not yet asked for a chunk."""
    environ = Request.blank("/stream", headers=headers).environ
    return lint.middleware(site)(environ, lambda status, headers, exc_info=None: None)


def test_chunks_arrive_while_there_are_more_to_come(site, source, headers):
    answer = begun(site, headers)
    chunks = iter(answer)
    for number in range(1, 4):
        assert next(chunks) == transfers.CHUNK
        assert number <= source.asked <= number + 1
    answer.close()


def test_the_end_of_the_answer_reaches_the_generator(site, source, headers):
    answer = begun(site, headers)
    next(iter(answer))
    assert not source.closed.is_set()
    answer.close()
    assert source.closed.is_set()


def test_the_generator_is_closed_when_the_client_goes_away(site, source):
    with serving(site, threads=1) as address:
        client = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
        client.request("GET", "/stream")
        answer = client.getresponse()
        assert answer.read(len(transfers.CHUNK)) == transfers.CHUNK
        assert not source.closed.is_set()
        answer.close()
        client.close()
        assert source.closed.wait(PATIENCE)


def test_an_upload_arrives_as_it_was_sent(site, ada, bearer):
    file = ("file", "data.bin", DATA)
    answer = TestApp(site).post("/upload", upload_files=[file], headers=bearer(ada))
    assert answer.text == transfers.receipt(ada, DATA)
