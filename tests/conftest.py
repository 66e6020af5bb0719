"""Fixtures: a database, settings for it, a wrapped application, and people with accounts."""

import gc
import os
import shutil
import signal
import socket
import sys
import threading
from collections import Counter
from functools import cache, partial
from importlib.util import find_spec
from itertools import chain
from multiprocessing.util import get_temp_dir
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import bcrypt
import peewee
import pytest
from playhouse import db_url
from webtest import TestApp

from tests.support import targets
from tests.support.coverage import TracedTests, trace_less
from tests.support.database_servers import SERVERS
from tests.support.leftovers import (
    MEMORY,
    cleaned_up_if_killed,
    drop_leftovers,
    end_with_tests,
    own_name,
    remove_leftovers,
)
from tests.support.page_forms import add_accounts
from tests.support.processes import eight_processes
from tests.support.quick_starts import quicken_starts
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, hash_password, storage
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.mail import worker
from wsgiauth.storage.schema import migrate
from wsgiauth.throttling.throttle import Throttle

pytest_plugins = ("pytester", "tests.support.workers")

end_with_tests()  # also workers, and the server that forks for the tests, which import this

add_accounts()
quicken_starts()

gc.set_threshold(50_000)  # objects: one request makes more than the usual 700

if sys.gettrace() is not None:  # coverage is measured
    trace_less()

# Begun in the background by a shell, the tests and the programs that they run would ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HASH = "$2b$04$/iia7kV1vLTIpNQ3P/W99OrZR1wXHo5Ij1l7BdPbLwjQLL3WDrYqy"  # of an unknown password
HASH_OF_PASSWORD = hash_password(PASSWORD, rounds=4)


# Files with so many tests run first, so that none runs alone at the end.
MANY = 75
LEFT_OUT = {
    "test": "Left to `make check`: slow tests, and those of documentation and languages. Left to"
    " `make programs`, `make browsers` and `make databases`: everything that needs more than"
    " Python and SQLite.",
    "check": "Left to `make programs`, `make browsers` and `make databases`: everything that needs"
    " more than Python and SQLite.",
}


def pytest_addoption(parser):
    """Add the option of the Makefile's targets."""
    parser.addoption(
        "--target",
        choices=targets.TARGETS,
        help="run the tests of `make TARGET` only; without it, those of `make check`, and the files"
        " of other targets that the command names",
    )


def target_for(config, path):
    """Return the target that decides about a file or folder; None runs everything."""
    if config.option.target:
        return config.option.target
    start = config.invocation_params.dir
    return targets.target_for(path, [start / each.partition("::")[0] for each in config.args])


def pytest_configure(config):
    """Remember what bcrypt compares, and load the plugin of coverage while that is measured."""
    bcrypt.checkpw = cache(bcrypt.checkpw)  # nine of ten times, a test compares the same as another
    if sys.gettrace() is not None:
        config.pluginmanager.register(TracedTests())


def pytest_ignore_collect(collection_path, config):
    """Do not even import the files of other targets."""
    return None if targets.has_file(target_for(config, collection_path), collection_path) else True


def pytest_terminal_summary(terminalreporter, config):
    """Say what a target leaves out."""
    target = target_for(config, targets.TESTS)
    if target in LEFT_OUT:
        terminalreporter.write_line(LEFT_OUT[target])


@pytest.hookimpl(trylast=True)  # after the order has been made random
def pytest_collection_modifyitems(config, items):
    """Begin with the files that take longest, and leave out the tests of other targets."""
    chosen = [item for item in items if targets.has_test(target_for(config, item.path), item)]
    config.hook.pytest_deselected(items=[*set(items) - set(chosen)])
    tests = Counter(item.path for item in chosen)
    chosen.sort(key=lambda item: (targets.part_of(item.path) is None, tests[item.path] < MANY))
    items[:] = chosen


def pytest_collection_finish():
    """Let no search for garbage look through the tests, which take most of the memory."""
    # pytest looks at each name of a module: `wsgiauth.storage.database` opens the default one then.
    assert storage.current_or_none() is None, "a module of tests opens a database"
    gc.freeze()


def pytest_generate_tests(metafunc):
    """Run tests marked `every_database` on those of the target, and the others on SQLite."""
    if "database_url" in metafunc.fixturenames:
        is_marked = metafunc.definition.get_closest_marker("every_database")
        target = target_for(metafunc.config, metafunc.definition.path) if is_marked else "test"
        kinds = targets.database_kinds(target, metafunc.fixturenames)
        metafunc.parametrize("database_url", kinds, indirect=True)


def skip_or_fail(reason):
    """Skip on a newcomer's machine; in CI, where nothing may be missing, fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def require(*packages):
    """Skip or fail unless these packages are installed."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        skip_or_fail(f"{', '.join(missing)} is not installed")


def require_program(name):
    """Skip or fail unless this program is on PATH."""
    if shutil.which(name) is None:
        skip_or_fail(f"{name} is not installed")


@pytest.fixture
def closed_port():
    """Return a port that refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory):
    """Put temporary files, also those of programs, into a folder that does not stay."""
    remove_leftovers()
    # multiprocessing removes its own after the end of the tests, and fails if it is in ours.
    with (
        cleaned_up_if_killed(tmp_path_factory.getbasetemp(), get_temp_dir()),
        TemporaryDirectory(prefix=f"{own_name()}_") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        Path(folder).chmod(0o1777)  # as /tmp: some servers and tests have users of their own
        patch.setenv("TMPDIR", folder)
        patch.setattr("tempfile.tempdir", folder)
        yield


@pytest.fixture(scope="session")
def server_urls():
    """Return the URL of a fresh database on a server, by the server's kind."""
    made = {}

    def url_of(kind):
        if kind not in made:
            made[kind] = _create_database(SERVERS[kind])
        return made[kind]

    yield url_of
    for kind in made:
        _execute(SERVERS[kind], f"DROP DATABASE {own_name()}")


def _create_database(server):
    try:
        drop_leftovers(server)
        _execute(server, f"DROP DATABASE IF EXISTS {own_name()}", f"CREATE DATABASE {own_name()}")
    except (peewee.OperationalError, peewee.ImproperlyConfigured) as error:
        skip_or_fail(f"no database server at {server}: {error}")
    if server.startswith("postgresql"):  # MariaDB knows this only for the whole server
        _execute(server, f"ALTER DATABASE {own_name()} SET synchronous_commit = off")
    url = urlsplit(server)._replace(path=f"/{own_name()}").geturl()
    storage.discard_connection(storage.open_database(url, prepare=migrate))
    return url


def _execute(server, *statements):
    database = db_url.connect(server)
    for statement in statements:
        database.execute_sql(statement)
    database.close()


@pytest.fixture(scope="session")
def empty_server(server_urls):
    """Return a function that empties the database on a server, over a connection that it keeps."""
    kept = {}

    def empty(kind):
        if kind not in kept:
            kept[kind] = db_url.connect(server_urls(kind))
        empty_tables(kept[kind])

    yield empty
    for database in kept.values():
        database.close()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory):
    """Return an SQLite file that has been migrated; to copy it is quicker than to migrate anew."""
    path = tmp_path_factory.mktemp("empty") / "accounts.db"
    storage.discard_connection(storage.open_database(f"sqlite:///{path}"))
    return path


def empty_tables(database=None):
    """Leave nothing in a database, usually the current one, to the tests that share it."""
    # Here, because few tests need the tables of all features.
    from tests.support.schema import emptying

    for statement in emptying():
        (database or storage.current()).execute_sql(statement)


def insert_users(number, start=0, changes=None):
    """Insert users, `user0` and so on, without the rules, without bcrypt, and without Peewee.

    Args:
        number: How many.
        start: The number of the first.
        changes: What is not as usual, of users by their numbers.
    """
    numbers = range(start, start + number)
    changes = changes or {}
    insert_rows(
        {"username": f"User{each}", "email": f"{each}@Example.net", **changes.get(each, {})}
        for each in numbers
    )


def insert_rows(users):
    """Insert users with these fields, whose names are ASCII."""
    fields = {each.name: each for each in User._meta.sorted_fields[1:]}  # without the id
    blank = User(hashed_password=HASH)
    usual = {name: each.db_value(getattr(blank, name)) for name, each in fields.items()}
    rows = []
    for user in users:
        row = usual | {name: fields[name].db_value(value) for name, value in user.items()}
        row["username_key"], row["email_key"] = row["username"].lower(), row["email"].lower()
        rows.append([*row.values()])
    database = storage.current()
    marks = f"({', '.join([database.param] * len(fields))})"
    for first in range(0, len(rows), 1000):  # SQLite takes no more than 32,766 parameters at once
        some = rows[first : first + 1000]
        insert = f"INSERT INTO wsgiauth_user ({', '.join(fields)}) VALUES "  # noqa: S608
        database.execute_sql(insert + ", ".join([marks] * len(some)), [*chain.from_iterable(some)])


def insert_user(username, email):
    """Insert a user with the usual password, without what `create_user` does, and return them."""
    insert_rows([{"username": username, "email": email, "hashed_password": HASH_OF_PASSWORD}])
    return read_user(username)


def read_user(username):
    """Return a user, in a third of the time of `User.get`, for which Peewee writes the SQL."""
    select = f"SELECT * FROM wsgiauth_user WHERE username = {storage.current().param}"  # noqa: S608
    return User.raw(select, username).get()


@pytest.fixture
def database_folder():
    """Return a folder for SQLite files, in memory where possible: each commit waits for a disk."""
    with TemporaryDirectory(prefix=f"{own_name()}_", dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def database_url(request):
    """Return the URL of an empty database: SQLite's, or with `every_database` each in turn."""
    if request.param == "sqlite":
        folder = request.getfixturevalue("database_folder")
        shutil.copy(request.getfixturevalue("empty_file"), folder)
        yield f"sqlite:///{folder}/accounts.db"
        stop_senders()
        storage.discard_connection(storage.current())
        return
    empty = request.getfixturevalue("empty_server")
    yield request.getfixturevalue("server_urls")(request.param)
    stop_senders()
    empty(request.param)


def stop_senders():
    """End the threads that send emails: they would use the next test's, or a deleted folder."""
    for each in list(worker._workers):
        each.stop()


@pytest.fixture
def settings(database_url):
    """Return the settings of a test: a good key, a cheap hash, an empty database."""
    # Of one language, so that most pages have one form.
    return Settings(
        SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=database_url, LANGUAGES=("en",)
    )


@pytest.fixture
def database(settings):
    """Open the database, for tests below HTTP."""
    opened = storage.open_database(settings.DATABASE_URL, prepare=lambda empty: None)
    yield opened
    storage.discard_connection(opened)


@pytest.fixture
def site(settings):
    """Return `echo`, wrapped."""
    middleware = AuthMiddleware(echo, settings)
    yield middleware
    for each in (middleware.database, storage.current()):  # a test can open another one
        storage.discard_connection(each)


@pytest.fixture
def client(site):
    """Return a client of `site` that checks both sides against PEP 3333."""
    return TestApp(site)


@pytest.fixture
def tokens(settings):
    """Return what issues and verifies the tokens of `site`."""
    return Tokens(settings)


@pytest.fixture
def opened(request):
    """Open the database, by the site if the test has one."""
    return request.getfixturevalue("site" if "site" in request.fixturenames else "database")


@pytest.fixture
def ada(opened, settings):
    """Return a user, whose registration is no event."""
    return insert_user(USERNAME, EMAIL)


@pytest.fixture
def grace(opened, settings):
    """Return another user."""
    return insert_user("Grace", "grace@example.org")


@pytest.fixture
def bearer(tokens):
    """Return a function that logs a user in and returns the header of their token."""

    def bearer_of(user):
        return {"Authorization": f"Bearer {sessions.start(user, tokens).token}"}

    return bearer_of


@pytest.fixture
def meanwhile(monkeypatch):
    """Return a function that does something in the middle of the next comparison of a password."""
    compare = bcrypt.checkpw

    def do(action):
        def checkpw(*arguments):
            monkeypatch.setattr(bcrypt, "checkpw", compare)
            action()
            return compare(*arguments)

        monkeypatch.setattr(bcrypt, "checkpw", checkpw)

    return do


@pytest.fixture
def queries(settings):
    """Return a function that returns the SQL of `action`, without BEGIN and COMMIT."""

    def queries_of(action):
        sent = []
        database = storage.current()
        if isinstance(database, peewee.SqliteDatabase):  # with the values in the SQL
            connection = database.connection()
            connection.set_trace_callback(sent.append)
            action()
            connection.set_trace_callback(None)
        else:
            own = threading.get_ident()  # a thread of the site can send other statements meanwhile
            database.query_hooks.append(
                lambda event: sent.append(event.sql) if threading.get_ident() == own else None
            )
            action()
            database.query_hooks.clear()
        return [sql for sql in sent if not sql.startswith(("BEGIN", "COMMIT"))]

    return queries_of


@pytest.fixture(scope="session")
def in_processes():
    """Return a function that calls another in eight processes at the same moment."""
    with eight_processes() as call:
        yield call


@pytest.fixture(scope="module")
def unmeasured():
    """Start processes whose coverage is not measured: tools that do not run wsgiauth from here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield


@pytest.fixture(scope="session")
def chromium():
    """Return the paths of Chromium and its driver."""
    paths = shutil.which("chromium"), shutil.which("chromedriver")
    if None in paths:
        skip_or_fail("chromium and chromedriver are not installed")
    return paths


@pytest.fixture
def unsent(monkeypatch):
    """Start no thread that sends emails or logout tokens: they stay until the test sends them."""
    monkeypatch.setattr("wsgiauth.mail.worker.Worker._start", lambda *_: None)


@pytest.fixture
def provider():
    """Return an OpenID provider, honest until the test changes what it says."""
    # Here, because environments with other frameworks have no package for its keys.
    from tests.support.hostile_provider import Provider

    with Provider() as started:
        yield started


@pytest.fixture
def stopped_throttle(monkeypatch):
    """Stop the clock of the throttle in sites that are made from now on: no wait passes."""
    monkeypatch.setattr("wsgiauth.site.Throttle", partial(Throttle, clock=lambda: 1_800_000_000))
