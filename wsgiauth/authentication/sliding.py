"""Move the idle end of a login that is used.

On the way of a request, `sessions` calls this module for logins that use keeps alive. The request
neither waits for the change nor fails with it.
"""

import peewee

from wsgiauth.accounts.tables import Session
from wsgiauth.storage.upkeep import OptionalWrites

_TEN = peewee.SQL("10")  # not a parameter, because the SQL of `sessions.find` is kept
_HAS_NO_REFRESH = Session.generation == peewee.SQL("0")

_writes = OptionalWrites("the ends of logins do not move for now")


def is_due(now: int) -> "peewee.Expression":
    """Return the condition that a session's end is to be moved at `now` (seconds since the epoch).

    A tenth of the idle time is gone, and the end can move. Never true of a fixed session, whose
    idle time is 0; a session with a refresh token is moved by a refresh alone.
    """
    gone = Session.idle - Session.expires_at + now
    return (Session.expires_at < Session.ends_at) & _HAS_NO_REFRESH & (gone * _TEN >= Session.idle)


def slide(session_id: str, now: int) -> None:
    """Move the end of a session to `idle` seconds from `now`, if that is due.

    The UPDATE has the condition, so that of concurrent requests one moves the end, and a slow one
    does not move it back. If the row is locked, or the request is in a transaction, which would
    lock it, a later request moves the end. A failure is logged, once a minute.

    Args:
        session_id: The session.
        now: Seconds since the epoch.
    """
    idle_end = Session.idle + now
    moved = peewee.Case(None, [(idle_end < Session.ends_at, idle_end)], Session.ends_at)
    changes = {Session.expires_at: moved, Session.last_seen_at: now}
    is_ours = Session.id == session_id
    _writes.execute(lambda: Session.update(changes).where(is_ours, is_due(now)), now)
