"""Which database and which client a piece of code is about, within requests and outside."""

import contextvars
import functools
import threading

import peewee
import pytest
from webtest import TestApp

from tests.support.sites import echo
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.storage import context
from wsgiauth.testing import make_settings, make_user

ONE, OTHER = peewee.SqliteDatabase("one"), peewee.SqliteDatabase("other")  # never opened
FROM_ONE, FROM_OTHER = {"REMOTE_ADDR": "192.0.2.1"}, {"REMOTE_ADDR": "2001:db8::2"}


def in_a_new_context(test):
    """Run a test where nothing was opened before, and leave nothing behind for the others."""

    @functools.wraps(test)
    def run(*arguments, **options):
        contextvars.Context().run(test, *arguments, **options)

    return run


def now():
    return context.database(), context.client_address()


@in_a_new_context
def test_a_new_context_has_neither_database_nor_client():
    assert now() == (None, None)


@in_a_new_context
def test_a_request_has_its_sites_database_and_its_clients_address():
    context.use(OTHER)
    entered = context.enter_request((ONE, FROM_ONE, {}))
    assert now() == (ONE, "192.0.2.1")
    context.leave_request(entered)
    assert now() == (OTHER, None)


@in_a_new_context
def test_a_server_that_tells_no_address_is_no_trouble():
    context.enter_request((ONE, {}, {}))
    assert now() == (ONE, None)


@in_a_new_context
def test_a_request_within_a_request_gives_the_outer_one_back():
    outer = context.enter_request((ONE, FROM_ONE, {}))
    inner = context.enter_request((OTHER, FROM_OTHER, {}))
    assert now() == (OTHER, "2001:db8::2")
    context.leave_request(inner)
    assert now() == (ONE, "192.0.2.1")
    context.leave_request(outer)
    assert now() == (None, None)


@in_a_new_context
def test_a_database_is_used_until_another_is():
    assert context.default_database() is None
    for database in (ONE, OTHER):
        context.use(database)
        assert now() == (context.default_database(), None) == (database, None)


@in_a_new_context
def test_opening_a_database_changes_none_of_the_request_at_work():
    context.enter_request((ONE, FROM_ONE, {}))
    context.use(OTHER)
    assert now() == (ONE, "192.0.2.1")
    assert context.default_database() is OTHER


@in_a_new_context
def test_a_database_is_used_for_a_while():
    context.use(ONE)
    with context.using(OTHER):
        assert now() == (OTHER, None)
    assert now() == (ONE, None)


@in_a_new_context
def test_a_while_ends_with_an_exception_as_well():
    context.use(ONE)
    with pytest.raises(LookupError), context.using(OTHER):
        raise LookupError
    assert now() == (ONE, None)


@in_a_new_context
def test_another_database_for_a_while_has_the_same_client():
    context.enter_request((ONE, FROM_ONE, {}))
    with context.using(OTHER):
        assert now() == (OTHER, "192.0.2.1")
        with context.using(None):
            assert now() == (OTHER, "192.0.2.1")
        with context.using(ONE):
            assert now() == (ONE, "192.0.2.1")
        assert now() == (OTHER, "192.0.2.1")
    assert now() == (ONE, "192.0.2.1")


@in_a_new_context
def test_no_database_for_a_while_is_the_one_that_there_was():
    with context.using(None):
        assert now() == (None, None)
        context.use(ONE)
        assert now() == (ONE, None)


@in_a_new_context
def test_a_thread_begins_anew_unless_it_is_handed_the_context():
    context.enter_request((ONE, FROM_ONE, {}))
    seen = []
    for target in (now, functools.partial(contextvars.copy_context().run, now)):
        thread = threading.Thread(target=lambda target=target: seen.append(target()))
        thread.start()
        thread.join()
    assert seen == [(None, None), (ONE, "192.0.2.1")]


# As sites use it.


@pytest.fixture
def make_site():
    """Return a function that wraps an application, with users of these names."""
    opened = []

    def make(app, *usernames):
        site = AuthMiddleware(app, make_settings())
        opened.append(site.database)
        for username in usernames:
            make_user(site, username)
        return TestApp(site)

    yield make
    for database in opened:
        storage.discard_connection(database)


def count(*_):
    yield f"{User.objects.count()} {context.client_address()}".encode()


def streamed(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return count()


def test_a_streamed_answer_of_a_view_that_asked_another_site_keeps_its_own_database(make_site):
    other = make_site(echo, "grace", "mary")

    def ask_and_stream(environ, start_response):
        other.get("/")
        return streamed(environ, start_response)

    one = make_site(ask_and_stream, "ada")
    other.get("/")
    assert one.get("/", extra_environ=FROM_ONE).text == "1 192.0.2.1"


def test_a_site_that_fails_leaves_its_database_but_not_its_client(make_site):
    def fail(environ, start_response):
        raise LookupError

    one, other = make_site(fail, "ada"), make_site(echo)
    other.get("/")
    with pytest.raises(LookupError):
        one.get("/", extra_environ=FROM_ONE)
    assert (User.objects.count(), context.client_address()) == (1, None)
