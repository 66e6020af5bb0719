"""Logins: started as a row and a token together, found on every request, ended at any time.

On the way of a request this is the one question to the database: does this token's login stand?
"""

import logging
import secrets
from typing import NamedTuple

import peewee

from wsgiauth.databases import FAILURES
from wsgiauth.models import Session, User
from wsgiauth.storage import Statement, database
from wsgiauth.tokens import Tokens

PURGE_LIMIT = 100  # expired rows that one login clears away

logger = logging.getLogger("wsgiauth")


class Login(NamedTuple):
    """A login that stands.

    Attributes:
        user: Who is logged in, as the database knows them now.
        session_id: The login's id; the token's `jti`.
    """

    user: User
    session_id: str


# A session's user, if the session stands: its row is there, its time is not over, and its user is
# active. One row by primary key, joined to one row by primary key.
_FIND = Statement(
    lambda: (
        User.select()
        .join(Session, on=(Session.user == User.id))
        .where(Session.id == "", Session.expires_at > 0, User.is_active)
    )
)


def start(user: User, tokens: Tokens) -> str | None:
    """Begin a login of `user` and return its access token.

    Args:
        user: Just authenticated, as read before the password was verified.
        tokens: Issues the token.

    Returns:
        The token, or None when the user was deactivated, deleted or given another password while
        theirs was being verified.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    session_id = secrets.token_urlsafe(16)
    expires_at = int(tokens.now()) + tokens.lifetime
    with database.atomic():
        # The change that ends all sessions may be happening right now. Whichever of the two has
        # the user's row first, the other waits for: either the change sees this session and ends
        # it, or this SELECT sees the change. SQLite's transactions exclude each other anyway.
        still_the_same = User.select(User.id).where(
            User.id == user.id, User.is_active, User.hashed_password == user.hashed_password
        )
        if database.for_update:
            still_the_same = still_the_same.for_update()
        if still_the_same.first() is None:
            return None
        Session.insert(id=session_id, user=user.id, expires_at=expires_at).execute()
    _purge_some(int(tokens.now()))
    return tokens.issue(user.id, session_id, expires_at)


def find(token: str, tokens: Tokens) -> Login | None:
    """Return the login that `token` belongs to, if it stands, or None.

    Costs one SELECT; none when the token itself is not valid.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    claims = tokens.verify(token)
    if claims is None:
        return None
    row = _FIND.fetchone(claims.session_id, int(tokens.now()))
    if row is None:
        return None
    user = User.from_row(row)
    if str(user.id) != claims.subject:
        return None
    return Login(user, claims.session_id)


def end(session_id: str) -> None:
    """End a login; if it has ended already, do nothing.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        Session.delete().where(Session.id == session_id).execute()


def end_all(user: User) -> int:
    """End all of a user's logins and return how many there were.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        ended: int = Session.delete().where(Session.user == user.id).execute()
    return ended


def live(user: User, now: float) -> "peewee.ModelSelect[Session]":
    """Return a user's logins that have not expired at `now` (seconds since the epoch)."""
    of_user = Session.select().where(Session.user == user.id, Session.expires_at > int(now))
    return of_user.order_by(Session.expires_at)


def purge(now: float, *, limit: int = 1000) -> int:
    """Delete sessions that have expired at `now`, and return how many.

    A few at a time, by primary key, so that logins and requests go on meanwhile.

    Args:
        now: Seconds since the epoch.
        limit: How many at a time.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    deleted = 0
    while True:
        some = _purge_batch(int(now), limit)
        deleted += some
        if some < limit:
            return deleted


def _purge_batch(now: int, limit: int) -> int:
    expired = Session.select(Session.id).where(Session.expires_at <= now)
    ids = [each.id for each in expired.order_by(Session.expires_at).limit(limit)]
    if not ids:
        return 0
    with database.atomic():
        Session.delete().where(Session.id.in_(ids)).execute()
    return len(ids)


def _purge_some(now: int) -> None:
    try:
        _purge_batch(now, PURGE_LIMIT)
    except FAILURES as error:
        # The login itself is safe in the database. What stays behind, the next login clears.
        logger.warning("expired sessions could not be purged: %s", type(error).__name__)
