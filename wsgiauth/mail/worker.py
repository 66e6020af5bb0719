"""The threads that send what waits in the database, such as emails.

A thread starts with the first request of a process, and again in a forked process.
"""

import logging
import os
import threading
import time
import weakref
from abc import abstractmethod

import peewee

from wsgiauth import storage
from wsgiauth.parts import Several
from wsgiauth.storage import context
from wsgiauth.storage.connections import DATABASE_ERRORS, discard_connection
from wsgiauth.storage.failures import report_failure

LONGEST_WAIT = 60  # seconds; then what another process left behind is looked for

logger = logging.getLogger("wsgiauth")

_workers: "weakref.WeakSet[Worker]" = weakref.WeakSet()


class _Sender(threading.Thread):
    """A thread that delivers whenever it is `woken`, until `is_ended` or the owner is gone.

    With `is_finishing`, it ends when it has delivered and was not woken meanwhile.
    """

    def __init__(self, owner: "weakref.ref[Queue]", name: str, database: peewee.Database) -> None:
        super().__init__(name=f"wsgiauth-{name}", daemon=True)
        self._owner = owner
        self._database = database
        self.is_ended = self.is_finishing = False
        self.woken = threading.Event()

    def run(self) -> None:
        context.use(self._database)
        while True:
            self.woken.clear()
            owner = None if self.is_ended else self._owner()
            if owner is None:
                return
            wait = _deliver(owner)
            del owner  # it need not stay
            if self.is_finishing and not self.woken.is_set():
                return
            self.woken.wait(wait)


class Worker:
    """Delivers in a daemon thread, which ends with the process or when the owner is not used."""

    _thread: _Sender | None
    has_begun: bool  # whether this process has started the thread, or tried to

    def __init__(self, owner: "Queue") -> None:
        self._owner = weakref.ref(owner)
        self._name, self._content = owner.name, owner.content
        unused = weakref.finalize(owner, self._end)
        unused.atexit = False  # the process need not wait for other servers
        _workers.add(self)
        self.forget()

    def wake(self, database: peewee.Database) -> None:
        """Let the thread deliver now; start it, with its database, if there is none."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                self._thread.woken.set()
            else:
                self._start(database)

    def stop(self) -> None:
        """End the thread, and wait for what it is sending."""
        thread = self._end()
        if thread is not None:
            thread.join()

    def end_when_sent(self) -> None:
        """Let the thread end when it has sent what is due."""
        thread = self._thread
        if thread is not None:
            thread.is_finishing = True
            thread.woken.set()

    def finish(self, seconds: float) -> None:
        """Wait at most so long until a thread that is `ending` has ended."""
        thread = self._thread
        if thread is not None:
            thread.join(max(seconds, 0))

    def forget(self) -> None:
        """Forget the thread and the lock: a forked process has no thread, and locks may be held."""
        self._lock = threading.Lock()
        self._thread = None
        self.has_begun = False

    def _start(self, database: peewee.Database) -> None:
        self.has_begun = True
        thread = _Sender(self._owner, self._name, database)
        try:
            thread.start()
        except RuntimeError:  # too many threads; the next wake-up tries again
            logger.warning("the thread that sends %s cannot be started", self._content)
            return
        self._thread = thread

    def _end(self) -> threading.Thread | None:
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.is_ended = True
            thread.woken.set()
        return thread


class Queue(Several):
    """What a thread of its own sends, from rows in the database.

    Attributes:
        name: Of the thread.
        content: What is sent, for the log.
    """

    name: str
    content: str

    def __init__(self) -> None:
        self._worker = Worker(self)

    @abstractmethod
    def deliver(self) -> float | None:
        """Send what is due; return the seconds until the next one, or None."""

    def start(self) -> None:
        """Start the thread once in a process, for what other processes left.

        A request calls this, not the start of the site: a server can fork after that, and a running
        thread would leave its locks held in the new process.
        """
        if not self._worker.has_begun:
            self._wake(storage.current())

    def stop(self) -> None:
        """Stop the thread; the next wake-up starts another one."""
        self._worker.stop()

    def is_stopped(self) -> bool:
        """Return whether this is a thread that shall end, so that it must begin nothing more."""
        thread = threading.current_thread()
        return isinstance(thread, _Sender) and thread.is_ended

    def is_finishing(self) -> bool:
        """Return whether this is a thread that shall end when it has sent what is due."""
        thread = threading.current_thread()
        return isinstance(thread, _Sender) and thread.is_finishing

    def wake_after_commit(self) -> None:
        """Deliver after this transaction, or now outside of one."""
        chosen = storage.current()
        if chosen.in_transaction():
            chosen.after_commit(lambda: self._wake(chosen))
        else:
            self._wake(chosen)

    def _wake(self, chosen: peewee.Database) -> None:
        self._worker.wake(chosen)


def finish_all(deadline: float) -> None:
    """Let the threads of this process send what is due, until a time of `time.monotonic`."""
    workers = list(_workers)
    for each in workers:
        each.end_when_sent()
    for each in workers:
        each.finish(deadline - time.monotonic())


def _deliver(owner: Queue) -> float:
    """Deliver once, and return how long to wait; no error ends the thread."""
    wait = None
    try:
        wait = owner.deliver()
    except DATABASE_ERRORS as error:
        report_failure(error)
    except Exception:
        logger.exception("%s were not sent", owner.content)
    else:
        discard_connection(storage.current())
    return LONGEST_WAIT if wait is None else min(wait, LONGEST_WAIT)


def _forget_threads() -> None:  # pragma: no cover - tested in a process that ends at once
    for worker in list(_workers):
        worker.forget()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    os.register_at_fork(after_in_child=_forget_threads)
