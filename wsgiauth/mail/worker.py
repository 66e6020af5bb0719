"""The thread that sends mails: it starts with the first one, and again in a forked process."""

import logging
import os
import threading
import weakref
from collections.abc import Callable

import peewee

from wsgiauth import storage
from wsgiauth.storage import context
from wsgiauth.storage.connections import DATABASE_ERRORS, discard_connection
from wsgiauth.storage.failures import report_failure

LONGEST_WAIT = 60  # seconds; then mails that another process left behind are looked for

logger = logging.getLogger("wsgiauth")

_workers: "weakref.WeakSet[Worker]" = weakref.WeakSet()


class _Sender(threading.Thread):
    """One thread: it works whenever it is woken, until `stop` ends it."""

    def __init__(
        self, work: "weakref.WeakMethod[Callable[[], float | None]]", database: peewee.Database
    ) -> None:
        super().__init__(name="wsgiauth-mail", daemon=True)
        self._work = work
        self._database = database
        self.is_ended = False
        self._woken = threading.Event()

    def wake(self) -> None:
        """Work now, or again if it does so already."""
        self._woken.set()

    def end(self) -> None:
        """End after what it is doing."""
        self.is_ended = True
        self._woken.set()

    def run(self) -> None:
        context.use(self._database)
        while True:
            self._woken.clear()
            work = None if self.is_ended else self._work()
            if work is None:
                return
            wait = _call(work)
            del work  # the owner need not stay
            self._woken.wait(wait)


class Worker:
    """Calls a method in a daemon thread: at once when it is woken, and whenever it says.

    The thread ends with the process, or when the owner of the method is no longer used.

    Args:
        work: A method that returns the seconds until the next call, or None.

    Attributes:
        has_begun: Whether this process has started the thread, or tried to.
    """

    _thread: _Sender | None

    def __init__(self, work: Callable[[], float | None]) -> None:
        self._work = weakref.WeakMethod(work)
        unused = weakref.finalize(work.__self__, self._end)  # type: ignore[attr-defined]
        unused.atexit = False  # the process need not wait for a mail server
        _workers.add(self)
        self.forget()

    def wake(self, database: peewee.Database) -> None:
        """Let the thread work now; start it if there is none.

        Args:
            database: The database of the thread.
        """
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                self._thread.wake()
            else:
                self._start(database)

    def stop(self) -> None:
        """End the thread, and wait for the mail that it is sending."""
        thread = self._end()
        if thread is not None:
            thread.join()

    def forget(self) -> None:
        """Begin without a thread: a forked process has none, and its locks may be held."""
        self._lock = threading.Lock()
        self._thread = None
        self.has_begun = False

    def _start(self, database: peewee.Database) -> None:
        self.has_begun = True
        thread = _Sender(self._work, database)
        try:
            thread.start()
        except RuntimeError:  # too many threads; the next mail tries again
            logger.warning("the thread that sends mails cannot be started")
            return
        self._thread = thread

    def _end(self) -> threading.Thread | None:
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.end()
        return thread


def _call(work: Callable[[], float | None]) -> float:
    """Work once, and return how long to wait; no error ends the thread."""
    try:
        wait = work()
    except DATABASE_ERRORS as error:
        report_failure(error)
        return LONGEST_WAIT
    except Exception:
        logger.exception("mails were not sent")
        return LONGEST_WAIT
    discard_connection(storage.current())
    return LONGEST_WAIT if wait is None else min(wait, LONGEST_WAIT)


def _forget_threads() -> None:  # pragma: no cover - tested in a process that ends at once
    for worker in list(_workers):
        worker.forget()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows cannot fork
    os.register_at_fork(after_in_child=_forget_threads)
