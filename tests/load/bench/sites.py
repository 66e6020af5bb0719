"""A site with many users and sessions, and their tokens."""

import itertools

from tests.support.sites import SECRET_KEY
from wsgiauth import AuthMiddleware, Settings, User, storage
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.keys import api_keys

HASH = "$2b$12$" + 53 * "x"  # of no password
CREATED_AT = "2026-01-01 12:00:00"

USER = """
    INSERT INTO wsgiauth_user
        (id, username, username_key, email, email_key, hashed_password, security_stamp,
         is_active, is_staff, is_superuser, created_at)
    VALUES (?, ?, ?, ?, ?, ?, 0, TRUE, FALSE, FALSE, ?)
"""
SESSION = """
    INSERT INTO wsgiauth_session
        (id, user_id, stamp, created_at, expires_at, ends_at, idle, last_seen_at, authenticated_at,
         methods, generation, refreshed_at, address, agent)
    VALUES (?, ?, 0, ?, ?, ?, ?, 0, 0, 'pwd', 0, 0, '', '')
"""


class Site:
    """An application in front of an empty database with as many users, each of them logged in.

    Attributes:
        path: The file of SQLite, or the name of a server's database.
        settings: Those of the middleware.
        app: The wrapped application.

    Args:
        url: The database, which is empty.
        app: The application.
        people: How many users.
        idle: By how many seconds use moves the end of every second login, from the first on; 0: all
            are fixed.
        settings: Further ones.
    """

    def __init__(self, url, app, people, *, idle=0, **settings):
        self.settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url, **settings)
        self.app = AuthMiddleware(app, self.settings)
        database = self.app.database
        self.path = database.database
        self._people, self._idle = people, idle
        self._tokens = Tokens(self.settings)
        self._expires_at = int(self._tokens.now()) + self._tokens.lifetime
        with database.atomic():
            cursor, numbers = database.cursor(), range(1, people + 1)
            cursor.executemany(USER.replace("?", database.param), map(_user, numbers))
            cursor.executemany(SESSION.replace("?", database.param), map(self._session, numbers))

    def tokens(self, number, *, edition=0):
        """Return tokens of as many sessions, spread over all; each edition has other ones."""
        return [
            self._tokens.issue(each, session_id(each), self._expires_at + edition)
            for each in self._spread(number)
        ]

    def keys(self, number):
        """Make an API key for as many users, and return the keys."""
        now = int(self._tokens.now())
        with storage.context.using(self.app.database):
            users = User.select().where(User.id.in_(self._spread(number)))
            for user in users:
                user.grant("bench.read")
            return [api_keys.create(user, "bench", ["bench.read"], now=now).text for user in users]

    def session_ids(self, number):
        """Return the ids of the sessions that `tokens` are for."""
        return [session_id(each) for each in self._spread(number)]

    def never_seen(self, number):
        """Yield tokens that have not been shown before, without end."""
        for edition in itertools.count(1):
            yield from self.tokens(number, edition=edition)

    def _spread(self, number):
        step = max(1, self._people // number)
        return range(1, number * step + 1, step)

    def _session(self, number):
        idle = self._idle if number % 2 else 0
        ends_at = self._expires_at + idle
        return session_id(number), number, CREATED_AT, self._expires_at, ends_at, idle


def _user(number):
    name, email = f"user{number}", f"user{number}@example.org"
    return number, name, name, email, email, HASH, CREATED_AT


def session_id(number):
    return f"{number * 2654435761 % 2**32:022}"  # in no order, as random ones are
