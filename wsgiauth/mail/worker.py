"""The thread that sends emails: it starts with the first one, and again in a forked process."""

import logging
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING

import peewee

from wsgiauth import storage
from wsgiauth.storage import context
from wsgiauth.storage.connections import DATABASE_ERRORS, discard_connection
from wsgiauth.storage.failures import report_failure

if TYPE_CHECKING:
    from wsgiauth.mail.outbox import Outbox

LONGEST_WAIT = 60  # seconds; then emails that another process left behind are looked for

logger = logging.getLogger("wsgiauth")

_workers: "weakref.WeakSet[Worker]" = weakref.WeakSet()


class _Sender(threading.Thread):
    """A thread that delivers whenever it is `woken`, until `is_ended` or the owner is gone.

    With `is_finishing`, it ends when it has delivered and was not woken meanwhile.
    """

    def __init__(self, owner: "weakref.ref[Outbox]", database: peewee.Database) -> None:
        super().__init__(name="wsgiauth-mail", daemon=True)
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

    def __init__(self, owner: "Outbox") -> None:
        self._owner = weakref.ref(owner)
        unused = weakref.finalize(owner, self._end)
        unused.atexit = False  # the process need not wait for a mail server
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
        """End the thread, and wait for the email that it is sending."""
        thread = self._end()
        if thread is not None:
            thread.join()

    def finish(self, seconds: float) -> None:
        """End the thread when it has sent the emails that are due; wait at most so long."""
        thread = self._thread
        if thread is not None:
            thread.is_finishing = True
            thread.woken.set()
            thread.join(max(seconds, 0))

    def forget(self) -> None:
        """Forget the thread and the lock: a forked process has no thread, and locks may be held."""
        self._lock = threading.Lock()
        self._thread = None
        self.has_begun = False

    def _start(self, database: peewee.Database) -> None:
        self.has_begun = True
        thread = _Sender(self._owner, database)
        try:
            thread.start()
        except RuntimeError:  # too many threads; the next email tries again
            logger.warning("the thread that sends emails cannot be started")
            return
        self._thread = thread

    def _end(self) -> threading.Thread | None:
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.is_ended = True
            thread.woken.set()
        return thread


def finish_all(deadline: float) -> None:
    """Let the threads of this process send what is due, until a time of `time.monotonic`."""
    for each in list(_workers):
        each.finish(deadline - time.monotonic())


def _deliver(owner: "Outbox") -> float:
    """Deliver once, and return how long to wait; no error ends the thread."""
    wait = None
    try:
        wait = owner.deliver()
    except DATABASE_ERRORS as error:
        report_failure(error)
    except Exception:
        logger.exception("emails were not sent")
    else:
        discard_connection(storage.current())
    return LONGEST_WAIT if wait is None else min(wait, LONGEST_WAIT)


def _forget_threads() -> None:  # pragma: no cover - tested in a process that ends at once
    for worker in list(_workers):
        worker.forget()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    os.register_at_fork(after_in_child=_forget_threads)
