"""Texts are compressed for clients that accept it; nothing else changes."""

import gzip
from wsgiref.validate import validator

from webob import Request

from tests.support.tables import row_by_row
from wsgiauth.cli.compression import LEAST, MOST, compressed

TEXT = b"All the world is a stage. " * 100
GZIP = {"Accept-Encoding": "gzip, deflate, br"}
HTML = "text/html; charset=utf-8"


def make(body=TEXT, content_type=HTML, status="200 OK", **headers):
    """Return an application that answers so."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"Content-Type": content_type, "Content-Length": str(len(body)), **named}

    def application(environ, start_response):
        start_response(status, list(sent.items()))
        return [body]

    return application


def ask(application, headers=GZIP):
    """Return the answer of an application behind the compression, with its body as it is sent."""
    return Request.blank("/", headers=headers).get_response(
        validator(compressed(application)), catch_exc_info=True
    )


def test_a_text_is_compressed():
    answer = ask(make())
    assert answer.headers["Content-Encoding"] == "gzip"
    assert int(answer.headers["Content-Length"]) == len(answer.body) < len(TEXT) / 5
    assert gzip.decompress(answer.body) == TEXT
    assert answer.headers["Vary"] == "Accept-Encoding"


def test_a_client_that_does_not_accept_gzip_gets_the_text_itself():
    accepted = [{}, *({"Accept-Encoding": each} for each in ("br", "gzip;q=0", "gzip;q=x", ""))]
    for headers in accepted:
        answer = ask(make(), headers)
        assert answer.body == TEXT
        assert "Content-Encoding" not in answer.headers
        assert answer.headers["Vary"] == "Accept-Encoding"  # a cache may have the other one


def test_texts_of_each_type_are_compressed():
    for content_type in (
        "text/css",
        "TEXT/HTML",
        "application/json",
        "application/problem+json",
        "application/javascript; charset=utf-8",
        "application/atom+xml",
        "image/svg+xml",
    ):
        answer = ask(make(content_type=content_type))
        assert answer.headers.get("Content-Encoding") == "gzip", content_type


def test_what_is_no_text_or_not_to_be_changed_passes_unchanged():
    for changed in (
        {"content_type": "image/png"},
        {"content_type": "application/jsonx"},
        {"content_type": "text/event-stream"},
        {"body": b"a" * (LEAST - 1)},
        {"body": b"a" * (MOST + 1)},
        {"Content_Encoding": "br"},
        {"Cache_Control": "public, No-Transform"},
        {"Repr_Digest": "sha-256=:AAAA:"},
        {"status": "206 Partial Content"},
    ):
        answer = ask(make(**changed))
        assert answer.body == changed.get("body", TEXT)
        assert answer.headers.get("Content-Encoding") == changed.get("Content_Encoding"), changed
        assert "Vary" not in answer.headers


@row_by_row("length", [LEAST, MOST])
def test_the_bounds_are_compressed(length):
    assert gzip.decompress(ask(make(b"a" * length)).body) == b"a" * length


def test_a_strong_etag_becomes_a_weak_one_and_other_reasons_to_vary_stay():
    answer = ask(make(ETag='"a"', Vary="Cookie"))
    assert (answer.headers["ETag"], answer.headers["Vary"]) == ('W/"a"', "Cookie, Accept-Encoding")
    assert ask(make(ETag='W/"a"')).headers["ETag"] == 'W/"a"'


@row_by_row(
    "credentials", [{"Cookie": "a=b"}, {"Authorization": "Bearer a"}], ids=["cookie", "token"]
)
def test_a_request_with_credentials_gets_gzip_only_if_no_other_site_caused_it(credentials):
    for site, is_compressed in {
        "same-origin": True,
        "none": True,
        "same-site": False,
        "cross-site": False,
        "": False,
    }.items():
        fetch = {"Sec-Fetch-Site": site} if site else {}
        answer = ask(make(), {**GZIP, **credentials, **fetch})
        assert (answer.body != TEXT) is is_compressed, site
        assert ("Content-Encoding" in answer.headers) is is_compressed, site


def lengths(*pieces, declared, content_type=HTML):
    """Return what the server is given by an application that declares another length."""

    def application(environ, start_response):
        headers = [("Content-Type", content_type), ("Content-Length", str(declared))]
        start_response("200 OK", headers)
        yield from pieces

    started = []
    environ = {"REQUEST_METHOD": "GET", "HTTP_ACCEPT_ENCODING": "gzip"}
    body = list(compressed(application)(environ, lambda *arguments: started.append(arguments)))
    return dict(started[0][1]), body


@row_by_row("declared", [len(TEXT) + 1, len(TEXT) - 1], ids=["short", "long"])
def test_a_body_of_another_length_is_left_to_the_server(declared):
    headers, body = lengths(TEXT, b"", declared=declared)
    assert (headers["Content-Length"], b"".join(body)) == (str(declared), TEXT)
    assert "Content-Encoding" not in headers


def test_no_more_is_kept_than_was_declared():
    taken = []

    def pieces():
        for number in range(10):
            taken.append(number)
            yield b"x" * LEAST

    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", HTML), ("Content-Length", str(LEAST))])
        return pieces()

    environ = {"REQUEST_METHOD": "GET", "HTTP_ACCEPT_ENCODING": "gzip"}
    body = iter(compressed(application)(environ, lambda *arguments: None))
    next(body)
    assert taken == [0, 1]


def test_an_application_that_starts_no_answer_is_left_to_the_server():
    environ = {"REQUEST_METHOD": "GET", "HTTP_ACCEPT_ENCODING": "gzip"}
    started = []
    app_iter = compressed(lambda environ, start_response: [b"Hello"])(environ, started.append)
    assert (list(app_iter), started) == ([b"Hello"], [])


class Body:
    """A body that counts how often it is closed."""

    closed = 0

    def __init__(self, *pieces):
        self._pieces = iter(pieces)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._pieces)

    def close(self):
        self.closed += 1


@row_by_row("content_type", [HTML, "image/png"])
def test_a_body_of_pieces_is_closed_once(content_type):
    body = Body(TEXT, TEXT)

    def application(environ, start_response):
        headers = [("Content-Type", content_type), ("Content-Length", str(2 * len(TEXT)))]
        start_response("200 OK", headers)
        return body

    answer = ask(application)
    assert len(answer.body) == 2 * len(TEXT) or gzip.decompress(answer.body) == 2 * TEXT
    assert body.closed == 1


def test_a_stream_reaches_the_client_piece_by_piece():
    begun = []

    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        for each in range(3):
            begun.append(each)
            yield b"x" * LEAST

    started = []
    environ = {"REQUEST_METHOD": "GET", "HTTP_ACCEPT_ENCODING": "gzip"}
    app_iter = compressed(application)(environ, lambda *arguments: started.append(arguments[0]))
    assert next(iter(app_iter)) == b"x" * LEAST
    assert (started, begun) == (["200 OK"], [0])


def test_what_is_written_is_compressed_too():
    def application(environ, start_response):
        headers = [("Content-Type", HTML), ("Content-Length", str(2 * len(TEXT)))]
        start_response("200 OK", headers)(TEXT)
        return [TEXT]

    assert gzip.decompress(ask(application).body) == 2 * TEXT


def test_an_error_replaces_a_text_that_is_not_sent_yet():
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", HTML), ("Content-Length", str(len(TEXT)))])
        yield TEXT[:10]
        try:
            raise ValueError
        except ValueError as error:
            exc_info = type(error), error, None
            start_response("500 Failed", [("Content-Type", "text/plain")], exc_info)
            yield b"Failed"

    answer = ask(application)
    assert (answer.status, answer.body) == ("500 Failed", b"Failed")


def test_an_error_after_the_start_reaches_the_server():
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield b"Begun"
        start_response("500 Failed", [("Content-Type", HTML), ("Content-Length", "1000")], "error")

    calls = []
    environ = {"REQUEST_METHOD": "GET", "HTTP_ACCEPT_ENCODING": "gzip"}
    list(compressed(application)(environ, lambda *arguments: calls.append(arguments[2])))
    assert calls == [None, "error"]
