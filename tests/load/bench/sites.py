"""A site with many users and sessions, and their tokens."""

import itertools
import sqlite3
from contextlib import closing

from tests.support.sites import SECRET_KEY
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.authentication.tokens import Tokens

HASH = "$2b$12$" + 53 * "x"  # nobody's
CREATED_AT = "2026-01-01 12:00:00"

USER = "INSERT INTO wsgiauth_user VALUES (?, ?, ?, ?, ?, ?, 1, 0, 0, ?)"
SESSION = "INSERT INTO wsgiauth_session (id, user_id, created_at, expires_at) VALUES (?, ?, ?, ?)"


class Site:
    """An application in front of an SQLite file with as many users, each of them logged in.

    Attributes:
        path: The file.
        settings: Those of the middleware.
        app: The wrapped application.
    """

    def __init__(self, path, app, people):
        self.path = path
        self.settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=f"sqlite:///{path}")
        self.app = AuthMiddleware(app, self.settings)
        self._people = people
        self._tokens = Tokens(self.settings)
        self._expires_at = int(self._tokens.now()) + self._tokens.lifetime
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executemany(USER, map(_user, range(1, people + 1)))
            connection.executemany(SESSION, map(self._session, range(1, people + 1)))

    def tokens(self, number, *, edition=0):
        """Return tokens of as many sessions, spread over all; each edition has other ones."""
        step = max(1, self._people // number)
        return [
            self._tokens.issue(each, _session_id(each), self._expires_at + edition)
            for each in range(1, number * step + 1, step)
        ]

    def never_seen(self, number):
        """Yield tokens that have not been shown before, without end."""
        for edition in itertools.count(1):
            yield from self.tokens(number, edition=edition)

    def _session(self, number):
        return _session_id(number), number, CREATED_AT, self._expires_at


def _user(number):
    name, email = f"user{number}", f"user{number}@example.org"
    return number, name, name, email, email, HASH, CREATED_AT


def _session_id(number):
    return f"{number * 2654435761 % 2**32:022}"  # in no order, as random ones are
