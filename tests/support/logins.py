"""Rows of sessions, without a token."""

from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.tables import Session


def insert_session(user, session_id, expires_at=2**34):
    """Insert a session under the stamp that `user` was read with."""
    Session.insert(
        id=session_id, user=user.id, stamp=user.security_stamp, expires_at=expires_at
    ).execute()


def valid_session_ids():
    """Return the ids of all sessions that are valid until they expire."""
    valid = Session.select(Session.id).join(User).where(Session.expires_at > 0, IS_VALID_SESSION)
    return {session_id for (session_id,) in valid.tuples()}


def make_stale():
    """Let all logins have been proven an hour ago."""
    Session.update(authenticated_at=Session.authenticated_at - 3600).execute()
