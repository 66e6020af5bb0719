"""Two processes: one stops before its commit, and the other goes on until it waits or is done."""

import traceback
from contextlib import contextmanager

import peewee

from tests.support.lock_waits import LOCK_WAITS, POLL
from tests.support.processes import PATIENCE
from tests.support.sites import FORKSERVER
from wsgiauth import storage
from wsgiauth.mail.worker import Worker
from wsgiauth.storage import databases, postgres_mysql
from wsgiauth.storage.connections import DATABASE_ERRORS

DONE, HELD, WRITES = "done", "held", "writes"
FIRST, EARLY, SECOND = "first", "early", "second"  # of the two processes
_CHANGES = ("INSERT", "UPDATE", "DELETE")


class Pair:
    """Two processes that serve one race after the other."""

    def __init__(self, pipes):
        self._first, self._second = pipes

    def race(self, kind, url, first, second, *, is_early):
        """Return the results of two calls, of which the first is not committed when both run.

        Args:
            kind: Of the database, which is the current one.
            url: Of the database.
            first: A function and its arguments.
            second: The same. It runs until it waits for the first, or is done.
            is_early: Whether the first stops after its first change already.
        """
        self._first.send((url, EARLY if is_early else FIRST, *first))
        stopped, result = self._first.recv()
        self._second.send((url, SECOND, *second))
        self._await_second(kind)
        if stopped == HELD:
            self._first.send("go on")
            _, result = self._first.recv()
        reached, other = self._second.recv()
        while reached == WRITES:
            reached, other = self._second.recv()
        return result, other

    def _await_second(self, kind):
        if kind == "sqlite":  # the second says so before it waits
            self._second.poll(None)
            return
        while not self._second.poll(POLL[kind]):
            if storage.current().execute_sql(LOCK_WAITS[kind]).fetchone() == (1,):
                return


class Stops:
    """Stops the first process before it commits a change; lets the second announce its first one.

    A lock that is a change of `locks` is none here.
    """

    def __init__(self, database, pipe, part):
        self._database, self._pipe, self._part = database, pipe, part
        self._execute, self._begin = database.execute_sql, database.begin
        self._commit = database.commit
        self._has_changed = self._has_stopped = False
        database.execute_sql, database.begin = self.execute_sql, self.begin
        database.commit = self.commit

    def begin(self, *args, **options):
        self._announce()
        self._begin(*args, **options)

    def execute_sql(self, sql, params=None):
        is_change = sql.startswith(_CHANGES) and "SET `locks`" not in sql
        if is_change:
            self._announce()
        self._has_changed |= is_change and self._database.in_transaction()
        result = self._execute(sql, params)
        if self._part == EARLY:
            self._stop()
        return result

    def commit(self):
        if self._part == FIRST:
            self._stop()
        self._has_changed = False
        return self._commit()

    def end(self):
        del self._database.execute_sql, self._database.begin, self._database.commit

    def _announce(self):
        is_sqlite = isinstance(self._database, peewee.SqliteDatabase)
        if is_sqlite and self._part == SECOND and not self._has_stopped:
            self._has_stopped = True
            self._pipe.send((WRITES, None))

    def _stop(self):
        if self._has_changed and not self._has_stopped:
            self._has_stopped = True
            self._pipe.send((HELD, None))
            self._pipe.recv()


@contextmanager
def pair_of_processes():
    """Yield a `Pair`."""
    ends = [FORKSERVER.Pipe() for _ in range(2)]
    processes = [FORKSERVER.Process(target=_serve, args=(theirs,)) for _, theirs in ends]
    for process in processes:
        process.start()
    for _, theirs in ends:
        theirs.close()
    yield Pair([ours for ours, _ in ends])
    for (ours, _), process in zip(ends, processes, strict=True):
        ours.send(None)
        process.join()
        process.close()
        ours.close()


def _serve(pipe):
    Worker._start = lambda *_: None
    databases.BUSY_TIMEOUT = postgres_mysql.Server.lock_timeout = PATIENCE
    postgres_mysql.Server.read_timeout = None
    opened = {}
    while (message := pipe.recv()) is not None:
        url, part, action, *arguments = message
        if url not in opened:
            for each in opened.values():
                storage.discard_connection(each)
            opened = {url: storage.open_database(url, prepare=lambda _: None)}
        stops = Stops(opened[url], pipe, part)
        try:
            result = action(*arguments)
        except Exception as error:
            result = type(error).__name__
            if isinstance(error, DATABASE_ERRORS):
                traceback.print_exc()
        stops.end()
        pipe.send((DONE, result))
