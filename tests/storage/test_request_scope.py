"""The context of a request, while its response is streamed."""

import contextvars
import io
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from wsgiref.util import FileWrapper
from wsgiref.validate import validator

import pytest
from webtest import TestApp

from tests.conftest import require
from tests.support.sites import USERNAME, serving
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, User, login_required, storage
from wsgiauth.events.models import RecordedEvent
from wsgiauth.storage import context
from wsgiauth.testing import make_settings, make_user

PLAIN = [("Content-Type", "text/plain")]
ADDRESS = "192.0.2.1"


def granting():
    """Change the user in the body of a response, one permission for each chunk."""
    for permission in ("a.b", "a.c"):
        User.objects.get(username=USERNAME).grant(permission)
        yield b"%d" % (storage.current() is context.database())


def a_generator(environ, start_response):
    start_response("200 OK", PLAIN)
    yield from granting()


def an_iterable(environ, start_response):
    class Answer:
        def __iter__(self):
            self.chunks = granting()
            yield next(self.chunks)

        def close(self):
            next(self.chunks)

    start_response("200 OK", PLAIN)
    return Answer()


def by_flask():
    require("flask")
    from flask import Flask, stream_with_context

    app = Flask(__name__)
    app.add_url_rule("/", view_func=lambda: stream_with_context(granting()))
    return app


def trail():
    """Return who granted what from where."""
    rows = RecordedEvent.select().where(RecordedEvent.name == "rights_changed")
    return [(each.actor, each.address) for each in rows.order_by(RecordedEvent.id)]


@pytest.fixture(
    params=[
        pytest.param(lambda: a_generator, id="generator"),
        pytest.param(lambda: an_iterable, id="iterable whose close works"),
        pytest.param(lambda: login_required(a_generator), id="guarded view"),
        pytest.param(by_flask, id="stream_with_context"),
    ]
)
def site(request, settings):
    made = AuthMiddleware(request.param(), settings)
    yield made
    storage.discard_connection(made.database)


@pytest.mark.promise(51)
def test_what_a_streamed_response_changes_has_its_actor_and_address(site, ada, bearer):
    client = TestApp(validator(site))
    client.get("/", headers=bearer(ada), extra_environ={"REMOTE_ADDR": ADDRESS})
    assert trail() == [(f"user {ada.id}", ADDRESS)] * 2


@pytest.mark.promise(51)
def test_so_it_has_when_a_server_sends_it(site, ada, bearer):
    with serving(site) as address:
        request = urllib.request.Request(address, headers=bearer(ada))
        assert set(urllib.request.urlopen(request).read()) <= set(b"1")
        context.use(site.database)
        assert trail() == [(f"user {ada.id}", "127.0.0.1")] * 2


# In which context


@pytest.fixture
def make_site():
    """Return a function that wraps an application, with users of these names."""
    opened = []

    def make(app, *usernames, mount="/auth"):
        site = AuthMiddleware(app, make_settings(), mount=mount)
        opened.append(site.database)
        for username in usernames:
            make_user(site, username)
        return site

    yield make
    for database in opened:
        storage.discard_connection(database)


class Noting:
    """A streamed response that notes the context in which its methods run."""

    def __init__(self):
        self.seen = []

    def __call__(self, environ, start_response):
        start_response("200 OK", PLAIN)
        return self

    def __iter__(self):
        self.note()
        return self

    def __next__(self):
        self.note()
        return b"chunk"

    def close(self):
        self.note()

    def note(self):
        self.seen.append((context.database(), context.client_address()))


def begin(site, address):
    """Return the response of a site, of which nothing has been read."""
    return site({"REMOTE_ADDR": address, "REQUEST_METHOD": "GET"}, lambda *_: None)


def test_two_streamed_responses_in_turn_have_each_their_own_request(make_site):
    notes = Noting(), Noting()
    sites = [make_site(each) for each in notes]
    answers = [begin(each, f"192.0.2.{number}") for number, each in enumerate(sites)]
    chunks = [iter(each) for each in answers]
    before = context.database(), context.client_address()
    for _ in range(2):
        assert [next(each) for each in chunks] == [b"chunk"] * 2
        assert (context.database(), context.client_address()) == before
    for each in answers:
        each.close()
    for number, (noted, site) in enumerate(zip(notes, sites, strict=True)):
        assert noted.seen == [(site.database, f"192.0.2.{number}")] * 4
    assert (context.database(), context.client_address()) == before


def test_another_thread_can_ask_for_the_chunks(make_site):
    noted = Noting()
    site = make_site(noted)
    chunks = iter(begin(site, ADDRESS))

    def read():
        next(chunks)
        chunks.close()
        noted.seen.append(context.client_address())

    thread = threading.Thread(target=contextvars.Context().run, args=(read,))
    thread.start()
    thread.join()
    assert noted.seen == [(site.database, ADDRESS)] * 3 + [None]


def test_a_streamed_response_within_another_one_has_the_database_of_its_own_site(make_site):
    def count(environ, start_response):
        start_response("200 OK", PLAIN)
        yield b"%d" % User.objects.count()

    inner = make_site(count, "ada", "grace", mount="/inner")
    outer = make_site(inner, "mary")
    assert TestApp(outer).get("/").text == "2"


def test_an_error_in_a_streamed_response_leaves_the_request(make_site):
    def fail(environ, start_response):
        start_response("200 OK", PLAIN)
        yield b"begun"
        raise LookupError

    with pytest.raises(LookupError):
        list(begin(make_site(fail), ADDRESS))
    assert context.client_address() is None


# With a pool


@pytest.fixture
def make_pooled(database_url):
    """Return a function that wraps an application, with a pool of one connection."""
    opened = []

    def make(app):
        url = database_url.replace(":", "+pool:", 1)
        parameters = f"{'&' if '?' in url else '?'}max_connections=1&timeout=1"
        site = AuthMiddleware(app, make_settings(DATABASE_URL=url + parameters))
        opened.append(site.database)
        for username in ("ada", "grace"):
            make_user(site, username)
        storage.release_connection(site.database)
        return site

    yield make
    for database in opened:
        database.close_all()


@pytest.mark.promise(24)
@pytest.mark.every_database
def test_a_stream_that_is_half_read_holds_no_pooled_connection(make_pooled):
    def names(environ, start_response):
        start_response("200 OK", PLAIN)
        for user in User.select().order_by(User.id):
            yield b"%s %d " % (user.username.encode(), User.objects.count())

    site = make_pooled(names)
    answer = begin(site, ADDRESS)
    chunks = iter(answer)
    assert next(chunks) == b"ada 2 "
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: TestApp(site).get("/").text).result() == "ada 2 grace 2 "
    assert list(chunks) == [b"grace 2 "]
    answer.close()


@pytest.mark.every_database
def test_a_transaction_of_a_stream_lasts_over_its_chunks(make_pooled):
    def change(environ, start_response):
        start_response("200 OK", PLAIN)
        with storage.current().atomic() as transaction:
            User.delete().execute()
            yield b"changed"
            transaction.rollback()
            yield b"%d" % User.objects.count()

    assert TestApp(make_pooled(change)).get("/").text == "changed2"


# What runs no code while it is sent


@pytest.mark.promise(21)
@row_by_row(
    ("answer", "file_wrapper"),
    [
        pytest.param([b"a"], None, id="list"),
        pytest.param((b"a",), None, id="tuple"),
        pytest.param(FileWrapper(io.BytesIO(b"a")), FileWrapper, id="file wrapper"),
        pytest.param(io.BytesIO(b"a"), lambda file: file, id="file, as uWSGI's wrapper returns it"),
    ],
)
def test_a_list_and_a_file_are_handed_to_the_server_as_they_are(make_site, answer, file_wrapper):
    site = make_site(lambda *_: answer)
    assert site({"wsgi.file_wrapper": file_wrapper}, lambda *_: None) is answer
