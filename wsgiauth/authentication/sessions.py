"""Sessions: a login creates a row and a token; each request with the token looks the row up.

On the way of a request, this is the only query: does the token's session still exist?
"""

import secrets

import peewee

from wsgiauth import events
from wsgiauth.accounts.models import CALLER, Session, User
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage import Statement, database
from wsgiauth.storage.purge import purge_expired, purge_some

# Selects the user of a valid session: the row exists and has not expired, and the user is active.
# One row by primary key, joined to one row by primary key.
_FIND = Statement(
    lambda: (
        User.select(*CALLER)
        .join(Session, on=(Session.user == User.id))
        .where(Session.id == "", Session.expires_at > 0, User.is_active)
    )
)

_LATEST = 2**63 - 1  # the largest `expires_at`


def start(user: User, tokens: Tokens) -> str | None:
    """Start a session for `user` and return its access token.

    Args:
        user: The authenticated user, as read before the password was verified.
        tokens: Issues the token.

    Returns:
        The token, or None if the user was deactivated or deleted, or the password changed, while
        it was being verified.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    session_id = secrets.token_urlsafe(16)
    expires_at = int(tokens.now()) + tokens.lifetime
    with database.atomic():
        # A concurrent transaction may be ending all sessions of this user. The row lock puts the
        # two in order: either that transaction sees this session and ends it, or this SELECT sees
        # its change. SQLite needs no lock, because its transactions exclude each other.
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
    """Return the user and the id of the session that `token` names, or None if it is not valid.

    Costs one SELECT, or none if the token itself is not valid.

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
    """End a session of `user`, if it has not ended already.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        of_user = Session.delete().where(Session.id == session_id, Session.user == user.id)
        ended = of_user.execute()
    if ended:
        events.emit("logout", user_id=user.id)


def end_all(user: User) -> int:
    """End all sessions of a user and return how many there were.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        ended: int = Session.delete().where(Session.user == user.id).execute()
    if ended:
        events.emit("logout", user_id=user.id, reason="all sessions")
    return ended


def end_everyone() -> int:
    """End all sessions of all users and return how many there were.

    Deletes a few rows at a time, so that other requests are not blocked. A session that starts
    in the meantime can remain.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    ended = purge_expired(Session, _LATEST)
    if ended:
        events.emit("logout", reason="all sessions of all users")
    return ended


def live(user: User, now: float) -> "peewee.ModelSelect[Session]":
    """Return a user's sessions that have not expired at `now` (seconds since the epoch)."""
    of_user = Session.select().where(Session.user == user.id, Session.expires_at > int(now))
    return of_user.order_by(Session.expires_at)


def purge(now: float) -> int:
    """Delete sessions that have expired at `now` (seconds since the epoch); return how many.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    return purge_expired(Session, now)
