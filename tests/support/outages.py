"""A database that is away for a moment."""

from contextlib import contextmanager

from peewee import OperationalError


@contextmanager
def database_away(monkeypatch):
    """Let no session be found, because the database does not answer."""

    def fail(*arguments, **options):
        raise OperationalError("away")

    with monkeypatch.context() as patched:
        patched.setattr("wsgiauth.authentication.sessions.Sessions.find", fail)
        yield
