"""Many at once: processes race for a name or a schema, threads for a user."""

import random
import sqlite3
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from itertools import chain

import pytest
from webtest import TestApp

from tests.conftest import SERVERS, empty_tables
from tests.support.lock_waits import LOCK_WAITS, POLL
from tests.support.logins import find_session, insert_session
from tests.support.processes import PATIENCE, PROCESSES
from tests.support.schema import LAST_BEFORE_1_0, MIGRATIONS, record, take_back_migrations
from tests.support.sites import (
    EMAIL,
    PASSWORD,
    SECRET_KEY,
    USERNAME,
    echo,
    serving,
    spawned,
)
from tests.support.timing import shortest
from wsgiauth import AuthMiddleware, Settings, change_password, storage
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import authenticate, sessions
from wsgiauth.authentication.lifetimes import Lifetime
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.exceptions import LastSuperuserError
from wsgiauth.storage import schema
from wsgiauth.storage.connections import BUSY_TIMEOUT
from wsgiauth.storage.upkeep import purge_expired

START = 2_000_000_000  # seconds since the epoch
THREADS = 4

CONNECTIONS = {
    "postgresql": """SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend'""",
    "mariadb": "SELECT count(*) FROM information_schema.processlist WHERE db = database()",
}
LOCK_SESSIONS = {
    "postgresql": ("BEGIN; LOCK TABLE wsgiauth_session IN SHARE MODE", "ROLLBACK"),
    "mariadb": ("LOCK TABLES wsgiauth_session READ", "UNLOCK TABLES"),
}
WAIT_FOR_NO_LOCK = {
    "postgresql": "SET lock_timeout = '50ms'",
    "mariadb": "SET innodb_lock_wait_timeout = 0",
}


def settings_of(url, rounds=4):
    return Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=rounds, DATABASE_URL=url)


SETTINGS = settings_of("sqlite:///unused.db")


# Processes


def register(url):
    # The cost leaves all of them time to ask whether the name is taken before one has it.
    client = TestApp(AuthMiddleware(echo, settings_of(url, rounds=9)))
    account = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
    return client.post_json("/auth/register", account, status="*").status_int


def open_site(url):
    return TestApp(AuthMiddleware(echo, settings_of(url))).get("/auth/me", status="*").status_int


def migrate(url):
    return schema.migrate(storage.open_database(url, prepare=lambda _: None))


@pytest.mark.every_database
@pytest.mark.promise(25)
def test_of_eight_processes_that_register_one_name_one_does(in_processes, database, settings):
    assert sorted(in_processes(register, settings.DATABASE_URL)) == [201] + [409] * 7
    assert User.objects.count() == 1


@pytest.mark.promise(26)
def test_eight_processes_can_make_one_file(in_processes, tmp_path):
    url = f"sqlite:///{tmp_path}/new.db"
    assert in_processes(open_site, url) == [401] * 8
    opened = storage.open_database(url)
    assert schema.pending(opened) == []
    storage.discard_connection(opened)


@pytest.mark.every_database
@pytest.mark.promise(26)
def test_of_eight_processes_that_migrate_each_migration_is_applied_by_one(
    in_processes, database, settings
):
    for prepare in (take_back_migrations, lambda opened: record(opened, LAST_BEFORE_1_0)):
        prepare(database)
        applied = in_processes(migrate, settings.DATABASE_URL)
        assert sorted(chain.from_iterable(applied)) == MIGRATIONS  # by one or several of them
    record(database, *MIGRATIONS)


def save(user, **changes):
    for name, value in changes.items():
        setattr(user, name, value)
    user.save()


def remove_superusers(url):
    """Demote, deactivate and delete superusers, in any order, as long as that is permitted."""
    storage.open_database(url)
    removals = (
        lambda user: update_user(user, is_superuser=False),
        lambda user: update_user(user, is_active=False),
        delete_user,
        lambda user: save(user, is_superuser=False),
        lambda user: save(user, is_active=False),
        lambda user: user.delete_instance(),
    )
    superusers = list(User.objects.filter(is_superuser=True))
    random.shuffle(superusers)
    for user in superusers:
        with suppress(LastSuperuserError, User.DoesNotExist):
            random.choice(removals)(user)  # noqa: S311 - for variety


@pytest.mark.every_database
def test_eight_processes_that_remove_every_superuser_leave_one(in_processes, database, settings):
    for number in range(PROCESSES):
        create_user(f"root{number}", f"{number}@x", PASSWORD, settings=settings, is_superuser=True)
    in_processes(remove_superusers, settings.DATABASE_URL)
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 1


def log_in_and_change_password(url):
    """Log in a few times, then change the password, unless another process did so before.

    Return the tokens, and whether this process changed the password.
    """
    storage.open_database(url)
    issued = []
    while len(issued) < 5:
        user = authenticate(USERNAME, PASSWORD, rounds=4)
        login = None if user is None else sessions.start(user, Tokens(SETTINGS))
        if login is None:
            return issued, False
        issued.append(login.token)
    new_password(user)
    return issued, True


@pytest.mark.every_database
@pytest.mark.promise(5)
def test_of_eight_processes_that_log_in_none_keeps_a_login_after_a_change(
    in_processes, database, settings, tokens
):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    issued, changed = zip(
        *in_processes(log_in_and_change_password, settings.DATABASE_URL), strict=True
    )
    assert any(issued)
    assert not any(is_valid(token, tokens) for token in chain.from_iterable(issued))
    assert User.objects.get(id=ada.id).security_stamp == sum(changed) > 0


IDLE, TOTAL = 1000, 5000  # seconds


def use_login(token, at, url):
    """Return whether a login is valid so many seconds after START."""
    storage.open_database(url)
    return is_valid(token, Tokens(SETTINGS, clock=lambda: START + at))


@pytest.mark.every_database
@pytest.mark.promise(42)
def test_in_eight_processes_a_login_moves_while_it_is_used_and_ends(
    in_processes, database, settings
):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    started_then = Tokens(SETTINGS, clock=lambda: START)
    login = sessions.start(ada, started_then, Lifetime(TOTAL, IDLE))

    def use(at):
        return in_processes(partial(use_login, login.token, at), settings.DATABASE_URL)

    for at in (IDLE // 10 - 1, IDLE // 10, IDLE, 2 * IDLE - 1):
        before = Session.get().expires_at
        assert use(at) == [True] * PROCESSES
        is_due = START + at + IDLE - before >= IDLE // 10
        assert Session.get().expires_at == (START + at + IDLE if is_due else before)
    assert use(3 * IDLE - 1) == [False] * PROCESSES
    Session.update(expires_at=START + TOTAL).execute()
    assert use(TOTAL - 1) == [True] * PROCESSES
    assert use(TOTAL) == [False] * PROCESSES
    assert Session.get().expires_at == START + TOTAL


def hold_write_lock(path, pipe):
    """Hold the write lock of an SQLite file until told otherwise."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    pipe.send("held")
    pipe.recv()
    connection.close()


@pytest.mark.promise(42)
def test_a_process_that_writes_to_the_file_delays_no_request(database, settings):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    login = sessions.start(ada, Tokens(SETTINGS, clock=lambda: START), Lifetime(TOTAL, IDLE))
    later = Tokens(SETTINGS, clock=lambda: START + IDLE // 10)

    def use():
        assert is_valid(login.token, later)

    with spawned(hold_write_lock, database.database):
        assert shortest(use) < BUSY_TIMEOUT  # for which any other change waits
        assert Session.get().expires_at == START + IDLE
    assert is_valid(login.token, later)
    assert Session.get().expires_at == START + IDLE // 10 + IDLE


# Threads


@pytest.fixture(params=SERVERS)
def kind(request):
    """Return which server."""
    return request.param


@pytest.fixture
def connections(kind, server_urls):
    """Return three connections to an empty database."""
    opened = [storage.open_database(server_urls(kind)) for _ in range(3)]
    for each in opened:
        each.lock_timeout, each.read_timeout = PATIENCE, None
    yield opened
    empty_tables()
    for each in opened:
        storage.discard_connection(each)


@pytest.fixture
def watcher(connections):
    """Return a connection that looks at the others."""
    return connections[0]


@pytest.fixture
def rival(connections):
    """Return a connection that holds locks."""
    return connections[1]


@pytest.fixture
def server(connections):
    """Return the connection that models use here."""
    return connections[2]


@pytest.fixture
def ada(server):
    return create_user(USERNAME, EMAIL, PASSWORD, settings=SETTINGS)


@pytest.fixture
def tokens():
    return Tokens(SETTINGS)


@pytest.fixture
def wait_for(kind, watcher):
    """Return a function that returns when these calls wait for a lock, or one has ended."""

    def wait_for_locks(*calls):
        while watcher.execute_sql(LOCK_WAITS[kind]).fetchone() != (len(calls),):
            if wait(calls, timeout=POLL[kind], return_when=FIRST_COMPLETED).done:
                return

    return wait_for_locks


@pytest.fixture
def begin():
    """Return a function that begins a call in a thread of its own."""

    def call(action, *arguments):
        try:
            return action(*arguments)
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor() as threads:
        yield lambda action, *arguments: threads.submit(call, action, *arguments)


@contextmanager
def held(database, session_id):
    """Keep a session's row locked."""
    with database.atomic():
        lock = "SELECT id FROM wsgiauth_session WHERE id = %s FOR UPDATE"
        assert database.execute_sql(lock, (session_id,)).fetchone()
        yield


@contextmanager
def unwritable_sessions(database, kind):
    """Make everybody wait who writes a session."""
    lock, unlock = LOCK_SESSIONS[kind]
    database.execute_sql(lock)
    try:
        yield
    finally:
        database.execute_sql(unlock)


def new_password(user):
    change_password(user, "four other words", settings=SETTINGS)


def deactivate(user):
    user.is_active = False
    user.save()


def deactivate_for_a_moment(user):
    deactivate(user)
    user.is_active = True
    user.save()


CHANGES = pytest.mark.parametrize(
    "change", [new_password, deactivate, deactivate_for_a_moment, User.delete_instance]
)


def is_valid(token, tokens):
    return token is not None and find_session(token, tokens) is not None


def token_of(starting):
    login = starting.result()
    return None if login is None else login.token


@pytest.mark.promise(5)
@CHANGES
def test_a_login_during_a_change_that_is_under_way_is_not_valid_after_it(
    server, ada, tokens, begin, wait_for, change
):
    before = User.objects.get(id=ada.id)
    with server.atomic():
        change(ada)
        starting = begin(sessions.start, before, tokens)
        wait_for(starting)
    assert not is_valid(token_of(starting), tokens)


@pytest.mark.promise(5)
@CHANGES
def test_a_change_during_a_login_that_is_under_way_ends_it(
    kind, rival, ada, tokens, begin, wait_for, change
):
    with unwritable_sessions(rival, kind):
        starting = begin(sessions.start, User.objects.get(id=ada.id), tokens)
        wait_for(starting)
        changing = begin(change, ada)
        wait_for(starting, changing)
    changing.result()
    assert not is_valid(token_of(starting), tokens)


@pytest.mark.promise(5)
def test_the_second_of_two_changes_at_once_ends_what_began_between_them(
    server, ada, tokens, begin, wait_for
):
    stale = User.objects.get(id=ada.id)
    with server.atomic():
        new_password(ada)
        changing = begin(new_password, stale)
        wait_for(changing)
        between = sessions.start(ada, tokens).token
    changing.result()
    assert stale.security_stamp == User.objects.get(id=ada.id).security_stamp == 2
    assert not is_valid(between, tokens)
    assert is_valid(sessions.start(stale, tokens).token, tokens)


@pytest.mark.promise(5)
def test_purging_does_not_wait_for_live_sessions(kind, server, rival, ada):
    insert_session(ada, "expired", 1)
    insert_session(ada, "live")
    server.execute_sql(WAIT_FOR_NO_LOCK[kind])
    with held(rival, "live"):
        assert purge_expired(Session, 2) == 1


@pytest.mark.promise(5)
def test_a_login_succeeds_although_expired_sessions_cannot_be_purged(
    kind, server, rival, ada, tokens, caplog
):
    insert_session(ada, "expired", 1)
    server.execute_sql(WAIT_FOR_NO_LOCK[kind])
    with held(rival, "expired"):
        token = sessions.start(ada, tokens).token
    assert find_session(token, tokens)[0] == ada
    assert Session.get_or_none(Session.id == "expired") is not None
    # PostgreSQL passes over locked rows.
    assert ("expired rows of wsgiauth_session stay" in caplog.text) == (kind == "mariadb")


# A server's threads


def serve(url, pipe):
    with serving(AuthMiddleware(echo, settings_of(url)), threads=THREADS) as address:
        pipe.send(address)
        pipe.recv()


@pytest.fixture
def address(kind, server_urls):
    """Return the address of a server in a process of its own, with four threads."""
    with spawned(serve, server_urls(kind)) as (_, address):
        yield address.removeprefix("http://")


@pytest.mark.promise(24)
def test_a_server_has_no_more_connections_than_threads(kind, watcher, ada, tokens, address):
    headers = {"Authorization": f"Bearer {sessions.start(ada, tokens).token}"}

    def visit(path):
        connection = HTTPConnection(address)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status

    def connections():
        return watcher.execute_sql(CONNECTIONS[kind]).fetchone()[0]

    before = connections()
    with ThreadPoolExecutor(4 * THREADS) as clients:
        assert set(clients.map(visit, ["/", "/auth/me"] * 40)) == {200}
    assert 1 <= connections() - before <= THREADS
