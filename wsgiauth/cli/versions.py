"""`--version`, and with `--verbose` the versions that a report of a bug needs."""

import platform
import sqlite3
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from wsgiauth.console.output import print_line
from wsgiauth.version import __version__

# What `setup.py` names, and what decides how that behaves.
_DISTRIBUTIONS = (
    *("WebOb", "PyJWT", "bcrypt", "peewee", "Jinja2", "MarkupSafe", "waitress"),
    *("psycopg", "psycopg-binary", "PyMySQL"),
    *("segno", "fido2", "cryptography", "argon2-cffi", "prometheus-client"),
    *("Flask", "Werkzeug", "Django", "pyramid", "bottle", "falcon", "CherryPy"),
)


def print_versions(*, verbose: bool) -> None:
    """Print the version of wsgiauth, or a line for each part; never a setting."""
    print_line(f"wsgiauth {__version__}")
    for name, found in _parts() if verbose else ():
        print_line(f"{name} {found}")


def _parts() -> Iterator[tuple[str, str]]:
    yield platform.python_implementation(), platform.python_version()
    yield "platform", platform.platform()
    yield "SQLite", sqlite3.sqlite_version
    for name in _DISTRIBUTIONS:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue
