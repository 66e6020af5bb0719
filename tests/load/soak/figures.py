"""What is measured as it goes, and what must not have grown at the end."""

import math
import os
import re
import statistics
import time
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

from peewee import PostgresqlDatabase, SqliteDatabase

WARM_AFTER = 1 / 6  # of the time
THIRD = 1 / 3  # of the rest: the median of the first third is compared with that of the last

# By what these medians may differ: a factor, and something more, for what is a small number.
MEMORY_TOLERANCE = (1.05, 1)  # MiB
COUNT_TOLERANCE = (1.0, 3)  # files, threads and connections, which come and go
ROWS_TOLERANCE = (1.25, 100)
SIZE_TOLERANCE = (1.15, 2)  # MiB: pages are used again, but not at once
TIME_TOLERANCE = (1.5, 5)  # milliseconds, on a machine that does other things meanwhile
CPU_TOLERANCE = (1.25, 1)  # milliseconds
RATE_TOLERANCE = 0.9


@dataclass
class Figures:
    """A measurement; the names of the fields head the columns of the table."""

    seconds: int
    requests: float  # a second
    ms50: float
    ms99: float
    cpu: float  # milliseconds of the server's processor time for each request
    rss: float  # MiB
    files: int
    threads: int
    connections: int
    database: float  # MiB
    rows: dict[str, int]  # by table

    def cells(self):
        """Return the values of a row of the table."""
        values = [getattr(self, each.name) for each in fields(self)]
        return [*values[:-1], sum(self.rows.values())]


TOLERANCES = {
    "ms50": TIME_TOLERANCE,
    "ms99": TIME_TOLERANCE,
    "cpu": CPU_TOLERANCE,
    "rss": MEMORY_TOLERANCE,
    "files": COUNT_TOLERANCE,
    "threads": COUNT_TOLERANCE,
    "connections": COUNT_TOLERANCE,
    "database": SIZE_TOLERANCE,
}


class Meter:
    """Measures a server and its database.

    Args:
        process: The number of the server's process.
        database: A connection of our own.
        notes: Of the answers.
    """

    def __init__(self, process, database, notes):
        self._folder = Path(f"/proc/{process}")
        self._database, self._notes = database, notes
        self._tables = [each for each in database.get_tables() if each.startswith("wsgiauth_")]
        self.began = self._last = time.monotonic()
        self._processor_time = self._milliseconds()
        notes.take_times()

    def measure(self):
        """Return the present figures, and those of the requests since the last time."""
        now = time.monotonic()
        times = self._notes.take_times() or [math.nan]
        seconds, self._last = now - self._last, now
        used = self._milliseconds()
        taken, self._processor_time = used - self._processor_time, used
        return Figures(
            seconds=round(now - self.began),
            requests=len(times) / seconds,
            ms50=times[len(times) // 2] * 1000,
            ms99=times[len(times) * 99 // 100] * 1000,
            cpu=taken / len(times),
            rss=self._memory(),
            files=len(list(self._files())),
            threads=len(list((self._folder / "task").iterdir())),
            connections=self._connections(),
            database=self._size() / 2**20,
            rows={each: self._number(f'SELECT count(*) FROM "{each}"') for each in self._tables},  # noqa: S608
        )

    def _milliseconds(self):
        user, system = (
            (self._folder / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
        )
        return (int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")

    def _memory(self):
        status = (self._folder / "status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    def _connections(self):
        if isinstance(self._database, PostgresqlDatabase):
            return self._number(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        return sum(each == self._database.database for each in self._files())

    def _files(self):
        for each in (self._folder / "fd").iterdir():
            with suppress(FileNotFoundError):  # it was closed meanwhile
                yield str(each.readlink())

    def _size(self):
        if isinstance(self._database, SqliteDatabase):
            path = Path(self._database.database)
            return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
        return self._number("SELECT pg_database_size(current_database())")

    def _number(self, query):
        ((number,),) = self._database.execute_sql(query).fetchall()  # which pins no snapshot
        return number


def print_head():
    print_row(each.name for each in fields(Figures))


def print_row(cells):
    """Print one line of the table."""
    texts = (f"{each:.1f}" if isinstance(each, float) else str(each) for each in cells)
    print("".join(f"{each:>12}" for each in texts), flush=True)


def compare(measured):
    """Print what is compared; return a sentence for everything that grew, or became slower."""
    warm = measured[math.ceil(len(measured) * WARM_AFTER) :]
    third = max(1, round(len(warm) * THIRD))
    first, last = warm[:third], warm[-third:]
    complaints = []

    def judge(name, value, tolerance):
        before, after = (statistics.median(map(value, each)) for each in (first, last))
        factor, more = tolerance
        is_met = after <= before * factor + more
        verdict = "flat" if is_met else "GREW"
        print(f"{name:32}{before:12.1f}{after:12.1f}{before * factor + more:12.1f}  {verdict}")
        if not is_met:
            complaints.append(f"{name} grew from {before:.1f} to {after:.1f}.")

    print(f"\n{'median of':32}{'first third':>12}{'last third':>12}{'at most':>12}")
    for name, tolerance in TOLERANCES.items():
        judge(name, lambda each, name=name: getattr(each, name), tolerance)
    before, after = (statistics.median(each.requests for each in part) for part in (first, last))
    factor, more = ROWS_TOLERANCE
    more_requests = max(1, after / before)  # on a machine that was not as fast at first
    for table in measured[0].rows:
        tolerance = factor * more_requests, more
        judge(table, lambda each, table=table: each.rows[table], tolerance)
    if after < before * RATE_TOLERANCE:
        complaints.append(f"Requests a second fell from {before:.0f} to {after:.0f}.")
    return complaints
