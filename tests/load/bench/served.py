"""What a request costs over HTTP: waitress, asked by wrk over one connection and over many.

Beside the floor, too: with many connections, the threads hand the interpreter's lock to each other
whenever one asks SQLite, whoever asks, and some machines take long for that.
"""

import logging
import re
import shutil
import statistics
import subprocess
import threading

from tests.load.bench import print_table
from tests.load.bench.requests import FLOOR, floor
from tests.load.bench.sites import Site
from tests.support.sites import serving, spawned

CONNECTIONS = (1, 64)
ROUNDS, SECONDS = 7, 2


def page(environ, start_response):
    """Answer with a page as small as can be."""
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"Hello"]


def by_hand(path):
    """Return the page for those whose token is verified, and user found, by the floor alone."""
    local = threading.local()

    def identified(environ, start_response):
        if not hasattr(local, "find"):
            local.find = floor(path)
        assert local.find(environ["HTTP_AUTHORIZATION"].removeprefix("Bearer ")) is not None
        return page(environ, start_response)

    return identified


def serve(path, pipe):
    """Serve the page without the middleware, with it, and by hand, until told otherwise."""
    logging.disable()  # waitress warns of each request that has to wait
    site = Site(f"sqlite:///{path}", page, 1000)
    with serving(page) as bare, serving(site.app) as wrapped, serving(by_hand(path)) as floored:
        pipe.send((bare, wrapped, floored, site.tokens(1)[0]))
        pipe.recv()


def requests_per_second(address, connections, *headers, script=()):
    """Return what wrk counts; raises if an answer was an error."""
    options = [option for header in headers for option in ("-H", header)]
    run = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}", *options, *script, address],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Non-2xx" not in run.stdout, run.stdout
    return float(re.search(r"Requests/sec:\s+([\d.]+)", run.stdout)[1])


def report(folder):
    """Print the table."""
    if shutil.which("wrk") is None:
        print("\nwrk is not installed: requests over HTTP are left out")
        return
    print("\nRequests a second over HTTP, waitress with 8 threads, and of those without wsgiauth")
    counted = {}
    with spawned(serve, folder / "served.db") as (_, (bare, wrapped, floored, token)):
        cases = {
            "no middleware": (bare,),
            "anonymous": (wrapped,),
            "bearer": (wrapped, f"Authorization: Bearer {token}"),
            FLOOR: (floored, f"Authorization: Bearer {token}"),
        }
        for _ in range(ROUNDS):
            for connections in CONNECTIONS:
                for name, (address, *headers) in cases.items():
                    rate = requests_per_second(address, connections, *headers)
                    counted.setdefault((name, connections), []).append(rate)
    rates = {case: statistics.median(each) for case, each in counted.items()}
    one, many = CONNECTIONS
    print_table(
        ("caller", "1 connection", "of bare", f"{many} connections", "of bare"),
        *(
            (
                name,
                *(rates[name, one], rates[name, one] / rates["no middleware", one]),
                *(rates[name, many], rates[name, many] / rates["no middleware", many]),
            )
            for name in cases
        ),
    )
