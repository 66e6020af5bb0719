"""The figures of a site: how often they are counted, by how many, and for how long."""

from contextlib import suppress
from threading import Event, Thread

import peewee
import pytest

from tests.support.mails import Clock
from wsgiauth import storage
from wsgiauth.figures import KEPT, LIMIT, Figure, Figures, Waiting, WaitingCount, figures_of_waiting

# Counts for minutes on each database.
ENDLESS = "SELECT COUNT(*) FROM {} AS a, {} AS b, {} AS c, {} AS d, {} AS e"
COLUMNS = {
    "sqlite": "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x<999)"
    " SELECT x FROM n)",
    "postgresql": "generate_series(1, 999)",
    "mariadb": "(SELECT seq FROM seq_1_to_999)",
}


class Counted:
    """A figure that counts how often it is measured."""

    def __init__(self, name="users"):
        self.times = 0
        self.figure = Figure(name, "Users.", self)

    def __call__(self, now):
        self.times += 1
        return self.times


@pytest.fixture
def seconds():
    return Clock(0)


def make(seconds, *figures):
    return Figures(figures, clock=lambda: 2_000_000_000, monotonic=seconds)


def test_figures_are_counted_once_in_a_while(database, seconds):
    users = Counted()
    figures = make(seconds, users.figure)
    assert figures.read() == ({"users": 1}, 0)
    seconds.move(KEPT - 1)
    assert figures.read() == ({"users": 1}, KEPT - 1)
    seconds.move(1)
    assert figures.read() == ({"users": 2}, 0)


def test_a_figure_gets_the_time_in_whole_seconds(database):
    figures = Figures([Figure("now", "Now.", lambda now: now)], clock=lambda: 7.9)
    assert figures.read().values == {"now": 7}


def held(figures, begun, released):
    """Return a thread that counts until it is released."""
    thread = Thread(target=figures.read)
    thread.start()
    assert begun.wait(30)
    return thread


def holding(begun, released):
    def measure(now):
        begun.set()
        assert released.wait(30)
        return 2

    return measure


def test_while_one_counts_others_get_the_last_figures_at_once(database, seconds):
    begun, released = Event(), Event()
    measures = [lambda now: 1, holding(begun, released)]
    figures = make(seconds, Figure("users", "Users.", lambda now: measures.pop(0)(now)))
    figures.read()
    seconds.move(KEPT)
    thread = held(figures, begun, released)
    assert figures.read() == ({"users": 1}, KEPT)
    released.set()
    thread.join()
    assert figures.read() == ({"users": 2}, 0)


def test_the_first_readers_wait_for_the_first_count(database, seconds):
    begun, released = Event(), Event()
    figures = make(seconds, Figure("users", "Users.", holding(begun, released)))
    first = held(figures, begun, released)
    found = []
    second = Thread(target=lambda: found.append(figures.read()))
    second.start()
    released.set()
    first.join()
    second.join()
    assert found == [({"users": 2}, 0)]


def test_after_a_failure_the_next_reader_counts(database, seconds):
    def interrupt(now):
        raise KeyboardInterrupt

    measures = [interrupt, lambda now: 1]
    figures = make(seconds, Figure("users", "Users.", lambda now: measures.pop(0)(now)))
    with pytest.raises(KeyboardInterrupt):
        figures.read()
    assert figures.read().values == {"users": 1}


@pytest.mark.slow
@pytest.mark.promise(102)
@pytest.mark.every_database
def test_a_slow_figure_is_cancelled_and_hides_no_other_one(database, request):
    rows = COLUMNS[request.node.callspec.params["database_url"]]
    sql = ENDLESS.format(*[rows] * 5)

    def endless(now):
        return storage.current().execute_sql(sql).fetchone()[0]

    seconds, users = Clock(0), Counted()
    figures = make(seconds, Figure("slow", "Slow.", endless), users.figure)
    opened = storage.current()
    whole = opened.time_limit
    opened.time_limit = lambda left: whole(min(left, 0.2))
    assert figures.read().values == {"users": 1}
    seconds.move(KEPT)
    assert figures.read().values == {"users": 2}


def test_what_the_limit_leaves_out_keeps_its_value_and_is_counted_first_the_next_time(
    database, seconds
):
    groups = Counted("groups")
    waits = [0, LIMIT, LIMIT]

    def slow(now):
        seconds.move(waits.pop(0))
        return len(waits)

    figures = make(seconds, Figure("slow", "Slow.", slow), groups.figure)
    assert figures.read() == ({"slow": 2, "groups": 1}, 0)
    seconds.move(KEPT)
    found = figures.read()  # the slow one takes all of the time
    assert found == ({"slow": 1, "groups": 1}, KEPT + LIMIT)
    seconds.move(KEPT)
    assert figures.read().values == {"slow": 0, "groups": 2}  # counted first


def queue(name, number, oldest):
    return WaitingCount(name, lambda: Waiting(number, oldest), "the kernel")


def test_the_age_of_waiting_messages_is_never_negative(database):
    now = 2_000_000_000
    queues = queue("none", 0, None), queue("old", 2, now - 10), queue("ahead", 1, now + 100)
    found = Figures(figures_of_waiting(queues), clock=lambda: now).read().values
    assert found["waiting"] == {"none": 0, "old": 2, "ahead": 1}
    assert found["oldest_waiting_seconds"] == {"none": 0, "old": 10, "ahead": 0}


def test_without_queues_nothing_waits(database):
    found = Figures(figures_of_waiting([])).read().values
    assert found == {"waiting": {}, "oldest_waiting_seconds": {}}


def failing(now=None):
    storage.current().execute_sql("SELECT missing FROM nowhere")


@pytest.mark.every_database
@pytest.mark.promise(105)
def test_a_figure_or_queue_that_fails_is_missing_and_named_in_the_log(database, seconds, caplog):
    waiting = [queue("full", 2, None), WaitingCount("broken", failing, "lists")]
    figures = make(
        seconds,
        Figure("lists", "Lists.", failing, feature="lists"),
        *figures_of_waiting(waiting),
        Figure("zero", "By zero.", lambda now: 1 // now - 1 // 0, feature="sums"),
        Counted().figure,
    )
    zero = {"waiting": {"full": 2}, "oldest_waiting_seconds": {"full": 0}}
    assert figures.read() == ({**zero, "users": 1}, 0)
    assert "a function of lists failed, so that the figure waiting is missing" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "a function of sums failed, so that the figure zero is missing" in caplog.text


@pytest.mark.promise(105)
def test_a_figure_that_fails_later_does_not_keep_its_value(database, seconds):
    values = [1]
    figures = make(seconds, Figure("lists", "Lists.", lambda now: values.pop()))
    assert figures.read().values == {"lists": 1}
    seconds.move(KEPT)
    assert figures.read() == ({}, 0)


def test_an_error_of_the_database_is_not_kept(database, seconds, monkeypatch):
    def fail(*_):
        raise peewee.OperationalError("disk I/O error")

    monkeypatch.setattr(storage.current(), "fetchall", fail)
    figures = make(seconds, Figure("users", "Users.", fail))
    for _ in range(2):
        with suppress(peewee.OperationalError):
            figures.read()
            pytest.fail("read")
