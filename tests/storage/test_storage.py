"""The account database: connections, forks, pools, and which of several is meant."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from io import BytesIO
from wsgiref.util import FileWrapper

import peewee
import pytest
from playhouse.pool import PooledDatabase
from webtest import TestApp

from tests.conftest import SERVERS, empty_tables, require
from tests.storage.conftest import HASH, SQLITE, in_another_thread, run_python
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, permission_required, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage import context

# Connections


@SQLITE
@pytest.mark.promise(24)
def test_opening_leaves_no_connection_open(scheme, tmp_path, open_database):
    opened = open_database(f"{scheme}:///{tmp_path}/accounts.db")
    assert opened.is_closed()
    assert [path.name for path in tmp_path.iterdir()] == ["accounts.db"]  # the last one removes WAL


@pytest.mark.promise(24)
def test_a_thread_has_one_connection_to_itself(tmp_path, open_database):
    opened = open_database(f"sqlite:///{tmp_path}/accounts.db")
    own = opened.connection()
    assert opened.connection() is own
    assert in_another_thread(lambda: opened.connection() is not own)


def test_a_connection_stays_open_between_requests(client, ada, bearer, database):
    client.get("/auth/me", headers=bearer(ada))
    own = database.connection()
    client.get("/", headers=bearer(ada))
    assert database.connection() is own


def test_a_connection_in_a_transaction_is_left_to_it(database):
    with database.atomic():
        storage.discard_connection(database)
        User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    assert User.objects.count() == 1


def test_a_relative_file_stays_where_it_was_when_the_process_moves(
    tmp_path, monkeypatch, open_database
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    open_database("sqlite:///accounts.db")
    monkeypatch.chdir(elsewhere)
    assert User.objects.count() == 0


# Forks


BACKEND = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}

FORK = """
import os, sys
from wsgiauth import User, storage
opened = storage.open_database(os.environ["DATABASE_URL"])
backend = lambda: opened.execute_sql(os.environ["BACKEND"]).fetchone()
User.objects.create(username="Ada", email="ada@example.org", hashed_password=os.environ["HASH"])
parents = backend()
storage.release_connection(opened)
child = os.fork()
if not child:
    assert opened.is_closed()
    assert backend() != parents
    assert User.objects.count() == 1
    sys.exit()
assert os.waitpid(child, 0) == (child, 0)
assert backend() == parents
assert User.objects.count() == 1
"""


def test_a_forked_worker_leaves_the_connection_to_its_parent(server, server_urls, tmp_path):
    kind = "postgresql" if isinstance(server, peewee.PostgresqlDatabase) else "mariadb"
    pooling = "+pool" if isinstance(server, PooledDatabase) else ""
    url = server_urls(kind).replace(":", f"{pooling}:", 1)
    run_python(FORK, tmp_path, DATABASE_URL=url, BACKEND=BACKEND[kind], HASH=HASH)
    assert User.objects.count() == 1


FORK_WITH_A_FILE = """
import os, sqlite3, sys
from wsgiauth import User, storage
opened = storage.open_database(os.environ["DATABASE_URL"])
User.objects.create(username="Ada", email="ada@example.org", hashed_password=os.environ["HASH"])
storage.release_connection(opened)
is_ready, make_ready = os.pipe()
may_end, let_end = os.pipe()
child = os.fork()
if not child:
    os.close(let_end)
    ada = User.objects.get(username="Ada")
    os.write(make_ready, b".")
    os.read(may_end, 1)
    ada.grant("reports.publish")
    sys.exit()
os.read(is_ready, 1)
(opened.close_all if hasattr(opened, "close_all") else opened.close)()
outsider = sqlite3.connect(opened.database, timeout=0)
try:
    outsider.execute("PRAGMA journal_mode = DELETE")
except sqlite3.OperationalError as error:
    print(error)
outsider.close()
os.close(let_end)
assert os.waitpid(child, 0) == (child, 0)
print(*User.objects.get(username="Ada").permissions)
"""


@SQLITE
@pytest.mark.promise(27)
@pytest.mark.slow
def test_a_forked_worker_has_locks_of_its_own(scheme, tmp_path):
    url = f"{scheme}:///{tmp_path}/accounts.db"
    told = run_python(FORK_WITH_A_FILE, tmp_path, DATABASE_URL=url, HASH=HASH)
    assert told == "database is locked\nreports.publish\n"


FORK_IN_A_TRANSACTION = """
import os, sys
from wsgiauth import User, storage
opened = storage.open_database(os.environ["DATABASE_URL"])
with opened.atomic():
    User.objects.create(username="Ada", email="ada@example.org", hashed_password=os.environ["HASH"])
    child = os.fork()
    if not child:
        assert User.objects.count() == 0
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
print(User.objects.count())
"""


@SQLITE
@pytest.mark.promise(27)
@pytest.mark.slow
def test_a_fork_in_a_transaction_leaves_it_to_the_parent(scheme, tmp_path):
    url = f"{scheme}:///{tmp_path}/accounts.db"
    assert run_python(FORK_IN_A_TRANSACTION, tmp_path, DATABASE_URL=url, HASH=HASH) == "1\n"


PATCHED_TOO_LATE = """
import os
from gevent import monkey
from wsgiauth import storage
opened = storage.open_database(os.environ["DATABASE_URL"])
monkey.patch_thread()
try:
    opened.connect()
except storage.DATABASE_ERRORS as error:
    print(error)
"""


@pytest.mark.every_database
@pytest.mark.promise(22)
@pytest.mark.slow
def test_a_connection_that_greenlets_would_share_is_refused(database_url, tmp_path):
    require("gevent")
    told = run_python(PATCHED_TOO_LATE, tmp_path, DATABASE_URL=database_url)
    assert told.startswith("greenlets would share one connection")


# Pools


def count_elsewhere(environ, start_response):
    """Answer with the number of users, asked for on another connection."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d" % in_another_thread(User.objects.count)]


def count_while_it_is_sent(environ, start_response):
    """Answer with the number of users, asked for when the answer is sent."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return (b"%d" % User.objects.count() for _ in range(2))


@pytest.fixture(params=["sqlite", *SERVERS])
def pooled_url(request, tmp_path, server_urls):
    """Return the URL of a database whose pool has one connection."""
    if request.param == "sqlite":
        return f"sqlite+pool:///{tmp_path}/accounts.db?max_connections=1&timeout=1"
    url = server_urls(request.param).replace(":", "+pool:", 1)
    return f"{url}{'&' if '?' in url else '?'}max_connections=1"


@pytest.fixture
def ask_as_ada(pooled_url):
    """Return a function that visits a page of a site with that database."""
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=pooled_url)
    tokens = Tokens(settings)
    guarded = permission_required("reports.publish")(count_elsewhere)
    views = {"/": count_elsewhere, "/reports": guarded, "/stream": count_while_it_is_sent}
    site = AuthMiddleware(
        lambda environ, start_response: views[environ["PATH_INFO"]](environ, start_response),
        settings,
    )
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    ada.grant("reports.publish")

    def ask(path, *, ended):
        token = sessions.start(ada, tokens).token
        if ended:
            sessions.revoke_all(ada)
        storage.release_connection(storage.current())
        headers = {"Authorization": f"Bearer {token}"}
        return TestApp(site).get(path, headers=headers, status="*")

    yield ask
    empty_tables()
    storage.current().close_all()


@pytest.mark.promise(24)
@pytest.mark.parametrize(
    ("path", "ended"),
    [
        pytest.param("/", False, id="a page"),
        pytest.param("/", True, id="a page, with the token of a login that was ended"),
        pytest.param("/reports", False, id="a page that is guarded"),
    ],
)
def test_no_pooled_connection_is_kept_while_the_application_runs(ask_as_ada, path, ended):
    assert ask_as_ada(path, ended=ended).text == "1"


@pytest.mark.promise(24)
@pytest.mark.parametrize("ended", [False, True], ids=["valid token", "token of an ended login"])
def test_a_pooled_connection_is_given_back_with_the_answer(ask_as_ada, ended):
    ask_as_ada("/auth/me", ended=ended)
    assert in_another_thread(User.objects.count) == 1


@pytest.mark.promise(24)
def test_a_pooled_connection_is_given_back_after_a_stream(ask_as_ada):
    assert ask_as_ada("/stream", ended=False).text == "11"
    assert in_another_thread(User.objects.count) == 1


@pytest.mark.promise(21)
def test_a_stream_over_a_pool_is_the_applications_own(pooled_url):
    closed = []

    class Answer:
        def __iter__(self):
            return iter([b"a", b"b"])

        def close(self):
            closed.append(self)

    answers = [Answer(), iter([b"a", b"b"]), [b"a", b"b"], FileWrapper(BytesIO(b"ab"))]
    remaining = iter(answers)

    def view(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return next(remaining)

    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=pooled_url)
    site = AuthMiddleware(view, settings)
    client = TestApp(site, {"wsgi.file_wrapper": FileWrapper})
    assert [client.get("/").text for _ in answers] == ["ab"] * 4
    assert closed == answers[:1]
    remaining = iter(answers)
    environ = {"wsgi.file_wrapper": FileWrapper}
    returned = [site(dict(environ), lambda *_: None) for _ in answers]
    assert returned[2:] == answers[2:]
    storage.current().close_all()


def test_a_pooled_connection_that_is_in_use_is_waited_for(pooled_url, open_database):
    opened = open_database(pooled_url)
    User.objects.count()
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(in_another_thread, User.objects.count)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.05)
        opened.close()
        assert waiting.result() == 0


# Questions that are left unfinished


@pytest.mark.promise(5)
@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pool"])
def test_a_question_that_is_left_unfinished_does_not_hold_up_the_present(scheme, tmp_path):
    url = f"{scheme}:///{tmp_path}/accounts.db"
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    client = TestApp(AuthMiddleware(echo, settings))
    for number in range(3):
        User.create(username=f"u{number}", email=f"{number}@example.org", hashed_password=HASH)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    account = {"username": USERNAME, "password": PASSWORD}
    token = client.post_json("/auth/login", account).json["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    rows = User.select().iterator()
    next(rows)
    with closing(sqlite3.connect(tmp_path / "accounts.db")) as elsewhere, elsewhere:
        elsewhere.execute("DELETE FROM wsgiauth_session")
    assert client.get("/", headers=headers).json["user"] is None
    client.post_json("/auth/login", account, status=200)
    assert len(list(rows)) == 3
    storage.discard_connection(storage.current())


# Which database?


@pytest.fixture
def make_site(tmp_path):
    """Return a function that wraps an application, with a database of its own."""
    opened = []

    def make(app=echo):
        url = f"sqlite:///{tmp_path}/{len(opened)}.db"
        site = AuthMiddleware(
            app, Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
        )
        opened.append(storage.current())
        return TestApp(site)

    yield make
    for each in opened:
        storage.discard_connection(each)


ACCOUNT = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}


def test_two_sites_in_one_process_are_kept_apart(make_site):
    one, other = make_site(), make_site()
    one.post_json("/auth/register", ACCOUNT, status=201)
    other.post_json("/auth/login", ACCOUNT, status=401)
    one.post_json("/auth/login", ACCOUNT, status=200)
    other.post_json("/auth/register", ACCOUNT, status=201)


def test_a_view_that_asks_another_site_keeps_its_own_database(make_site):
    other = make_site()

    def view(environ, start_response):
        other.get("/auth/me", status=401)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"%d" % User.objects.count()]

    one = make_site(view)
    one.post_json("/auth/register", ACCOUNT)
    assert one.get("/").text == "1"


def test_a_streamed_answer_keeps_the_database_of_its_site(make_site):
    def view(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return (b"%d" % User.objects.count() for _ in range(2))

    one, other = make_site(view), make_site()
    other.post_json("/auth/register", ACCOUNT)
    assert one.get("/").text == "00"


def test_a_user_speaks_to_the_database_they_were_read_from(tmp_path, open_database):
    first = open_database(f"sqlite:///{tmp_path}/first.db")
    ada = User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    open_database(f"sqlite:///{tmp_path}/last.db")
    ada.grant("reports.publish", "reports.read")
    ada.revoke("reports.read")
    ada.is_staff = True
    ada.save()
    assert User.objects.count() == 0
    assert ada.has_permission("reports.publish")
    context.use(first)
    assert User.objects.get(is_staff=True).permissions == {"reports.publish"}


def test_outside_a_request_the_database_opened_last_is_meant(tmp_path, open_database):
    open_database(f"sqlite:///{tmp_path}/first.db")
    last = open_database(f"sqlite:///{tmp_path}/last.db")
    assert storage.current() is last
    assert in_another_thread(storage.current) is last


def test_a_thread_keeps_the_database_of_its_site_in_the_context_of_a_request(make_site):
    def view(environ, start_response):
        with ThreadPoolExecutor(1) as thread:
            found.append(thread.submit(copy_context().run, storage.current).result())
        return echo(environ, start_response)

    found = []
    sites = make_site(view), make_site(view)
    for site in sites:
        site.get("/")
    assert found == [site.app.database for site in sites]


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        pytest.param({"DATABASE_URL": "sqlite:///chosen.db"}, "chosen.db", id="DATABASE_URL"),
        pytest.param({"DATABASE_URL": ""}, "wsgiauth.db", id="none"),
    ],
)
@pytest.mark.slow
def test_a_script_that_opens_nothing_uses_the_environment(environ, file, tmp_path):
    program = f"""
from wsgiauth import User
User.objects.create(username="Ada", email="ada@example.org", hashed_password={HASH!r})
print(User.objects.count())
"""
    assert run_python(program, tmp_path, **environ) == "1\n"
    assert [path.name for path in tmp_path.iterdir()] == [file]


# Lost connections


@pytest.fixture
def lose_connection(server, server_urls):
    """Return a function that makes the server end this thread's connection."""
    is_postgresql = isinstance(server, peewee.PostgresqlDatabase)

    def lose():
        connection = "pg_backend_pid" if is_postgresql else "connection_id"
        (number,) = server.execute_sql(f"SELECT {connection}()").fetchone()
        in_another_thread(lambda: end(number))

    def end(number):
        context.use(server)
        if is_postgresql:
            server.execute_sql("SELECT pg_terminate_backend(%s, 5000)", (number,))
            return
        server.execute_sql("KILL %s", (number,))
        alive = "SELECT 1 FROM information_schema.processlist WHERE id = %s"
        while server.execute_sql(alive, (number,)).fetchone():
            pass

    return lose


def test_a_query_survives_the_loss_of_the_connection(server, lose_connection):
    lose_connection()
    assert User.objects.count() == 0


def test_a_transaction_survives_the_loss_of_the_connection_before_it(server, lose_connection):
    lose_connection()
    User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
    assert User.objects.count() == 1


def test_a_transaction_does_not_go_on_without_its_beginning(server, lose_connection):
    def register_and_count():
        with server.atomic():
            User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)
            lose_connection()
            User.objects.count()

    with pytest.raises(storage.DATABASE_ERRORS):
        register_and_count()
    assert User.objects.count() == 0


def test_a_lone_write_is_not_repeated(server, lose_connection):
    lose_connection()
    with pytest.raises(storage.DATABASE_ERRORS):
        User.update(is_active=False).execute()
    assert User.objects.count() == 0
