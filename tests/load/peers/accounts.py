"""The users and logins that all peers look up, and the tokens of those logins."""

import secrets
import sqlite3
import time
from contextlib import closing

import jwt

from tests.support.sites import SECRET_KEY

LIFETIME = 3600  # seconds
HASH = "$2b$12$" + 53 * "x"  # nobody's

# What wsgiauth keeps of them, too. WAL mode stays with the file; without row ids, a login is found
# in one tree rather than two.
SCHEMA = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE users (
        id INTEGER PRIMARY KEY, username TEXT NOT NULL UNIQUE, email TEXT NOT NULL UNIQUE,
        hashed_password TEXT NOT NULL, is_active INTEGER NOT NULL, is_staff INTEGER NOT NULL,
        is_superuser INTEGER NOT NULL, created_at TEXT NOT NULL
    );
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users,
        created_at TEXT NOT NULL, expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;
"""
CREATED_AT = "2026-01-01 12:00:00.000000"  # as all their libraries write it
USER = "INSERT INTO users VALUES (?, ?, ?, ?, 1, 0, 0, ?)"
SESSION = "INSERT INTO sessions VALUES (?, ?, ?, ?)"


class Accounts:
    """A new SQLite file with as many users and sessions.

    Attributes:
        path: The file.
        tokens: One for each session, signed.
    """

    def __init__(self, path, users, sessions):
        self.path = path
        expires_at = int(time.time()) + LIFETIME
        logins = [(secrets.token_urlsafe(16), number % users + 1) for number in range(sessions)]
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(SCHEMA)
            connection.executemany(USER, map(self._user, range(1, users + 1)))
            connection.executemany(
                SESSION, [(jti, user_id, CREATED_AT, expires_at) for jti, user_id in logins]
            )
        self.tokens = [issue(user_id, jti, expires_at) for jti, user_id in logins]

    def log_in(self, user_id, *, lifetime=LIFETIME, subject=None):
        """Begin a session and return its token, made out to `subject` instead if that is given."""
        jti, expires_at = secrets.token_urlsafe(16), int(time.time()) + lifetime
        self._execute(SESSION, jti, user_id, CREATED_AT, expires_at)
        return issue(subject or user_id, jti, expires_at)

    def log_out(self, token):
        jti = jwt.decode(token, options={"verify_signature": False})["jti"]
        self._execute("DELETE FROM sessions WHERE id = ?", jti)

    def set_active(self, user_id, is_active):
        self._execute("UPDATE users SET is_active = ? WHERE id = ?", is_active, user_id)

    def username(self, user_id):
        return f"user{user_id}"

    def _user(self, user_id):
        username = self.username(user_id)
        return user_id, username, f"{username}@example.org", HASH, CREATED_AT

    def _execute(self, statement, *parameters):
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement, parameters)


def issue(user_id, jti, expires_at):
    """Return a signed token, with the claims that all peers understand."""
    claims = {"sub": str(user_id), "jti": jti, "iat": expires_at - LIFETIME, "exp": expires_at}
    return jwt.encode(claims, SECRET_KEY, algorithm="HS256")
