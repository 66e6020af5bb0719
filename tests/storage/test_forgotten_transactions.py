"""Transactions that a view begins and does not end."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from webtest import TestApp

from tests.conftest import empty_tables
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage import context

WARNING = (
    "A request left a transaction open on the account database; it was rolled back. Begin"
    " transactions with `with database.atomic():`, which ends them."
)
BEGINNINGS = {
    "Peewee's begin": lambda database: database.begin(),
    "atomic without an end": lambda database: database.atomic().__enter__(),
    "SQL by Peewee": lambda database: database.execute_sql("BEGIN"),
    "SQL by the driver": lambda database: database.connection().cursor().execute("BEGIN"),
}


class Site:
    """A site whose view, `view(database, environ)`, may be changed; Ada is logged in."""

    def __init__(self, url):
        settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
        self.middleware = AuthMiddleware(self._answer, settings)
        self.database = self.middleware.database
        self.ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
        token = sessions.start(self.ada, Tokens(settings)).token
        storage.release_connection(self.database)
        self.headers = {"Authorization": f"Bearer {token}"}
        self.view = None

    def _answer(self, environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        user = environ["wsgiauth.user"]
        answer = self.view and self.view(self.database, environ)
        return answer or [b"nobody" if user is None else user.username.encode()]

    def ask(self, view=None, **headers):
        """Return what is answered to Ada, or to a client with other headers."""
        self.view = view
        return TestApp(self.middleware).get("/", headers=headers or self.headers).text

    def elsewhere(self, action):
        """Return what `action` returns in another thread, with a connection of its own."""

        def act():
            context.use(self.database)
            try:
                return action()
            finally:
                storage.discard_connection(self.database)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(act).result()


def make_ada_staff():
    User.update(is_staff=True).execute()


def is_ada_staff():
    return User.objects.filter(is_staff=True).exists()


@pytest.fixture(params=["", "+pool"], ids=["kept", "pooled"])
def site(request, database_url):
    """Return a site."""
    site = Site(database_url.replace(":", f"{request.param}:", 1))
    yield site
    context.use(site.database)
    empty_tables()
    storage.discard_connection(site.database)
    if hasattr(site.database, "close_all"):
        site.database.close_all()


@pytest.fixture
def warnings(caplog):
    """Return a function that returns what was logged since the start."""
    caplog.set_level("WARNING", "wsgiauth")
    return lambda: [each for each in caplog.messages if "BCRYPT_ROUNDS" not in each]


@pytest.mark.every_database
@pytest.mark.promise(5)
@pytest.mark.promise(24)
@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_forgotten_transaction_hides_no_logout_and_blocks_no_writer(site, warnings, begin):
    def view(database, environ):
        begin(database)
        User.objects.count()

    assert site.ask(view) == USERNAME
    assert warnings() == [WARNING]
    assert site.elsewhere(lambda: sessions.revoke_all(site.ada)) == 1
    assert site.ask() == "nobody"


@pytest.mark.every_database
def test_what_a_forgotten_transaction_wrote_is_rolled_back(site, warnings):
    def view(database, environ):
        database.begin()
        make_ada_staff()
        raise LookupError

    with pytest.raises(LookupError):
        site.ask(view)
    assert warnings() == [WARNING]
    assert not site.elsewhere(is_ada_staff)


@pytest.mark.every_database
def test_a_transaction_that_is_ended_is_committed(site, warnings):
    def view(database, environ):
        with database.atomic():
            make_ada_staff()

    site.ask(view)
    assert warnings() == []
    assert site.elsewhere(is_ada_staff)


@pytest.mark.every_database
def test_a_transaction_around_a_request_goes_on(site, warnings):
    with site.database.atomic() as transaction:
        make_ada_staff()
        assert site.ask(lambda database, environ: [b"%d" % User.objects.count()]) == "1"
        assert is_ada_staff()
        transaction.rollback()
    assert warnings() == []
    assert not is_ada_staff()


def test_a_transaction_around_a_streamed_request_goes_on(site, warnings):
    with site.database.atomic():
        make_ada_staff()
        assert site.ask(lambda *_: iter([b"streamed"]), Accept="*/*") == "streamed"
        assert site.database.in_transaction()
    assert warnings() == []
    assert is_ada_staff()


def test_a_request_within_a_request_leaves_the_outer_transaction_alone(site, warnings):
    def view(database, environ):
        with database.atomic():
            make_ada_staff()
            site.view = lambda database, environ: [b"%d" % User.objects.count()]
            return list(site.middleware(dict(environ), lambda *_: None))

    assert site.ask(view) == "1"
    assert warnings() == []
    assert site.elsewhere(is_ada_staff)


@pytest.mark.every_database
@pytest.mark.parametrize("forgets", [False, True])
def test_a_transaction_may_last_as_long_as_the_answer_is_streamed(site, warnings, forgets):
    def view(database, environ):
        database.begin()
        make_ada_staff()
        return stream(database)

    def stream(database):
        yield b"written"
        if not forgets:
            database.commit()

    assert site.ask(view) == "written"
    assert warnings() == [WARNING] * forgets
    assert site.elsewhere(is_ada_staff) != forgets


@pytest.mark.every_database
@pytest.mark.parametrize("site", ["+pool"], indirect=True)
def test_a_pool_gets_back_the_connection_of_a_stream_that_forgets_a_transaction(site, warnings):
    def stream(database, environ):
        database.begin()
        yield b"%d" % User.objects.count()

    assert site.ask(stream) == "1"
    assert warnings() == [WARNING]
    assert site.database.is_closed()


@pytest.mark.every_database
@pytest.mark.promise(5)
@row_by_row(
    "begin", [BEGINNINGS["Peewee's begin"], BEGINNINGS["SQL by Peewee"]], ids=["begin", "SQL"]
)
def test_what_a_streamed_answer_began_ends_with_the_next_request(site, begin):
    def view(database, environ):
        begin(database)
        User.objects.count()
        yield b"streamed"

    site.view = view
    chunks = iter(site.middleware({}, lambda *_: None))
    assert next(chunks) == b"streamed"
    site.elsewhere(lambda: sessions.revoke_all(site.ada) if not is_sqlite(site) else None)
    seen = site.ask()
    assert not site.database.has_open_transaction()
    assert seen == ("Ada" if is_sqlite(site) else "nobody")
    chunks.close()


@pytest.mark.every_database
def test_what_a_streamed_answer_began_ends_when_it_is_closed(site, warnings):
    def view(database, environ):
        database.begin()
        make_ada_staff()
        yield b"streamed"

    assert site.ask(view) == "streamed"
    assert not site.database.has_open_transaction()
    assert warnings() == [WARNING]
    assert not site.elsewhere(is_ada_staff)


def is_sqlite(site):
    return site.database.__class__.__module__.endswith("sqlite")


@pytest.mark.every_database
def test_a_transaction_around_a_request_survives_threads_that_share_its_context(site):
    def view(database, environ):
        with ThreadPoolExecutor(1) as thread:
            thread.submit(copy_context().run, in_a_thread).result()

    def in_a_thread():
        User.objects.count()
        storage.discard_connection(site.database)

    with site.database.atomic():
        make_ada_staff()
        site.ask(view, Accept="*/*")
        assert site.database.in_transaction()
    assert is_ada_staff()
