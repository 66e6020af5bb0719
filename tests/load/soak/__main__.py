"""The program: see the package."""

import sys
import tempfile
import time
from collections import Counter, defaultdict, deque
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

from playhouse import db_url

from tests.load.soak.clients import Notes, Pace, running
from tests.load.soak.figures import Meter, compare, print_head, print_row
from tests.load.soak.mails import receiving as receiving_mails
from tests.load.soak.site import fill, purge, serve, settings_of
from tests.load.soak.stories import Visitor
from tests.support.hostile_provider import Provider
from tests.support.logout_receiver import receiving as receiving_logouts
from tests.support.own_databases import own_database
from tests.support.sites import spawned

SECONDS = 3600
INTERVAL = 60  # seconds
MEASUREMENTS = 30  # at least
RATE = 200  # requests a second
CLIENTS = 12
LONGEST = 1 / 30  # of the time: how long the server keeps anything
LEAST = 20  # seconds


def main(seconds, databases):
    """Run on each database, and return whether all is well."""
    results = [soak(seconds, each) for each in databases]
    return all(results)


def soak(seconds, kind):
    """Run on one database; print the table and the verdict, and return whether all is well."""
    print(f"\n{kind}, {seconds:.0f} seconds", flush=True)
    notes, longest = Notes(), max(LEAST, round(seconds * LONGEST))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/soak.db"
        if kind == "postgresql":
            url = stack.enter_context(own_database(kind, "wsgiauth_soak"))
        mail_port, postbox = stack.enter_context(receiving_mails())
        logouts = stack.enter_context(receiving_logouts())
        logouts.requests, numbers = deque(maxlen=1), count(1)
        logouts.action = partial(next, numbers)
        provider = stack.enter_context(Provider())
        provider.requests = defaultdict(partial(deque, maxlen=1))
        settings = settings_of(url, folder, mail_port, provider)
        world = SimpleNamespace(
            people=fill(settings, logouts.uri), postbox=postbox, provider=provider, clients=CLIENTS
        )
        process, address = stack.enter_context(spawned(serve, settings, longest))
        pace = Pace(RATE)
        visitors = [Visitor(world, each, address, pace, notes) for each in range(CLIENTS)]
        database = db_url.connect(url, autocommit=True)
        stack.callback(database.close)
        if kind == "postgresql":
            require_autovacuum(database)
        stack.enter_context(running(visitors, notes))
        measured = measure(seconds, Meter(process.pid, database, notes), settings, longest)
    complaints = compare(measured)
    report(notes, seconds)
    print(f"{postbox.received} emails, {next(numbers) - 1} logout tokens")
    complaints += [f"{notes.mistaken} answers were wrong, such as:", *notes.mistakes] * bool(
        notes.mistaken
    )
    print(*complaints or ["Nothing grew, and nothing failed."], sep="\n", flush=True)
    return not complaints


def require_autovacuum(database):
    """Exit if the server keeps the room of deleted rows, as no server in use does."""
    (setting,) = database.execute_sql("SHOW autovacuum").fetchone()
    if setting != "on":
        sys.exit("PostgreSQL's autovacuum is off, so its files only grow.")


def measure(seconds, meter, settings, longest):
    """Return what was measured, a row at a time, and purge meanwhile."""
    print_head()
    measured = []
    steps = max(MEASUREMENTS, round(seconds / INTERVAL))
    for step in range(1, steps + 1):
        time.sleep(max(0, meter.began + seconds * step / steps - time.monotonic()))
        measured.append(meter.measure())
        print_row(measured[-1].cells())
        purge(settings, longest)
    return measured


def report(notes, seconds):
    """Print how often each request got each status."""
    statuses = Counter()
    print()
    for (request, status), number in sorted(notes.answers.items()):
        statuses[status] += number
        print(f"{number:9} {status} {request}")
    total = statuses.total()
    print(f"\n{total} requests, {total / seconds:.0f} a second of the {RATE} that were wanted")
    print("by status:", ", ".join(f"{each}: {statuses[each]}" for each in sorted(statuses)))


if __name__ == "__main__":
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    databases = sys.argv[2] if len(sys.argv) > 2 else "sqlite,postgresql"
    sys.exit(0 if main(seconds, databases.split(",")) else 1)
