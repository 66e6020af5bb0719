"""The list of sessions that their owner sees, and their revocation by handle.

A handle names a session in the list. It is a digest of the session's id, and identifies no request.
"""

from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

import peewee

from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.lifetimes import HOUR
from wsgiauth.authentication.methods import methods_in_words
from wsgiauth.authentication.sessions import REUSED
from wsgiauth.storage import database
from wsgiauth.storage.models import from_timestamp, utc_text
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given
from wsgiauth.web.clients import device_of, user_agent_in_words

LISTED = 100  # sessions
SEARCHED = 1000  # of the newest sessions, for a handle

_HANDLE_LENGTH = 16  # hexadecimal digits


class ListedSession(NamedTuple):
    """A session in the list of its owner; times are in UTC."""

    handle: str
    is_current: bool  # whether it is the session of the request
    is_reused: bool  # whether it ended because one of its refresh tokens was used twice
    created_at: datetime
    # None if use is not recorded. A session with a refresh token has the beginning of the hour, or
    # of the session, because a thief of its tokens must not see when its owner refreshes.
    last_seen_at: datetime | None
    expires_at: datetime  # if it is not used; to the hour while refreshes move it
    ends_at: datetime  # also if it is used
    address: str  # of the client at its start, or empty
    browser: str  # the browser and the system in words
    methods: tuple[str, ...]  # see `methods`
    provider: str = ""  # the title of the provider at which it began, if that is known

    @classmethod
    def of(cls, row: Session, current_id: str | None = None) -> "ListedSession":
        """Return the session of a row."""
        moves = row.idle > 0 or row.generation > 0
        began = int(row.created_at.timestamp())
        unit = HOUR if row.generation else 1
        last_seen = max(row.last_seen_at - row.last_seen_at % unit, began)
        is_moved = row.idle > 0 and row.expires_at < row.ends_at
        expires = row.expires_at - row.expires_at % (unit if is_moved else 1)
        return cls(
            handle=handle_of(row.id),
            is_current=row.id == current_id,
            is_reused=row.stamp == REUSED,
            created_at=row.created_at,
            last_seen_at=from_timestamp(last_seen) if moves else None,
            expires_at=from_timestamp(expires),
            ends_at=from_timestamp(row.ends_at),
            address=row.address,
            browser=user_agent_in_words(row.agent),
            methods=tuple(row.methods.split()),
        )

    @property
    def device(self) -> str:
        """The icon of the device: "phone", "laptop" or "terminal"."""
        return device_of(self.browser)

    @property
    def proven_by(self) -> str:
        """The methods in words, or empty."""
        return methods_in_words(self.methods, self.provider)

    def document(self) -> dict[str, object]:
        """Return the session, ready for JSON."""
        return {
            "handle": self.handle,
            "is_current": self.is_current,
            "ended_by": "refresh_reused" if self.is_reused else None,
            "created_at": utc_text(self.created_at),
            "last_seen_at": self.last_seen_at and utc_text(self.last_seen_at),
            "expires_at": utc_text(self.expires_at),
            "ends_at": utc_text(self.ends_at),
            "address": self.address or None,
            "browser": str(self.browser),
            "methods": list(self.methods),
        }


def handle_of(session_id: str) -> str:
    """Return the handle of a session, which changes with its id."""
    # The id has 128 random bits, so that its digest needs no key.
    digest = sha256(f"wsgiauth session handle {session_id}".encode())
    return digest.hexdigest()[:_HANDLE_LENGTH]


_IS_OWN = is_given(Session.user) & (Session.expires_at > given(Session.expires_at, "now"))
_IS_SHOWN = _IS_OWN & (IS_VALID_SESSION | (Session.stamp == REUSED))
_LIST = ModelStatement(
    lambda: (
        Session.select()
        .join(User)
        .where(_IS_SHOWN)
        .order_by(
            is_given(Session.id, "current_id").desc(),
            (Session.stamp == REUSED).desc(),
            Session.created_at.desc(),
            Session.id,
        )
        .limit(LISTED)
    )
)
_COUNT = Statement(
    lambda: Session.select(peewee.fn.COUNT(Session.id)).join(User).where(_IS_OWN, IS_VALID_SESSION)
)
_NEWEST = Statement(
    lambda: (
        Session.select(Session.id, Session.stamp)
        .join(User)
        .where(_IS_SHOWN)
        .order_by(Session.created_at.desc())
        .limit(SEARCHED)
    )
)


def list_sessions(user: User, now: float, current_id: str | None) -> list[ListedSession]:
    """Return a user's sessions: the current one, the copied ones, then the newest ones."""
    rows = _LIST.all(user=user.id, now=int(now), current_id=current_id or "")
    return [ListedSession.of(row, current_id) for row in rows]


def count_sessions(user: User, now: float) -> int:
    """Return how many sessions a user has."""
    ((number,),) = _COUNT.fetchall(user=user.id, now=int(now))
    return int(number)


def revoke_by_handle(user: User, handle: str, now: float) -> str | None:
    """Revoke a session, or delete it from the list if it has ended; return its id.

    Return None if the user has no session with this handle.
    """
    with database.atomic():
        lock_user(user.id)  # a session that is renewed gets another id, and another handle
        for session_id, stamp in _NEWEST.fetchall(user=user.id, now=int(now)):
            if handle_of(session_id) != handle:
                continue
            if stamp == REUSED:
                Session.delete().where(Session.id == session_id).execute()
            else:
                sessions.revoke(session_id, user)
            return str(session_id)
    return None
