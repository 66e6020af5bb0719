"""Rows of sessions, and the session of a token."""

from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.demands import Admission
from wsgiauth.authentication.second_factors import SecondFactorDemand, SecondFactors
from wsgiauth.authentication.sessions import Sessions


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


def sessions_of(settings, tokens):
    """Return the sessions of a site with these settings, which has no second factors."""
    is_demanded = settings.SECOND_FACTOR != "offered"
    demand = SecondFactorDemand(settings, SecondFactors((), settings))
    return Sessions(tokens, Admission((demand,) if is_demanded else ()))


def find_session(token, tokens, *demands, **options):
    """Find the session of a token on a site with these demands; see `Sessions.find`."""
    return Sessions(tokens, Admission(demands)).find(token, **options)
