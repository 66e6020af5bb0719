"""`--version --verbose`: what a report of a bug needs, and no secret."""

import platform
import re
import sqlite3
from importlib.metadata import PackageNotFoundError, requires, version

import pytest

from tests.support.settings import LONG_KEY
from wsgiauth import __version__
from wsgiauth.cli import main


def needed():
    """Return the distributions that users install with wsgiauth, also by its extras."""
    for requirement in requires("wsgi-accounts"):
        if 'extra == "testing"' not in requirement:
            yield re.match(r"[\w-]+", requirement)[0].lower()


def versions(wsgiauth):
    status, printed, errors = wsgiauth("--version", "--verbose")
    assert (status, errors) == (0, "")
    return dict(line.split(" ", 1) for line in printed.splitlines())


def test_the_versions_that_matter_are_printed(wsgiauth):
    printed = versions(wsgiauth)
    assert printed["wsgiauth"] == __version__
    assert printed[platform.python_implementation()] == platform.python_version()
    assert printed["platform"] == platform.platform()
    assert printed["SQLite"] == sqlite3.sqlite_version
    assert printed["peewee"] == version("peewee")
    assert {name.lower() for name in printed} >= {*needed()}


def test_a_package_that_is_not_installed_is_left_out(wsgiauth, monkeypatch):
    def is_missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("wsgiauth.cli.versions.version", is_missing)
    assert [*versions(wsgiauth)] == [
        *("wsgiauth", platform.python_implementation(), "platform", "SQLite")
    ]


def test_no_setting_is_printed_or_read(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", LONG_KEY)
    monkeypatch.setenv("DATABASE_URL", "nonsense")
    printed = " ".join(versions(wsgiauth).values())
    assert LONG_KEY not in printed
    assert "nonsense" not in printed


def test_verbose_is_about_the_version_alone(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--verbose", "users"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.endswith("error: --verbose needs --version\n")
