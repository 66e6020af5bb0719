"""The thread of an outbox: when it starts and ends, what it survives, and many processes."""

import gc
import logging
import os
import time
from contextlib import contextmanager
from threading import Event, Thread
from threading import enumerate as all_threads

import peewee
import pytest

from tests.support.declared import COMPOSERS
from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import SECRET_KEY, USERNAME
from wsgiauth import Settings, storage
from wsgiauth.features.links.letters import request_reset
from wsgiauth.mail import worker
from wsgiauth.mail.outbox import Mail, Outbox
from wsgiauth.mail.worker import Queue

MAILS = 40


class Signal(Post):
    """A transport that says when it was called, and acts before that."""

    def __init__(self):
        super().__init__()
        self.arrived = Event()
        self.action = lambda: None

    def __call__(self, message):
        super().__call__(message)
        self.action()
        self.arrived.set()

    def wait(self):
        assert self.arrived.wait(30)
        self.arrived.clear()


@pytest.fixture
def post():
    return Signal()


@pytest.fixture
def outbox(database, settings, post):
    made = Outbox(with_mail(settings), post, COMPOSERS)
    yield made
    made.stop()


def ask(outbox):
    request_reset(outbox, USERNAME, mount="/auth")


def threads():
    """Return the threads that this test started."""
    return [each for each in all_threads() if each.name == "wsgiauth-mail" and each not in others]


others = set()


@pytest.fixture(autouse=True)
def threads_of_other_tests():
    """Know the threads of sites that are still there; some are kept for many tests."""
    others.update(all_threads())
    yield
    others.clear()


@contextmanager
def holding(post):
    """Let the transport say that it was called, and then wait; yields what lets it go on."""
    released = Event()

    def hold():
        post.arrived.set()
        assert released.wait(30)

    post.action = hold
    try:
        yield released.set
    finally:
        released.set()
        post.action = lambda: None


def test_a_process_that_ends_sends_the_emails_of_its_last_requests_first(outbox, post, ada):
    worker.finish_all(time.monotonic() + 30)  # without a thread
    with holding(post) as release:
        ask(outbox)
        post.wait()
        ask(outbox)  # while the first is sent
        worker.finish_all(time.monotonic())  # whose time is over
        assert len(threads()) == 1
        release()
        worker.finish_all(time.monotonic() + 30)
    assert len(post.messages) == 2
    assert threads() == []


@pytest.mark.every_database
def test_the_thread_sends_each_mail(outbox, post, ada):
    assert threads() == []
    for number in (1, 2):
        ask(outbox)
        post.wait()
        assert len(post.messages) == number
        assert len(threads()) == 1


def test_the_thread_sends_after_the_transaction(outbox, post, ada):
    with storage.current().atomic():
        ask(outbox)
        assert threads() == []
    post.wait()


def test_a_stopped_thread_has_ended_and_another_starts_with_the_next_mail(outbox, post, ada):
    for _ in range(2):
        ask(outbox)
        post.wait()
        outbox.stop()
        assert threads() == []
    outbox.stop()
    assert len(post.messages) == 2


def test_a_mail_during_a_stop_leaves_one_thread(outbox, post, ada):
    with holding(post) as release:
        ask(outbox)
        post.wait()
        (first,) = threads()
        stopping = Thread(target=outbox.stop)
        stopping.start()
        while not first.is_ended:
            pass
        ask(outbox)
        post.wait()
        assert len(threads()) == 2
        release()
        stopping.join(30)
        assert not first.is_alive()
    (second,) = threads()
    assert second is not first


@pytest.mark.slow
def test_the_thread_ends_when_its_outbox_is_no_longer_used(settings, database, post, ada):
    outbox = Outbox(with_mail(settings), post, COMPOSERS)
    ask(outbox)
    post.wait()
    (thread,) = threads()
    del outbox
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def test_the_thread_does_not_keep_the_process(outbox, post, ada):
    ask(outbox)
    post.wait()
    assert [each.daemon for each in threads()] == [True]


@contextmanager
def logged(text):
    """Wait until a text was logged."""
    seen = Event()

    class Handler(logging.Handler):
        def emit(self, record):
            if text in record.getMessage():
                seen.set()

    handler = Handler()
    logging.getLogger("wsgiauth").addHandler(handler)
    yield
    assert seen.wait(30)
    logging.getLogger("wsgiauth").removeHandler(handler)


def test_the_thread_survives_a_database_that_is_away(outbox, post, ada, database):
    def take_away():
        database.execute_sql("ALTER TABLE wsgiauth_mail RENAME TO away")

    post.action = take_away
    with logged("the account database failed"):
        ask(outbox)
    post.wait()
    database.execute_sql("ALTER TABLE away RENAME TO wsgiauth_mail")
    post.action = lambda: None
    ask(outbox)
    post.wait()
    assert len(post.messages) == 2


def test_the_thread_survives_an_error_of_ours(settings, database, ada, post):
    times = iter([0, ValueError("no time")])

    def clock():
        time = next(times, 0)
        if isinstance(time, Exception):
            raise time
        return time

    outbox = Outbox(with_mail(settings), post, COMPOSERS, clock=clock)
    with logged("emails were not sent"):
        ask(outbox)
    ask(outbox)
    post.wait()
    outbox.stop()


class Lasting(Queue):
    """Delivers until it is stopped."""

    name, content = "lasting", "letters"

    def __init__(self):
        super().__init__()
        self.begun, self.ended = Event(), Event()

    def deliver(self):
        self.begun.set()
        while not self.is_stopped():
            self.ended.wait(0.01)
        self.ended.set()


def test_a_queue_can_see_that_its_thread_is_stopped(database):
    queue = Lasting()
    queue.wake_after_commit()
    assert queue.begun.wait(30)
    assert not queue.is_stopped()  # another thread is not
    queue.stop()
    assert queue.ended.is_set()


# Many processes


@pytest.mark.every_database
def test_a_forked_process_sends_with_a_thread_of_its_own(outbox, post, ada, database):
    with holding(post) as release:  # so that this process does not send the other one's mail
        ask(outbox)
        post.wait()
        if isinstance(database, peewee.SqliteDatabase):
            release()
            outbox.stop()  # no thread may have a file open while the process forks: see `forks`
        process = os.fork()
        if process == 0:
            is_sent = False
            try:
                post.action = lambda: None
                post.arrived.clear()
                ask(outbox)
                is_sent = post.arrived.wait(30)
            finally:
                os._exit(0 if is_sent else 1)
        assert os.waitpid(process, 0)[1] == 0


def deliver_together(url):
    """Return how many mails this process has sent."""
    storage.open_database(url)
    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url, **MAIL)
    post = Post()
    Outbox(settings, post, COMPOSERS).deliver()
    return len(post.messages)


@pytest.mark.every_database
def test_of_eight_processes_one_sends_each_mail(in_processes, ada, database, settings, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("wsgiauth.mail.worker.Worker._start", lambda *_: None)
        outbox = Outbox(with_mail(settings), Post(), COMPOSERS)
        for _ in range(MAILS):
            ask(outbox)
    sent = in_processes(deliver_together, settings.DATABASE_URL)
    assert sum(sent) == MAILS
    assert Mail.select().count() == 0


@pytest.mark.parametrize("error", [SystemExit, RuntimeError], ids=["an exit", "an error"])
def test_the_thread_survives_what_a_transport_raises(outbox, post, ada, error):
    def fail():
        post.arrived.set()
        raise error

    post.action = fail
    ask(outbox)
    post.wait()
    post.action = lambda: None
    ask(outbox)
    post.wait()
    assert len(threads()) == 1


def test_a_thread_that_cannot_start_fails_no_request_and_starts_later(
    outbox, post, ada, monkeypatch, caplog
):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", refuse)
        ask(outbox)
    assert "cannot be started" in caplog.text
    ask(outbox)
    post.wait()
