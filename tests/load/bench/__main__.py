"""Print every table and draw the figure: `python -m tests.load.bench`, or only the tables named."""

import logging
import platform
import sys
import tempfile
import warnings
from datetime import date
from pathlib import Path

warnings.simplefilter("ignore")  # what peers' packages say of each other

from tests.load.bench import (  # noqa: E402
    changes,
    databases,
    figure,
    footprint,
    growth,
    languages,
    logins,
    provider,
    requests,
    served,
    services,
    writes,
)

TABLES = {
    "requests": requests.report,
    "databases": databases.report,
    "served": served.report,
    "services": services.report,
    "provider": provider.report,
    "changes": changes.report,
    "writes": writes.report,
    "logins": logins.report,
    "growth": growth.report,
    "languages": languages.report,
    "footprint": footprint.report,
}


def main(names):
    """Print the tables of these names."""
    logging.disable()  # of events and warnings, which are not measured here
    machine = f"Python {platform.python_version()}, {logins.CORES} cores, {date.today()}"
    print(machine)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            rows = TABLES[name](Path(folder))
        if name == "requests":
            draw(machine, *rows)


def draw(machine, costs, compared):
    """Draw what one would take instead of wsgiauth, from the slowest to the floor."""
    peers = sorted((name, never) for name, (_, never) in compared.items() if name != "wsgiauth")
    seen, never_seen = compared["wsgiauth"]
    figure.draw(
        [
            *((name, cost, "peer") for name, cost in sorted(peers, key=lambda row: -row[1])),
            ("wsgiauth, token never seen", never_seen, "ours"),
            ("wsgiauth, token seen before", seen, "ours"),
            ("by hand", costs[requests.FLOOR], "floor"),
        ],
        f"The token verified, its login not revoked, its user loaded and active. {machine}.",
    )


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - TABLES.keys()
    if unknown:
        sys.exit(f"There are no tables {', '.join(unknown)}; there are {', '.join(TABLES)}.")
    main(sys.argv[1:] or TABLES)
