"""How events are counted: in memory, then in the table, by each process, once."""

import os
import time
from datetime import UTC, datetime

import peewee
import pytest

from tests.support.mails import Clock
from tests.support.sites import USERNAME
from wsgiauth import User, events, storage
from wsgiauth.cli import main
from wsgiauth.events import Event, kinds
from wsgiauth.figures import event_counts
from wsgiauth.figures.event_counts import (
    INTERVAL,
    KEPT,
    MINUTE,
    EventCount,
    EventCounts,
    Tally,
    add,
    by_hour,
    by_name,
)
from wsgiauth.mail import worker
from wsgiauth.storage.statements import insert_or_ignore

NOW = 2_000_000_040  # in the middle of a minute
HOUR = 3600


def event(name="login_failed", at=NOW):
    return Event(name, datetime.fromtimestamp(at, UTC), None, None, None)


def rows():
    return sorted(EventCount.select(EventCount.minute, EventCount.name, EventCount.count).tuples())


@pytest.fixture
def clock():
    return Clock(NOW)


@pytest.fixture
def counts(database, clock):
    made = EventCounts(clock)
    yield made
    made.stop()


@pytest.mark.every_database
def test_a_flood_is_one_row_a_minute_and_name(counts, clock):
    for at in (NOW, NOW + MINUTE):
        for _ in range(1000):
            counts(event("login_failed", at))
            counts(event("throttled", at))
    clock.move(INTERVAL)
    counts.deliver()
    minute = NOW // MINUTE
    assert rows() == [
        (minute + later, name, 1000) for later in (0, 1) for name in ("login_failed", "throttled")
    ]


@pytest.mark.every_database
def test_processes_add_to_the_same_row(database):
    for number in (2, 3):
        add(1, "login", number)
    assert rows() == [(1, "login", 5)]


@pytest.mark.every_database
def test_a_row_that_another_process_has_just_made_is_added_to(database, monkeypatch):
    def late(model, **row):
        monkeypatch.undo()
        add(1, "login", 2)
        return insert_or_ignore(model, **row)

    monkeypatch.setattr("wsgiauth.figures.event_counts.insert_or_ignore", late)
    add(1, "login", 3)
    assert rows() == [(1, "login", 5)]


def add_a_hundred(url):
    storage.open_database(url, prepare=lambda opened: None)
    for number in range(100):
        add(number // 50, "login", 1)


@pytest.mark.every_database
def test_concurrent_processes_lose_no_event(in_processes, database, database_url):
    in_processes(add_a_hundred, database_url)
    assert rows() == [(0, "login", 400), (1, "login", 400)]


def test_numbers_wait_for_ten_seconds(counts, clock):
    assert counts.deliver() is None
    counts(event())
    clock.move(4)
    counts(event())
    assert counts.deliver() == INTERVAL - 4
    assert rows() == []
    clock.move(INTERVAL - 4)
    assert counts.deliver() is None
    assert rows() == [(NOW // MINUTE, "login_failed", 2)]


def test_a_clock_that_is_set_back_delays_no_numbers(counts, clock):
    counts(event())
    clock.move(-HOUR)
    counts.deliver()
    assert len(rows()) == 1


def test_numbers_that_the_database_does_not_take_stay(counts, clock, monkeypatch, caplog):
    counts(event("login"))
    counts(event("logout"))
    clock.move(INTERVAL)

    def fail(minute, name, number):
        if name == "logout":
            raise peewee.OperationalError("database is locked")
        add(minute, name, number)

    monkeypatch.setattr(event_counts, "add", fail)
    assert counts.deliver() == MINUTE
    assert caplog.messages == ["events are not counted for now: database is locked"]
    counts(event("logout"))
    monkeypatch.undo()
    clock.move(INTERVAL)
    counts.deliver()
    minute = NOW // MINUTE
    assert rows() == [(minute, "login", 1), (minute, "logout", 2)]


def test_old_counts_are_deleted_once_an_hour(counts, clock):
    def old():
        add((clock() - KEPT) // MINUTE - 1, "login", 1)
        add((clock() - KEPT) // MINUTE, "login", 1)
        counts(event(at=clock()))
        clock.move(INTERVAL)
        counts.deliver()
        return len(rows())

    assert old() == 2
    assert old() == 3
    clock.move(HOUR)
    assert old() == 2 + 1


@pytest.mark.every_database
def test_recent_events_are_those_of_whole_minutes(database):
    minute = NOW // MINUTE
    for at, name, number in (
        (minute - 6, "login", 1),
        (minute - 5, "login", 2),
        (minute, "login", 4),
        (minute, "logout", 8),
        (minute + 1, "login", 16),  # of a host whose clock is a little ahead
        (minute + 2, "login", 32),
    ):
        add(at, name, number)
    assert by_name(NOW - 5 * MINUTE, NOW) == {"login": 22, "logout": 8}


@pytest.mark.every_database
def test_events_by_hour_end_with_the_present_one(database):
    for hours_ago, number in ((24, 1), (23, 2), (1, 4), (0, 8), (-1, 16)):
        add((NOW - hours_ago * HOUR) // MINUTE, "login", number)
    add(NOW // MINUTE, "logout", 1)
    found = by_hour(["login", "login_failed"], NOW)
    assert len(found) == 24
    assert [each["login"] for each in found] == [2, *[0] * 21, 4, 8]
    assert {each["login_failed"] for each in found} == {0}


def in_child(action):
    """Run in a forked process; return its exit code."""
    child = os.fork()
    if not child:  # pragma: no cover - in the forked process
        try:
            os._exit(action())
        finally:
            os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_process_adds_nothing_of_its_parent():
    tally = Tally()
    tally(event())
    with tally._lock:  # held by another thread of the parent
        assert in_child(lambda: 1 if tally else 0) == 0
        assert in_child(lambda: tally(event()) or 7) == 7
    assert tally


def test_no_thread_starts_before_the_first_request(counts):
    counts(event())
    assert counts._worker._thread is None


def test_the_end_of_a_server_adds_the_numbers(client, site, ada):
    client.post_json("/auth/login", {"username": USERNAME, "password": "wrong"}, status=401)
    assert rows() == []
    worker.finish_all(time.monotonic() + 30)
    assert [(name, number) for _minute, name, number in rows()] == [("login_failed", 1)]


def test_a_refusal_in_a_transaction_that_is_undone_counts(client, site):
    client.get("/")  # starts the thread
    with storage.current().atomic() as transaction:
        events.emit(kinds.LOGIN_FAILED)
        transaction.rollback()
    worker.finish_all(time.monotonic() + 30)
    assert [(name, number) for _minute, name, number in rows()] == [("login_failed", 1)]


def test_a_command_counts_its_events(database, database_url, monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_URL", database_url)
    User.objects.create(username=USERNAME, email="ada@example.org", hashed_password="")
    assert main(["deactivate", USERNAME]) == 0
    assert "rights_changed" in {name for _minute, name, _number in rows()}


def test_a_command_whose_events_cannot_be_counted_succeeds(
    database, database_url, monkeypatch, capsys
):
    def fail(minute, name, number):
        raise peewee.OperationalError("database is locked")

    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setattr(event_counts, "add", fail)
    User.objects.create(username=USERNAME, email="ada@example.org", hashed_password="")
    assert main(["deactivate", USERNAME]) == 0
    assert "warning: the events were not counted" in capsys.readouterr().err
