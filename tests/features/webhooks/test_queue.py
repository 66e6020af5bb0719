"""The queue of webhooks: what it sends, when it tries again, and what it leaves to others."""

import logging
from threading import Event

import pytest
from standardwebhooks.webhooks import WebhookVerificationError
from webtest import TestApp

from tests.support.webhook_receiver import KEY, OTHER_KEY, PATH, SECRET
from wsgiauth import events, storage
from wsgiauth.events import kinds
from wsgiauth.features.webhooks import rows, sending
from wsgiauth.features.webhooks.queue import RETRIES, Webhooks
from wsgiauth.features.webhooks.receivers import receivers_of
from wsgiauth.features.webhooks.rows import BATCH, KEPT, LEASE, UNKNOWN_AFTER
from wsgiauth.features.webhooks.tables import Webhook
from wsgiauth.testing import logged_in

MINUTE, HOUR = 60, 3600
pytestmark = pytest.mark.promise(103)


def cause(number=1):
    """Cause events."""
    for each in range(1, number + 1):
        events.emit(kinds.LOGOUT, user_id=each)


def failures(heard):
    return [each.reason for each in heard if each.name == "webhook_failed"]


# The request


def test_the_library_of_the_specification_verifies_it(site, queue, receiver, clock):
    cause()
    queue.deliver()
    (received,) = receiver.take()
    assert received.verify()["type"] == "logout"
    assert received.headers["webhook-timestamp"] == str(clock.now)
    assert receiver.paths == [PATH]
    with pytest.raises(WebhookVerificationError):
        received.verify(OTHER_KEY)


@pytest.mark.parametrize("further", [{"WEBHOOK_KEY": (OTHER_KEY, KEY)}])
def test_both_keys_sign_while_one_is_replaced(site, queue, receiver):
    cause()
    queue.deliver()
    (received,) = receiver.take()
    assert received.verify(KEY) == received.verify(OTHER_KEY)


def test_each_try_has_the_same_id_and_body_and_its_own_time(site, queue, receiver, clock):
    cause()
    receiver.statuses = [500]
    queue.deliver()
    clock.move(RETRIES[0])
    queue.deliver()
    first, second = receiver.take()
    assert (first.id, first.body) == (second.id, second.body)
    times = [int(each.headers["webhook-timestamp"]) for each in (first, second)]
    assert times[1] - times[0] == RETRIES[0]
    assert first.verify() == second.verify()


def test_events_come_in_their_order(site, queue, receiver):
    cause(5)
    queue.deliver()
    assert [each.document["data"]["user"]["id"] for each in receiver.take()] == [1, 2, 3, 4, 5]


# Answers


@pytest.mark.parametrize("status", [200, 204, 299])
def test_a_success_deletes_the_row(site, queue, receiver, heard, status):
    cause()
    receiver.statuses = [status]
    assert queue.deliver() is None
    assert (Webhook.select().count(), failures(heard)) == (0, [])


@pytest.mark.every_database
def test_a_failure_is_tried_seven_times_more_and_then_kept(
    site, queue, receiver, heard, clock, caplog
):
    cause()
    receiver.statuses = [302, 404, 429, 500, 503, 100 + 99, 400, 500]
    receiver.headers = [("Retry-After", "1"), ("Location", f"http://{receiver.host}/elsewhere")]
    assert RETRIES == (5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR)
    for wait in RETRIES:
        queue.deliver()
        assert Webhook.get().due_at == clock.now + wait
        clock.move(wait - 1)
        queue.deliver()
        clock.move(1)
    assert queue.deliver() is None
    assert len(receiver.take()) == 8
    assert {*receiver.paths} == {PATH}  # no redirect was followed
    assert failures(heard) == [f"{receiver.host}: 1 webhook: status 500"]
    row = Webhook.get()
    assert (row.due_at, row.attempts, row.failure) == (None, 8, "status 500")
    assert row.expires_at == clock.now + KEPT
    assert f"not delivered to {receiver.host}, next try in 5 seconds: status 302" in caplog.text
    assert "next try in 120 minutes" in caplog.text


def test_the_wait_begins_when_the_answer_is_known(site, queue, receiver, clock):
    cause()
    receiver.statuses = [500]
    receiver.action = lambda: clock.move(7)
    queue.deliver()
    assert Webhook.get().due_at == clock.now + RETRIES[0]


@pytest.mark.every_database
def test_410_ends_all_that_waits_for_the_url_with_one_event(
    settings, site, queue, receiver, heard, clock
):
    cause(5)
    receiver.statuses = [410]
    assert queue.deliver() is None
    assert failures(heard) == [f"{receiver.host}: 5 webhooks: status 410"]
    assert {each.due_at for each in Webhook.select()} == {None}
    assert len(receiver.take()) == 1
    cause()  # which is sent
    queue.deliver()
    assert (len(receiver.take()), Webhook.select().count()) == (1, 5)


def test_many_rows_end_in_batches(site, queue, receiver, heard, monkeypatch):
    monkeypatch.setattr(rows, "BATCH", 2)
    cause(6)
    receiver.statuses = [410]
    queue.deliver()
    assert failures(heard) == [f"{receiver.host}: 6 webhooks: status 410"]
    assert BATCH == 1000


@pytest.fixture
def answer(monkeypatch):
    """Let a function answer instead of receivers."""

    def answer_by(function):
        monkeypatch.setattr(sending, "send", lambda url, headers, body: function(url))

    return answer_by


@pytest.mark.parametrize("further", [{"WEBHOOKS": ("http://127.0.0.1:1/hook",)}])
def test_a_receiver_that_cannot_be_reached_has_failed(site, queue, heard):
    cause()
    queue.deliver()
    assert Webhook.get().failure == "connection"


def test_a_receiver_that_hangs_is_abandoned_after_the_deadline(site, queue, receiver, monkeypatch):
    ended = Event()
    receiver.action = lambda: ended.wait(30)
    send = sending.send
    monkeypatch.setattr(sending, "send", lambda *each: send(*each, deadline=0.1))
    cause()
    queue.deliver()
    ended.set()
    assert (Webhook.get().failure, sending.DEADLINE) == ("timeout", 10)
    assert sending.DEADLINE < LEASE


def test_a_receiver_that_floods_has_failed(site, queue, receiver):
    receiver.headers = [("X-Flood", "a" * 1000)] * 90
    cause()
    queue.deliver()
    assert Webhook.get().failure == "too large"


def test_a_body_of_an_answer_is_not_read(site, queue, receiver):
    receiver.headers = [("Content-Length", str(10**12))]
    cause()
    assert queue.deliver() is None


# Floods


def test_failures_are_reported_once_a_minute_for_a_host(site, queue, heard, clock, answer):
    cause(3)
    Webhook.update(attempts=len(RETRIES)).execute()
    answer(lambda url: 500)
    for _ in range(3):
        queue.deliver()
        clock.move(5)
    host = next(iter(receivers_of(site.site.settings).values())).host
    assert failures(heard) == [f"{host}: 1 webhook: status 500"]
    clock.move(MINUTE)
    queue.deliver()
    assert failures(heard)[1:] == [f"{host}: 2 webhooks: status 500"]


def test_warnings_of_tries_are_one_a_minute_for_a_host(site, queue, clock, answer, caplog):
    cause(3)
    answer(lambda url: 500)
    for _ in range(3):
        queue.deliver()
        clock.move(5)
    assert caplog.text.count("a webhook was not delivered") == 1


def test_a_receiver_that_fails_rests_for_five_seconds(site, queue, receiver, clock):
    cause(2)
    receiver.statuses = [500]
    assert queue.deliver() == RETRIES[0]
    assert len(receiver.take()) == 1
    clock.move(RETRIES[0])
    queue.deliver()
    assert len(receiver.take()) == 2


URLS = tuple(f"https://{each}.example.org/" for each in range(3))


@pytest.mark.parametrize("further", [{"WEBHOOKS": URLS}])
def test_a_receiver_that_does_not_answer_delays_no_other(site, queue, answer):
    got_all, sent = Event(), []

    def send(url):
        if url == URLS[0]:
            return 200 if got_all.wait(30) else 500
        sent.append(url)
        if len(sent) == 6:
            got_all.set()
        return 200

    answer(send)
    cause(3)
    assert queue.deliver() is None
    assert Webhook.select().count() == 0


def test_no_request_waits_for_a_receiver(server, site, ada, monkeypatch):
    monkeypatch.undo()  # of `unsent`
    server.reset()
    arrived, answered = Event(), Event()
    server.action = lambda: (arrived.set(), answered.wait(30))
    browser = logged_in(site, ada)
    assert arrived.wait(30)
    browser.get("/auth/me", status=200)
    answered.set()


# Other processes


class KilledError(BaseException):
    """Ends a process."""


@pytest.mark.every_database
def test_a_killed_process_makes_no_try_count(site, queue, receiver, clock, monkeypatch):
    cause()

    def die(_):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(rows, "delete", die)
        with pytest.raises(KilledError):
            queue.deliver()
    assert queue.deliver() == LEASE
    assert len(receiver.take()) == 1
    assert Webhook.get().attempts == 0
    clock.move(LEASE)
    assert queue.deliver() is None
    assert len(receiver.take()) == 1


@pytest.mark.every_database
def test_kill_at_each_statement_loses_no_webhook(site, settings, receiver, clock, monkeypatch):
    """Neither of the change, which is then undone, nor of the queue."""
    number = 0
    while True:
        number += 1
        Webhook.delete().execute()
        clock.move(MINUTE)
        receiver.reset()
        receiver.statuses = [500]
        queue = Webhooks(settings, receivers_of(settings), clock)
        left = [number]
        opened = storage.current()
        execute = type(opened).execute_sql

        def die_later(self, *args, left=left, execute=execute, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                raise KilledError
            return execute(self, *args, **kwargs)

        is_killed = False
        with monkeypatch.context() as patch:
            patch.setattr(type(opened), "execute_sql", die_later)
            try:
                cause()
                queue.deliver()
                clock.move(RETRIES[0])
                queue.deliver()
            except KilledError:
                is_killed = True
        storage.discard_connection(opened)
        kept = events.models.RecordedEvent.select().count()
        events.models.RecordedEvent.delete().execute()
        other = Webhooks(settings, receivers_of(settings), clock)
        for _ in range(3):
            clock.move(LEASE)
            other.deliver()
        accepted = len(receiver.take()) - (not receiver.statuses)  # the first one was refused
        assert (kept, Webhook.select().count()) in ((0, 0), (1, 0))
        assert accepted >= kept
        if not is_killed:
            break
    assert number > 8


@pytest.mark.every_database
def test_a_webhook_that_another_process_sends_is_left_to_it(
    settings, site, queue, receiver, clock, while_sending
):
    other = Webhooks(settings, receivers_of(settings), clock)
    cause()
    while_sending(other.deliver)
    queue.deliver()
    assert len(receiver.take()) == 1


@pytest.mark.every_database
def test_a_webhook_that_another_process_claims_first_is_left_to_it(
    settings, site, queue, receiver, clock, monkeypatch
):
    other = Webhooks(settings, receivers_of(settings), clock)
    oldest_due = rows.oldest_due
    cause()

    def due_too_late(*arguments):
        monkeypatch.setattr(rows, "oldest_due", oldest_due)
        row = oldest_due(*arguments)
        other.deliver()
        return row

    monkeypatch.setattr(rows, "oldest_due", due_too_late)
    queue.deliver()
    assert len(receiver.take()) == 1


@pytest.mark.every_database
def test_a_late_failure_changes_nothing_after_another_claim(
    settings, site, queue, receiver, clock, while_sending
):
    cause()
    row = Webhook.get()
    assert rows.claim(row, clock.now)
    assert not rows.claim(Webhook(id=row.id, due_at=clock.now), clock.now)
    other = Webhook.get()
    clock.move(LEASE)
    assert rows.claim(other, clock.now)
    rows.postpone(row, "status 500", clock.now)
    assert not rows.end(row, "status 500", clock.now)
    assert (Webhook.get().due_at, Webhook.get().attempts) == (clock.now + LEASE, 0)
    rows.delete(row)  # it was accepted
    assert Webhook.select().count() == 0


def test_a_last_try_that_another_process_repeats_is_reported_by_that_one(
    site, queue, heard, clock, answer, monkeypatch
):
    cause()
    Webhook.update(attempts=len(RETRIES)).execute()
    answer(lambda url: 500)
    monkeypatch.setattr(rows, "end", lambda *_: False)
    queue.deliver()
    assert failures(heard) == []


@pytest.mark.every_database
def test_a_row_is_sent_anew_once(site, queue, receiver, clock):
    cause()
    rows.end(Webhook.get(), "status 500", clock.now)
    assert queue.deliver() is None
    row = rows.find(Webhook.get().id)
    assert rows.resend(row, clock.now)
    assert not rows.resend(row, clock.now)  # by another operator
    assert rows.count_waiting(row.destination) == 1
    assert queue.deliver() is None
    assert [each.id for each in receiver.take()] == [row.id]
    assert [*rows.pages()] == []


@pytest.mark.every_database
def test_rows_of_other_urls_are_deleted_after_an_hour(site, queue, receiver, clock, caplog):
    cause(3)
    Webhook.update(destination="0" * 32).execute()
    cause()
    queue.deliver()
    assert (len(receiver.take()), Webhook.select().count()) == (1, 3)
    clock.move(UNKNOWN_AFTER)
    queue.deliver()
    assert (len(receiver.take()), Webhook.select().count()) == (0, 0)
    assert "3 webhooks deleted, because WEBHOOKS no longer has the URL" in caplog.text


@pytest.mark.every_database
def test_of_the_rows_that_have_ended_a_url_keeps_some(site, queue, clock, monkeypatch):
    monkeypatch.setattr(rows, "MOST_ENDED", 2)
    cause(5)
    *old, fourth, fifth = Webhook.select().order_by(Webhook.id)
    for each in (*old, fourth, fifth):
        rows.end(each, "status 500", clock.now)
    queue.find_further()
    assert [each.id for each in Webhook.select().order_by(Webhook.id)] == [fourth.id, fifth.id]


# The thread


def test_a_change_wakes_the_thread_of_its_process(server, site, monkeypatch):
    monkeypatch.undo()  # of `unsent`
    server.reset()
    arrived = Event()
    server.action = arrived.set
    cause()
    assert arrived.wait(30)


def test_the_first_request_sends_what_other_processes_left(server, site, monkeypatch):
    cause()  # without a thread
    monkeypatch.undo()
    server.reset()
    arrived = Event()
    server.action = arrived.set
    TestApp(site).get("/")
    assert arrived.wait(30)


# Secrets


def test_no_secret_of_the_url_or_the_key_is_shown(
    site, settings, queue, receiver, heard, clock, caplog
):
    caplog.set_level(logging.DEBUG)
    cause(2)
    receiver.statuses = [500, 410]
    queue.deliver()
    clock.move(RETRIES[0])
    queue.deliver()
    kept = queue.keep_requests()
    cause()
    queue.deliver()
    known = receivers_of(settings)
    shown = f"{heard} {caplog.text} {known} {settings} {kept} {[*Webhook.select().dicts()]}"
    assert failures(heard)
    for secret in (SECRET, KEY, KEY.removeprefix("whsec_")):
        assert secret not in shown
