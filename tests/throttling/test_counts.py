"""Counting attempts in the database."""

import pytest

from tests.support.sites import SECRET_KEY
from wsgiauth.storage.statements import insert_or_ignore
from wsgiauth.storage.upkeep import SOME, purge_expired
from wsgiauth.throttling import counts
from wsgiauth.throttling.counts import CLOCK_MARGIN, AttemptCount, Counter, Limit, row_id

pytestmark = [pytest.mark.every_database, pytest.mark.promise(12)]

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen
WINDOW = 1000
LIMIT = Limit("test", 3, (10, 20), WINDOW)
STRICT = Limit("test", 1, (10, 20), WINDOW)
COUNTER = Counter("one", LIMIT)


@pytest.fixture(autouse=True)
def _database(database):
    """Count in an empty database."""


def keep(*expirations):
    """Make rows that end at these seconds."""
    rows = [{"id": str(at), "retry_at": 0, "count": 1, "expires_at": at} for at in expirations]
    AttemptCount.insert_many(rows).execute()


def kept():
    return {row.id: (row.count, row.retry_at, row.expires_at) for row in AttemptCount.select()}


# Counting


def test_nothing_is_counted_and_nothing_waited_for_at_first():
    assert not COUNTER.exists(NOW)
    assert not COUNTER.is_used_up(NOW)
    assert COUNTER.wait(NOW) == 0


def test_the_free_attempts_and_each_wait_follow_one_another():
    counted, now = [], NOW
    for _ in range(6):
        assert COUNTER.add(now)
        counted.append(COUNTER.wait(now))
        now += counted[-1]
    assert counted == [0, 0, 10, 20, 20, 20]
    assert kept() == {"one": (6, now, NOW + WINDOW)}


def test_the_first_attempt_may_be_the_last_free_one():
    counter = Counter("one", STRICT)
    assert (counter.add(NOW), counter.wait(NOW)) == (True, 10)
    assert (counter.add(NOW + 10), counter.wait(NOW + 10)) == (True, 20)


def test_a_wait_lasts_as_long_as_it_says_whenever_in_a_second_it_begins():
    for part in (0, 0.1, 0.9):
        for counter in (Counter(f"first {part}", STRICT), Counter(f"later {part}", LIMIT)):
            begins = NOW + part
            for _ in range(counter.limit.free):
                assert counter.add(begins), part
            assert not counter.add(begins + 9.999), part
            assert counter.wait(int(begins)) >= 10, part
            assert counter.add(begins + 11), part


def test_an_attempt_that_must_wait_is_not_counted():
    for _ in range(3):
        assert COUNTER.add(NOW)
    before = kept()
    assert not COUNTER.add(NOW + 9)
    assert kept() == before
    assert COUNTER.add(NOW + 10)


def test_what_is_counted_apart_is_apart():
    Counter("one", STRICT).add(NOW)
    assert Counter("two", STRICT).add(NOW)
    assert not Counter("one", STRICT).add(NOW)


@pytest.mark.parametrize(("age", "count"), [(WINDOW - 1, 2), (WINDOW, 1), (WINDOW + 1, 1)])
def test_a_count_begins_anew_when_its_window_is_over(age, count):
    COUNTER.add(NOW)
    assert COUNTER.add(NOW + age)
    expires_at = NOW + WINDOW + (age if count == 1 else 0)
    assert kept() == {"one": (count, 0, expires_at)}


def test_a_wait_ends_with_the_window():
    counter = Counter("one", STRICT)
    counter.add(NOW)
    counter.add(NOW + WINDOW - 5)
    assert counter.wait(NOW + WINDOW - 5) == 5
    assert counter.wait(NOW + WINDOW) == 0
    assert counter.add(NOW + WINDOW)


def test_an_attempt_counts_although_another_became_the_first_meanwhile(monkeypatch):
    def late(model, **row):
        monkeypatch.undo()
        COUNTER.add(NOW)
        return insert_or_ignore(model, **row)

    monkeypatch.setattr(counts, "insert_or_ignore", late)
    assert COUNTER.add(NOW)
    assert kept()["one"][0] == 2


def test_an_attempt_that_became_the_first_and_the_last_makes_others_wait(monkeypatch):
    counter = Counter("one", STRICT)

    def late(model, **row):
        monkeypatch.undo()
        counter.add(NOW)
        return insert_or_ignore(model, **row)

    monkeypatch.setattr(counts, "insert_or_ignore", late)
    assert not counter.add(NOW)
    assert kept()["one"] == (1, NOW + 10, NOW + WINDOW)


def test_the_free_attempts_are_used_up_by_the_last_one():
    used_up = []
    for _ in range(3):
        assert COUNTER.add(NOW)
        used_up.append(COUNTER.is_used_up(NOW))
    assert used_up == [False, False, True]
    assert not COUNTER.is_used_up(NOW + WINDOW)


def test_a_limit_that_is_off_counts_nothing():
    off = Counter("one", Limit("test", 0, (10,), WINDOW))
    assert [off.add(NOW) for _ in range(3)] == [True] * 3
    assert kept() == {}
    for _ in range(3):
        COUNTER.add(NOW)
    assert not off.is_used_up(NOW)
    assert off.wait(NOW) == 0
    assert off.with_one_free() == off


def test_a_count_with_one_free_attempt_goes_on_from_where_it_was():
    COUNTER.add(NOW)
    strict = COUNTER.with_one_free()
    assert strict.wait(NOW) == 0
    assert strict.add(NOW)
    assert (strict.wait(NOW), COUNTER.wait(NOW)) == (20, 20)


def test_asking_is_one_query_and_so_is_counting(queries):
    COUNTER.add(NOW)
    done = queries(lambda: (COUNTER.wait(NOW), COUNTER.add(NOW)))
    assert [sql.partition(" ")[0] for sql in done] == ["SELECT", "UPDATE"]


# Taking back, forgetting and remembering


def test_an_attempt_is_taken_back_with_the_wait_that_followed():
    for _ in range(3):
        COUNTER.add(NOW)
    COUNTER.take_back()
    assert kept() == {"one": (2, 0, NOW + WINDOW)}
    assert (COUNTER.add(NOW), COUNTER.wait(NOW)) == (True, 10)


def test_no_more_is_taken_back_than_was_counted():
    COUNTER.take_back()
    assert kept() == {}
    COUNTER.add(NOW)
    for _ in range(3):
        COUNTER.take_back()
    assert kept() == {"one": (0, 0, NOW + WINDOW)}


def test_what_is_forgotten_is_counted_from_nothing():
    keep(NOW + 5)
    for _ in range(3):
        COUNTER.add(NOW)
    COUNTER.forget()
    COUNTER.forget()
    assert [*kept()] == [str(NOW + 5)]
    assert COUNTER.add(NOW)


@pytest.mark.parametrize("before", [0, 2, 3], ids=["nothing", "attempts", "a wait"])
def test_what_is_remembered_has_a_row_with_nothing_counted(before):
    for _ in range(before):
        COUNTER.add(NOW)
    for now in (NOW, NOW, NOW + 7):
        COUNTER.remember(now, 5000)
        assert kept() == {"one": (0, 0, now + 5000)}
    assert COUNTER.exists(NOW + 5006)
    assert not COUNTER.exists(NOW + 5007)


def test_what_is_remembered_while_another_remembers_it_is_remembered_once(monkeypatch):
    def late(model, **row):
        monkeypatch.undo()
        COUNTER.remember(NOW, 5000)
        return insert_or_ignore(model, **row)

    monkeypatch.setattr(counts, "insert_or_ignore", late)
    COUNTER.remember(NOW, 5000)
    assert kept() == {"one": (0, 0, NOW + 5000)}


# Expired


def test_a_new_row_clears_away_some_that_have_expired():
    keep(*range(NOW - SOME, NOW + 2))
    COUNTER.add(NOW)
    assert kept().keys() == {str(NOW), str(NOW + 1), "one"}


def test_only_a_new_row_clears_anything_away():
    COUNTER.add(NOW)
    keep(NOW - 1)
    assert [COUNTER.add(NOW) for _ in range(3)] == [True, True, False]
    assert kept().keys() == {str(NOW - 1), "one"}


def test_purging_deletes_what_has_expired_and_counts_it():
    keep(NOW - 1, NOW, NOW + 1)
    assert purge_expired(AttemptCount, NOW + 0.9) == 2
    assert [*kept()] == [str(NOW + 1)]
    assert purge_expired(AttemptCount, NOW) == 0


# Clocks


# The first wait is 10 seconds, the longest 20.


@pytest.mark.parametrize("ahead", [1, CLOCK_MARGIN + 10])
def test_a_host_whose_clock_is_behind_waits_for_what_another_one_wrote(ahead):
    for _ in range(3):
        assert COUNTER.add(NOW + ahead)
    assert COUNTER.wait(NOW) == ahead + 10
    assert not COUNTER.add(NOW)


def test_what_makes_no_attempt_wait_makes_none_wait_on_a_host_that_is_behind():
    counter = Counter("one", Limit("test", 2, (0,), WINDOW))
    for _ in range(4):
        assert counter.add(NOW + CLOCK_MARGIN)
    assert counter.wait(NOW) == 0
    assert counter.add(NOW)
    assert counter.is_used_up(NOW)


def test_a_broken_clock_makes_no_client_wait():
    for _ in range(3):
        assert COUNTER.add(NOW + CLOCK_MARGIN + 11)
    assert COUNTER.wait(NOW) == 0
    assert COUNTER.add(NOW)
    assert COUNTER.wait(NOW) == 20


def test_a_row_of_an_earlier_version_is_found():
    """Otherwise users would get notices of places that they have long logged in from."""
    found = row_id(SECRET_KEY.encode(), "place", "7", "192.0.2.0/24", "Firefox")
    assert found == "5c469c81222e4ec916a76b4049b4c8693219d0876de7e62859fc99d8919481e3"
