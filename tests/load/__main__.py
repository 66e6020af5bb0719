"""Measures what `make measure NAME=…` names: installs what that needs, and runs its programs.

Without a name, it lists the measurements. It needs nothing but Python.
"""

import sys
from pathlib import Path
from subprocess import call
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Measurement(NamedTuple):
    """What a name stands for.

    Attributes:
        purpose: What it does, in a sentence.
        takes: How long it takes.
        modules: The programs, below `tests`.
        parameters: The arguments of each program, with their defaults.
        environment: What the Makefile makes first.
        python: The interpreter.
    """

    purpose: str
    takes: str
    modules: tuple[str, ...]
    parameters: dict[str, str] = {}  # noqa: RUF012 - a NamedTuple's default, never changed
    environment: str = ".venv/dev"
    python: str = ".venv/bin/python"


MEASUREMENTS = {
    "bench": Measurement(
        "Time requests and logins beside other stacks.",
        "10 minutes",
        ("load.bench",),
        environment=".venv/bench",
    ),
    "code-guesses": Measurement(
        "Count the codes from emails that an attacker can guess in a day.",
        "5 minutes",
        ("load.code_guesses",),
    ),
    "contract": Measurement(
        "Compare the answers to right and wrong requests with openapi.json.",
        "30 minutes",
        ("load.contract",),
        {"EXAMPLES": "50"},
    ),
    "flood": Measurement(
        "Time other requests during a flood of logins.",
        "2 minutes",
        ("load.flood",),
    ),
    "former": Measurement(
        "Time failed logins with former passwords, and their import.",
        "2 minutes",
        ("load.former",),
    ),
    "fuzz": Measurement(
        "Check the answers to malformed requests.",
        "a minute",
        ("load.fuzz",),
        {"SECONDS": "60"},
    ),
    "guesses": Measurement(
        "Count the guesses at a second factor in a minute.",
        "5 minutes",
        ("load.guesses",),
    ),
    "house": Measurement(
        "Count the imports and lines of the kernel and the features.",
        "a second",
        ("support.house",),
    ),
    "mail-soak": Measurement(
        "Check that a bad mail server and killed senders lose no email.",
        "5 minutes",
        ("load.mail_soak",),
    ),
    "million": Measurement(
        "Time a million users, metrics, and grants of apps; needs PostgreSQL, MariaDB and 6 GB.",
        "20 minutes",
        ("load.million", "load.million.apps", "load.million.metrics"),
    ),
    "mutants": Measurement(
        "Count the faults in the code of accounts that no test notices.",
        "10 minutes",
        ("load.mutants",),
    ),
    "panel": Measurement(
        "Time the staff panel at a thousand and a million users.",
        "10 minutes",
        ("load.panel",),
    ),
    "soak": Measurement(
        "Check that nothing grows in a server that does everything.",
        "an hour for each database",
        ("load.soak",),
        {"SECONDS": "3600", "DATABASES": "sqlite,postgresql"},
    ),
    "weight": Measurement(
        "Measure the time of an import and the memory of a server.",
        "a minute",
        ("load.weight",),
        environment=".venv/weight",
        python=".venv/weight/bin/python",
    ),
}


def listing():
    """Return the names, with what each does, how long it takes and its parameters."""
    lines = ["Choose a measurement, as in `make measure NAME=flood`:"]
    for name, each in MEASUREMENTS.items():
        parameters = "".join(f"; {key}={value}" for key, value in each.parameters.items())
        lines += [f"  {name:13}{each.purpose}\n{'':15}({each.takes}{parameters})"]
    return "\n".join(lines)


def problem(name, given):
    """Return why a measurement cannot begin; empty if it can."""
    if not name:
        return listing()
    if name not in MEASUREMENTS:
        return f"There is no measurement {name!r}: `make measure` lists them."
    taken = MEASUREMENTS[name].parameters
    if unknown := given.keys() - taken.keys():
        takes = " and ".join(taken) or "no parameter"
        return f"The measurement {name} takes {takes}, not {' and '.join(sorted(unknown))}."
    return ""


def main(name="", *parameters):
    """Run every program of a measurement, and return 0, or the status of the first that failed."""
    given = dict(each.split("=", 1) for each in parameters)
    if found := problem(name, given):
        print(found, file=sys.stderr)
        return 2
    chosen = MEASUREMENTS[name]
    make = ("make", "--no-print-directory", chosen.environment)
    arguments = {**chosen.parameters, **given}.values()
    programs = [(chosen.python, "-m", f"tests.{each}", *arguments) for each in chosen.modules]
    if status := call(make, cwd=ROOT):
        return status
    statuses = [call(each, cwd=ROOT) for each in programs]
    return next(filter(None, statuses), 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
