"""Logins: started as a row and a token together, found on every request, ended at any time.

On the way of a request this is the one question to the database: does this token's login stand?
"""

import secrets

import peewee

from wsgiauth import events
from wsgiauth.accounts.models import CALLER, Session, User
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage import Statement, database
from wsgiauth.storage.purge import purge_expired, purge_some

# A session's user, if the session stands: its row is there, its time is not over, and its user is
# active. One row by primary key, joined to one row by primary key.
_FIND = Statement(
    lambda: (
        User.select(*CALLER)
        .join(Session, on=(Session.user == User.id))
        .where(Session.id == "", Session.expires_at > 0, User.is_active)
    )
)

_LATEST = 2**63 - 1  # the largest `expires_at`


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
    purge_some(Session, tokens.now())
    events.emit("login", user_id=user.id)
    return tokens.issue(user.id, session_id, expires_at)


def find(token: str, tokens: Tokens) -> tuple[User, str] | None:
    """Return whose login `token` belongs to, and the login's id, if it stands; or None.

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
    if str(row[0]) != claims.subject:
        return None
    return User.from_row(row), claims.session_id


def end(session_id: str, user: User) -> None:
    """End a login of `user`; if it has ended already, do nothing.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        of_user = Session.delete().where(Session.id == session_id, Session.user == user.id)
        ended = of_user.execute()
    if ended:
        events.emit("logout", user_id=user.id)


def end_all(user: User) -> int:
    """End all of a user's logins and return how many there were.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        ended: int = Session.delete().where(Session.user == user.id).execute()
    if ended:
        events.emit("logout", user_id=user.id, reason="all sessions")
    return ended


def end_everyone() -> int:
    """End all logins of all users and return how many there were.

    A few at a time, so that requests go on meanwhile. A login that begins meanwhile may stay.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    ended = purge_expired(Session, _LATEST)
    if ended:
        events.emit("logout", reason="all sessions of all users")
    return ended


def live(user: User, now: float) -> "peewee.ModelSelect[Session]":
    """Return a user's logins that have not expired at `now` (seconds since the epoch)."""
    of_user = Session.select().where(Session.user == user.id, Session.expires_at > int(now))
    return of_user.order_by(Session.expires_at)


def purge(now: float) -> int:
    """Delete sessions that have expired at `now` (seconds since the epoch); return how many.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    return purge_expired(Session, now)
