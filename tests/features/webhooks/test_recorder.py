"""The bound of the rows that wait for a URL."""

import pytest

from wsgiauth import events, storage
from wsgiauth.events import kinds
from wsgiauth.features.webhooks import recorder, rows
from wsgiauth.features.webhooks.failures import TOO_MANY
from wsgiauth.features.webhooks.receivers import receivers_of
from wsgiauth.features.webhooks.recorder import (
    MARGIN,
    MOST,
    PROCESSES,
    RECOUNT,
    Room,
    WebhookRecorder,
)
from wsgiauth.features.webhooks.tables import Webhook

COUNT = "LIMIT 50)"  # in the statement that counts

pytestmark = pytest.mark.promise(103)


@pytest.fixture
def small(monkeypatch):
    """Let the bound be small."""
    monkeypatch.setattr(recorder, "MOST", 50)
    monkeypatch.setattr(recorder, "MARGIN", 1)


def cause(number=1):
    """Cause events about no user, in one transaction, and return how many rows wait."""
    with storage.current().atomic():
        for _ in range(number):
            events.emit(kinds.LOGOUT)
    return Webhook.select().where(Webhook.due_at.is_null(False)).count()


@pytest.mark.every_database
def test_a_flood_stays_below_the_bound_and_is_reported(small, site, queue, receiver, heard, clock):
    waiting = cause(1000)
    assert 25 < waiting <= 50
    clock.move(RECOUNT)
    assert cause(1000) == waiting
    failed = [each.reason for each in heard if each.name == "webhook_failed"]
    assert failed == [f"{receiver.host}: 1 webhook: {TOO_MANY}"]
    clock.move(60)
    queue.deliver()
    failed = [each.reason for each in heard if each.name == "webhook_failed"]
    assert failed[1] == f"{receiver.host}: {2000 - waiting - 1} webhooks: {TOO_MANY}"
    assert len(receiver.take()) == waiting
    clock.move(RECOUNT)
    assert cause() == 1  # there is room again


def test_a_full_table_is_counted_once_a_second(small, site, clock, queries):
    cause(1000)
    assert not [sql for sql in queries(lambda: cause(100)) if COUNT in sql]
    clock.move(1)
    assert len([sql for sql in queries(lambda: cause(100)) if COUNT in sql]) == 1


def test_ten_processes_stay_below_the_bound(small, site, settings):
    recorders = [WebhookRecorder(settings, None) for _ in range(PROCESSES)]
    event = events.Event("logout", events.utc_now(), None, None, None)
    with storage.current().atomic():
        for _ in range(100):
            for each in recorders:
                each(event, {})
    assert Webhook.select().count() <= 50


def test_the_bound_is_100_000_rows():
    assert (MOST, MARGIN * PROCESSES) == (100_000, 1000)


@pytest.mark.slow
def test_a_flood_of_events_fills_no_table(site, settings, clock):
    """Below the real bound there is room for 2,000 rows."""
    (destination,) = receivers_of(settings)
    insert = (
        "INSERT INTO wsgiauth_webhook WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1"
        " FROM number WHERE n < ?) SELECT 'msg_' || n, ?, 'logout', '{}', 1, 1, 0, '', 1"
        " FROM number"
    )
    storage.current().execute_sql(insert, (MOST - 2000, destination))
    room, inserted = Room(), 0
    with storage.current().atomic():
        for _ in range(200_000):
            if room.has_room(destination, clock.now):
                rows.insert([destination], "logout", "{}", 1)
                inserted += 1
    assert 0 < inserted < 2000


def test_a_command_leaves_rows_to_the_server(site, settings, ada, queue, receiver):
    write = WebhookRecorder(settings, None)
    with storage.current().atomic():
        write(events.Event("logout", events.utc_now(), ada.id, None, None), {})
    queue.deliver()
    assert len(receiver.take()) == 1
