"""Which notices are worth an email."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.support.mails import Clock
from tests.support.settings import LONG_KEY
from wsgiauth import storage
from wsgiauth.features.notices.limits import (
    DAY,
    HAS_LOGGED_IN_FOR,
    HOUR,
    KNOWN_FOR,
    PER_DAY,
    PROLONGED_AFTER,
    NoticeLimits,
)
from wsgiauth.storage import context
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.throttling.counts import AttemptCount, Mark

pytestmark = pytest.mark.every_database

HERE, THERE = ("192.0.2.7", "Firefox on Linux"), ("192.0.2.8", "Firefox on Linux")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limits(database, settings, clock):
    return NoticeLimits(settings, clock=clock)


def test_the_first_place_of_a_user_is_not_new_and_others_are_once(limits):
    seen = [limits.is_new_place(1, *place) for place in (HERE, HERE, THERE, THERE, HERE)]
    assert seen == [False, False, True, False, False]


def test_places_belong_to_one_user(limits):
    assert not limits.is_new_place(1, *HERE)
    assert not limits.is_new_place(2, *THERE)
    assert limits.is_new_place(1, *THERE)
    assert limits.is_new_place(2, *HERE)


def test_a_place_is_known_for_a_year_after_the_last_login(limits, clock):
    limits.is_new_place(1, *HERE)
    for _ in range(3):
        clock.move(KNOWN_FOR - DAY)
        assert not limits.is_new_place(1, *HERE)
    clock.move(KNOWN_FOR + 1)
    assert limits.is_new_place(1, *HERE)
    assert not limits.is_new_place(1, *HERE)


def test_a_known_place_is_written_once_a_month(limits, clock, queries):
    limits.is_new_place(1, *HERE)
    clock.move(PROLONGED_AFTER - 1)
    assert len(queries(lambda: limits.is_new_place(1, *HERE))) == 1
    clock.move(1)
    assert len(queries(lambda: limits.is_new_place(1, *HERE))) == 2
    assert len(queries(lambda: limits.is_new_place(1, *HERE))) == 1


def test_what_is_forgotten_after_a_year_is_purged_and_the_first_login_is_not(limits, clock):
    limits.is_new_place(1, *HERE)
    limits.is_new_place(1, *THERE)
    clock.move(KNOWN_FOR)
    assert purge_expired(AttemptCount, clock.now) == 3
    assert limits.is_new_place(1, *HERE)
    clock.move(HAS_LOGGED_IN_FOR)
    purge_expired(AttemptCount, clock.now)
    assert AttemptCount.select().count() == 0


def test_after_five_new_places_in_a_day_others_are_remembered_on_the_next_day(limits, clock):
    limits.is_new_place(1, *HERE)
    places = [(f"198.51.100.{each}", "curl") for each in range(PER_DAY + 2)]
    news = [limits.is_new_place(1, *place) for place in places]
    assert news == [True] * PER_DAY + [False] * 2
    rows = AttemptCount.select().count()
    assert not limits.is_new_place(1, *places[-1])
    assert AttemptCount.select().count() == rows
    clock.move(DAY)
    assert limits.is_new_place(1, *places[-1])


def test_kinds_and_users_are_counted_separately(limits):
    assert [limits.admits("one", 1) for _ in range(PER_DAY + 1)] == [True] * PER_DAY + [False]
    assert limits.admits("two", 1)
    assert limits.admits("one", 2)


@pytest.mark.promise(54)
def test_the_database_alone_does_not_say_where_a_user_was(limits, settings, clock):
    limits.is_new_place(1, *HERE)
    other = NoticeLimits(replace(settings, SECRET_KEY=LONG_KEY), clock=clock)
    before = {row.id for row in AttemptCount.select()}
    other.is_new_place(1, *HERE)
    assert len({row.id for row in AttemptCount.select()} - before) == len(before) == 2


def at_once(number, action):
    """Return what `action` returns for each number, each in a transaction and a thread."""
    barrier = threading.Barrier(number)
    opened = storage.current()

    def act(index):
        context.use(opened)
        try:
            barrier.wait()
            with opened.atomic():
                return action(index)
        finally:
            storage.discard_connection(opened)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(act, range(number)))


def test_of_logins_at_a_new_place_at_the_same_time_one_is_told(limits):
    limits.is_new_place(1, *HERE)
    assert sorted(at_once(8, lambda _: limits.is_new_place(1, *THERE))) == [False] * 7 + [True]


def test_users_do_not_block_each_others_logins(limits):
    for round_ in range(5):
        news = at_once(
            8, lambda index, place=f"2001:db8::{round_}": limits.is_new_place(index, place, "")
        )
        assert set(news) == {round_ > 0}


def test_of_two_who_find_a_place_expired_one_renews_it(database, clock):
    mark = Mark("a" * 64)
    assert mark.make(clock.now, DAY)
    ends_at = mark.ends_at()
    clock.move(DAY)
    assert mark.make(clock.now, DAY)
    assert not mark.prolong(ends_at, clock.now + DAY)


def test_of_two_who_find_no_row_one_makes_it(database, clock, monkeypatch):
    mark = Mark("a" * 64)
    assert mark.make(clock.now, DAY)
    monkeypatch.setattr(Mark, "ends_at", lambda _: 0)  # as the other one read before
    assert not mark.make(clock.now, DAY)


def test_of_two_logins_at_the_same_place_at_once_one_is_told(limits, monkeypatch):
    limits.is_new_place(1, *HERE)
    assert limits.is_new_place(1, *THERE)
    monkeypatch.setattr(Mark, "ends_at", lambda _: 0)
    assert not limits.is_new_place(1, *THERE)


def test_the_lasting_access_of_an_app_is_worth_an_email_each_hour(limits, clock):
    assert [limits.admits_app(1, "wiki") for _ in range(2)] == [True, False]
    assert limits.admits_app(1, "editor")
    assert limits.admits_app(2, "wiki")
    for _ in range(PER_DAY + 1):
        clock.move(HOUR)
        assert limits.admits_app(1, "wiki")
