"""Fixtures for tests of commands, and a terminal."""

import io
import sys

import pytest

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth.accounts import create_user
from wsgiauth.cli import main


@pytest.fixture
def wsgiauth(monkeypatch, capsys, database, settings):
    """Return a function that runs a command: its exit status, output and errors."""
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.setenv("BCRYPT_ROUNDS", "4")
    monkeypatch.delenv("SECRET_KEY", raising=False)

    def run(*argv, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = main(argv)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def person(database, settings):
    """Return a user to be managed."""
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


class Terminal(io.StringIO):
    """A terminal on which a person answers a question, perhaps after something else happens."""

    def __init__(self, answer, before=lambda: None):
        super().__init__(answer)
        self.before = before

    def isatty(self):
        return True

    def readline(self, *arguments):
        self.before()
        return super().readline(*arguments)
