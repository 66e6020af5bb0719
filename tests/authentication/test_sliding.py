"""Logins that move while they are used: when, how often, and at whose cost."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.demands import Badge
from tests.support.logins import find_session
from tests.support.timing import shortest
from wsgiauth import storage
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import lifetimes, sessions
from wsgiauth.authentication.lifetimes import Lifetime
from wsgiauth.authentication.refresh import refresh
from wsgiauth.authentication.sessions import slide
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage.connections import BUSY_TIMEOUT
from wsgiauth.storage.upkeep import PAUSE

pytestmark = [pytest.mark.every_database, pytest.mark.promise(42)]

START = 2_000_000_000  # seconds since the epoch, when these tests happen
IDLE, TENTH, TOTAL = 1000, 100, 5050  # seconds
BROWSER = Lifetime(TOTAL, IDLE)

# What another client does to the session's row or table, so that an UPDATE would wait; and undoes.
LOCKS = {
    "sqlite": [("BEGIN IMMEDIATE", "ROLLBACK")],
    "postgresql": [
        ("BEGIN; SELECT id FROM wsgiauth_session FOR UPDATE", "ROLLBACK"),
        ("BEGIN; LOCK TABLE wsgiauth_session IN SHARE MODE", "ROLLBACK"),
    ],
    "mariadb": [
        ("START TRANSACTION; SELECT id FROM wsgiauth_session FOR UPDATE", "ROLLBACK"),
        ("LOCK TABLES wsgiauth_session READ", "UNLOCK TABLES"),
    ],
}
READ_ONLY = {
    "sqlite": ("PRAGMA query_only = {}", 1, 0),
    "postgresql": ("SET default_transaction_read_only = {}", "on", "off"),
    "mariadb": ("SET SESSION TRANSACTION READ {}", "ONLY", "WRITE"),
}


@pytest.fixture
def kind(request):
    return request.node.callspec.params["database_url"]


@pytest.fixture
def clock():
    """Return what the time can be set by."""

    class Clock:
        now = START

    return Clock


@pytest.fixture
def tokens(settings, clock):
    return Tokens(settings, clock=lambda: clock.now)


@pytest.fixture
def login(ada, tokens):
    """Return the login of a browser."""
    return sessions.start(ada, tokens, BROWSER)


@pytest.fixture
def find(clock, tokens, login):
    """Return a function that returns whether the login is found so many seconds after its start."""

    def find_after(seconds, login=login):
        clock.now = START + seconds
        return find_session(login.token, tokens) is not None

    return find_after


@pytest.fixture
def rival(settings, database):
    """Return another connection."""
    opened = storage.open_database(settings.DATABASE_URL, prepare=lambda opened: None)
    storage.context.use(database)
    yield opened
    storage.discard_connection(opened)


def end():
    """Return when the only login ends, in seconds after its start."""
    return Session.get().expires_at - START


def updates(sqls):
    return [sql for sql in sqls if sql.startswith("UPDATE")]


# When


def test_a_login_that_lacks_something_moves_too(ada, tokens, clock, login):
    clock.now = START + TENTH
    badge = Badge()
    assert find_session(login.token, tokens, badge) == (ada, login.session_id, badge)
    assert end() == TENTH + IDLE


def test_a_login_moves_when_a_tenth_of_its_idle_time_is_gone(find):
    assert find(TENTH - 1)
    assert (end(), Session.get().last_seen_at) == (IDLE, START)
    assert find(TENTH)
    assert (end(), Session.get().last_seen_at) == (TENTH + IDLE, START + TENTH)


def test_a_login_moves_again_when_another_tenth_is_gone(find):
    assert find(TENTH)
    assert find(2 * TENTH - 1)
    assert end() == TENTH + IDLE
    assert find(2 * TENTH)
    assert end() == 2 * TENTH + IDLE


def test_an_unused_login_ends_at_its_idle_end(find):
    assert not find(IDLE)
    assert end() == IDLE


def test_a_login_that_is_used_in_its_last_second_goes_on(find):
    assert find(IDLE - 1)
    assert end() == 2 * IDLE - 1
    assert find(2 * IDLE - 2)
    assert not find(3 * IDLE - 2)


def test_a_used_login_ends_at_its_absolute_end(find):
    for seconds in range(0, TOTAL, TENTH):
        assert find(seconds)
    assert find(TOTAL - 1)
    assert end() == TOTAL
    assert not find(TOTAL)


def test_a_login_ends_at_its_absolute_end_even_if_its_row_does_not(find):
    Session.update(expires_at=START + 2 * TOTAL).execute()
    assert find(TOTAL - 1)
    assert not find(TOTAL)


def test_an_idle_time_that_is_longer_than_the_login_moves_nothing(ada, tokens, find, queries):
    login = sessions.start(ada, tokens, Lifetime(TENTH, IDLE))
    for seconds in range(0, TENTH, 10):
        assert updates(queries(lambda at=seconds: find(at, login))) == []
    assert not find(TENTH, login)


def test_a_login_of_a_program_never_moves(ada, tokens, find, queries):
    login = sessions.start(ada, tokens, Lifetime(TOTAL))
    for seconds in range(0, TOTAL, TENTH):
        assert updates(queries(lambda at=seconds: find(at, login))) == []
    assert find(TOTAL - 1, login)
    assert not find(TOTAL, login)


def test_a_login_with_a_refresh_token_is_moved_by_a_refresh_alone(ada, clock, tokens, find):
    login = sessions.start(ada, tokens, BROWSER._replace(is_refreshable=True))
    of_login = Session.id == login.session_id
    assert find(IDLE - 1, login)
    assert Session.get(of_login).expires_at == START + IDLE
    assert refresh(login.session_id, 1, tokens) is not None
    assert Session.get(of_login).expires_at == START + 2 * IDLE - 1
    clock.now = START + 2 * IDLE - 1
    assert refresh(login.session_id, 2, tokens) is None


def test_a_refresh_moves_no_login_beyond_its_absolute_end(ada, clock, tokens):
    login = sessions.start(ada, tokens, BROWSER._replace(is_refreshable=True))
    for generation in range(1, TOTAL // TENTH):
        clock.now += TENTH
        assert refresh(login.session_id, generation, tokens) is not None
    assert end() == TOTAL


def test_a_refresh_does_not_move_a_login_without_an_idle_time(ada, clock, tokens):
    login = sessions.start(ada, tokens, Lifetime(TOTAL, is_refreshable=True))
    clock.now += TENTH
    refresh(login.session_id, 1, tokens)
    assert end() == TOTAL


@pytest.mark.parametrize("remember", [False, True])
def test_the_lifetimes_of_the_settings_move(ada, tokens, settings, find, remember):
    lifetime = lifetimes.of_browser(settings, remember=remember)
    login = sessions.start(ada, tokens, lifetime)
    tenth = lifetime.idle // 10
    for seconds in range(0, lifetime.total, tenth):
        assert find(seconds, login)
    assert find(lifetime.total - 1, login)
    assert not find(lifetime.total, login)


# How often


def test_a_login_costs_one_update_for_each_tenth_of_its_idle_time(find, queries):
    ats = range(0, TOTAL, TENTH // 5)
    moved = [at for at in ats if updates(queries(lambda at=at: find(at)))]
    assert moved == list(range(TENTH, TOTAL - IDLE + TENTH, TENTH))


def test_of_threads_that_use_a_login_at_once_one_moves_it(find, clock, tokens, login):
    clock.now = START + TENTH

    def use(_):
        try:
            return find_session(login.token, tokens) is not None
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(40)))
    assert end() == TENTH + IDLE


def test_a_slow_request_does_not_move_a_login_back(login):
    slide(login.session_id, START + 3 * TENTH)
    slide(login.session_id, START + 2 * TENTH)
    assert end() == 3 * TENTH + IDLE


def test_a_slow_request_does_not_bring_an_ended_login_back(find, login, ada):
    sessions.revoke(login.session_id, ada)
    slide(login.session_id, START + TENTH)
    assert not find(TENTH)


# Locks


def test_no_lock_delays_a_request(kind, find, rival, caplog):
    for number, (lock, unlock) in enumerate(LOCKS[kind]):
        at, ends = (number + 1) * 2 * TENTH, end()

        def use(at=at):
            assert find(at)

        for sql in lock.split("; "):
            rival.execute_sql(sql)
        assert shortest(use) < BUSY_TIMEOUT  # for which any other change waits
        rival.execute_sql(unlock)
        assert (end(), caplog.records) == (ends, [])
        assert find(at + 1)
        assert end() == at + 1 + IDLE


# Transactions


def test_in_a_transaction_no_login_moves_because_its_row_would_stay_locked(find, database):
    with database.atomic():
        assert find(TENTH)
    assert end() == IDLE
    assert find(TENTH)
    assert end() == TENTH + IDLE


def test_in_a_transaction_by_sql_no_login_moves_either(find, database):
    database.execute_sql("BEGIN")
    assert find(TENTH)
    database.execute_sql("ROLLBACK")
    assert end() == IDLE


# Databases that cannot be written


@pytest.fixture
def read_only(kind, database):
    """Return a function that makes the database read-only, or writable again."""
    sql, on, off = READ_ONLY[kind]
    return lambda is_on: database.execute_sql(sql.format(on if is_on else off))


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


def test_with_a_read_only_database_logins_are_valid_and_do_not_move(find, read_only, caplog):
    read_only(True)
    assert find(TENTH)
    (warning,) = warnings(caplog)
    assert warning.startswith("the ends of sessions do not move for now: ")
    assert end() == IDLE
    assert not find(IDLE)


def test_a_read_only_database_is_tried_and_logged_once_a_minute(find, read_only, caplog, queries):
    read_only(True)
    attempts = [at for at in range(TENTH, IDLE) if updates(queries(lambda at=at: find(at)))]
    assert attempts == list(range(TENTH, IDLE, PAUSE))
    assert len(warnings(caplog)) == len(attempts)


def test_a_database_that_can_be_written_again_is_written_within_a_minute(find, read_only):
    read_only(True)
    assert find(TENTH)
    read_only(False)
    assert find(TENTH + PAUSE - 1)
    assert end() == IDLE
    assert find(TENTH + PAUSE)
    assert end() == TENTH + PAUSE + IDLE


def test_a_clock_that_is_put_back_ends_the_pause(find, read_only, clock):
    read_only(True)
    assert find(2 * TENTH)
    read_only(False)
    assert find(TENTH)
    assert end() == TENTH + IDLE
