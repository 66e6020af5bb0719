"""Refreshes whose answers are lost: the former refresh token, until the new pair is presented."""

import pytest

from tests.authentication.test_sliding import LOCKS, READ_ONLY
from tests.support.demands import Badge
from tests.support.logins import find_session, sessions_of
from tests.support.service_keys import service_tokens, with_services, write_key
from wsgiauth import storage
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import freshness, sessions
from wsgiauth.authentication.lifetimes import DAY, Lifetime
from wsgiauth.authentication.refresh import GRACE, refresh
from wsgiauth.authentication.sessions import REUSED
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events import subscribe
from wsgiauth.features.services.introspection import Introspector

pytestmark = [pytest.mark.every_database, pytest.mark.promise(44)]

START = 2_000_000_000  # seconds since the epoch, when these tests happen
LATE = GRACE + 1  # seconds


class Program:
    """A client with a refresh token, and all pairs that its session ever had, by number."""

    def __init__(self, settings, user):
        self.now = START
        self.settings = settings
        self.tokens = Tokens(settings, clock=lambda: self.now)
        issued = sessions.start(user, self.tokens, Lifetime(30 * DAY, is_refreshable=True))
        self.session_id = issued.session_id
        self.pairs = {1: issued}

    def refresh(self, number, after=LATE):
        """Present a refresh token so many seconds later; return the number of the next one."""
        self.now += after
        issued = refresh(self.session_id, number, self.tokens)
        if issued is None:
            return None
        self.pairs[issued.generation] = issued
        return issued.generation

    def use(self, number, *demands, **options):
        """Return whether the access token of a pair identifies the user."""
        found = find_session(self.pairs[number].token, self.tokens, *demands, **options)
        return found is not None

    def is_introspected(self, number):
        services = service_tokens(self.settings, lambda: self.now)
        sessions = sessions_of(self.settings, self.tokens)
        introspector = Introspector(self.tokens, sessions, services, strings=(), claims=())
        return introspector.describe(self.pairs[number].token) is not None

    def has_ended(self):
        return Session.get_by_id(self.session_id).stamp == REUSED


@pytest.fixture
def settings(settings, tmp_path):
    return with_services(settings, write_key(tmp_path / "key.pem"))


@pytest.fixture
def program(settings, ada):
    return Program(settings, ada)


@pytest.fixture
def heard(database):
    events = []
    subscribe(database, [lambda event: events.append(event.name)])
    return events


@pytest.fixture
def kind(request):
    return request.node.callspec.params["database_url"]


@pytest.fixture
def rival(settings, database):
    """Return another connection."""
    opened = storage.open_database(settings.DATABASE_URL, prepare=lambda opened: None)
    storage.context.use(database)
    yield opened
    storage.discard_connection(opened)


# As long as nothing of the new pair was presented


@pytest.mark.parametrize("after", [LATE, 3600, 30 * DAY - LATE - 1], ids="{} s".format)
def test_a_client_that_never_got_the_answer_gets_another_one(program, heard, after):
    assert program.refresh(1) == 2
    assert program.refresh(1, after) == 3
    assert program.use(3)
    assert program.refresh(3, 0) == 4
    assert heard == []


def test_answers_can_be_lost_several_times(program, heard):
    assert [program.refresh(1) for _ in range(5)] == [2, 3, 4, 5, 6]
    assert (program.use(6), program.use(1)) == (True, False)
    assert (program.refresh(6), heard) == (7, [])


def test_an_answer_can_be_lost_again_later(program, heard):
    program.refresh(1)
    program.refresh(program.refresh(1))
    assert program.refresh(3) == 5
    assert program.use(5)
    assert [program.use(number) for number in (1, 2, 3)] == [False] * 3
    assert heard == []


@pytest.mark.promise(43)
@pytest.mark.parametrize("is_used", [False, True], ids=["unused", "used"])
def test_several_threads_whose_answer_was_lost_get_one_pair(program, is_used):
    program.refresh(1)
    assert program.refresh(1) == 3
    assert program.use(3) or not is_used
    assert program.refresh(1, GRACE) == 3


@pytest.mark.promise(43)
def test_a_refresh_during_which_the_half_minute_ends_gets_the_current_pair(program):
    program.refresh(1)
    times = iter([program.now + GRACE])
    program.tokens.now = lambda: next(times, program.now + LATE)
    assert program.refresh(1, 0) == 2


# Once something of it was presented

USES = {
    "a request": lambda program, number: program.use(number),
    "a request to a site with a demand": lambda program, number: program.use(number, Badge()),
    "a request, with the groups": lambda program, number: program.use(number, with_groups=True),
    "an introspection": lambda program, number: program.is_introspected(number),
    "a refresh": lambda program, number: program.refresh(number, 0),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_copy_of_the_former_token_ends_the_session_once_the_new_pair_was_used(
    program, heard, use
):
    assert use(program, program.refresh(1))
    assert program.refresh(1) is None
    assert (program.has_ended(), heard) == (True, ["refresh_reused"])
    assert not any(map(program.use, program.pairs))


@pytest.mark.parametrize("use", [USES["a request"], USES["a refresh"]], ids=[1, 2])
def test_a_copy_ends_the_session_also_once_another_answer_was_used(program, heard, use):
    numbers = [program.refresh(1), program.refresh(1)]
    assert use(program, numbers[-1])
    assert program.refresh(1) is None
    assert (program.has_ended(), heard) == (True, ["refresh_reused"])
    assert not any(map(program.use, program.pairs))


@pytest.mark.parametrize(
    ("use", "refreshes"),
    [
        *((each, 1) for each in USES.values()),
        *((USES[name], number) for name in ("a request", "a refresh") for number in (0, 3)),
    ],
)
def test_a_token_of_an_answer_that_seemed_lost_ends_the_session(program, heard, use, refreshes):
    """One of the two who got an answer has a copy; each finds out."""
    first = program.refresh(1)
    other = program.refresh(1)
    assert program.use(other)
    for number in range(other, other + refreshes):
        program.refresh(number, 0)
    assert not use(program, first)
    assert (program.has_ended(), heard) == (True, ["refresh_reused"])
    assert not any(map(program.use, program.pairs))


def test_an_access_token_from_before_the_refresh_is_no_use_of_the_new_pair(program):
    program.refresh(1)
    assert program.use(1)
    assert program.refresh(1) == 3


def test_a_session_with_a_new_id_begins_anew(program, ada):
    program.refresh(1)
    program.refresh(1)
    renewed = freshness.confirm(program.session_id, ada, program.tokens)
    program.session_id, program.pairs = renewed.session_id, {1: renewed}
    assert program.use(1)
    assert [program.refresh(1), program.refresh(1)] == [2, 3]


# What is written


def updates(sqls):
    return [sql for sql in sqls if sql.startswith("UPDATE")]


@pytest.mark.parametrize("use", [USES["a request"], USES["an introspection"]], ids=[1, 2])
def test_the_use_of_a_pair_is_written_once(program, queries, use):
    assert updates(queries(lambda: use(program, 1))) == []
    program.refresh(1)
    assert [len(updates(queries(lambda: use(program, 2)))) for _ in range(3)] == [1, 0, 0]


def test_no_request_waits_to_write_it_and_the_next_one_does(program, kind, rival):
    program.refresh(1)
    for sqls, undo in LOCKS[kind]:
        for sql in sqls.split("; "):
            rival.execute_sql(sql)
        assert program.use(2)
        rival.execute_sql(undo)
        assert Session.get_by_id(program.session_id).unused == 2
    assert program.use(2)
    assert program.refresh(1) is None


def test_a_database_that_cannot_be_written_is_logged(program, kind, database, caplog):
    program.refresh(1)
    sql, on, off = READ_ONLY[kind]
    database.execute_sql(sql.format(on))
    assert program.use(2)
    database.execute_sql(sql.format(off))
    assert "the use of new tokens is not recorded for now" in caplog.text


# While processes of an earlier version run


def refresh_as_before(program):
    """Refresh as a process does that does not know the new columns."""
    Session.update(generation=Session.generation + 1, refreshed_at=program.now).execute()


@pytest.mark.parametrize("presented", [(), (1,), (1, 2), (1, 1)], ids=str)
def test_a_pair_of_an_earlier_version_counts_as_used(program, presented):
    number = max([1, *map(program.refresh, presented)])
    refresh_as_before(program)
    assert program.refresh(number, GRACE) == number + 1
    assert program.refresh(number, 1) is None
    assert program.has_ended()


def test_access_tokens_are_accepted_after_a_renewal_by_an_earlier_version(program):
    program.refresh(1)
    program.refresh(1)
    Session.update(generation=1).execute()
    assert program.use(1)


def test_access_tokens_of_an_earlier_version_are_accepted(program, ada):
    token = program.tokens.issue(ada.id, program.session_id, START + DAY)
    program.refresh(1)
    assert find_session(token, program.tokens)
