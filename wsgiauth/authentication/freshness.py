"""The last proof of a login: how long ago it was, and a new one.

Sensitive changes need a recent proof (OWASP ASVS 5.0, 7.5.1 and 7.5.3). Guards and endpoints that
ask for one cost one SELECT more, or two for a user whose last proof had no second factor; other
requests cost what they cost without.
"""

import secrets

import peewee

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.factors import has_factor
from wsgiauth.authentication.issuing import Login, issue
from wsgiauth.authentication.lifetimes import CLOCK_SKEW, MINUTE
from wsgiauth.authentication.methods import PASSWORD, has_second_factor
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.settings import Settings
from wsgiauth.storage import Statement, database

_PROOF = Statement(
    lambda: Session.select(Session.authenticated_at, Session.methods, Session.user).where(
        Session.id == ""
    )
)


class Freshness:
    """Decides whether the last proof of a login is recent enough for a sensitive change.

    Args:
        settings: `FRESH_MINUTES`, and which second factors there are.
        tokens: Has the clock.

    Attributes:
        max_age: How old the proof can be, in seconds.
    """

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self.max_age: int = settings.FRESH_MINUTES * MINUTE
        self._settings = settings
        self._now = tokens.now

    def is_fresh(self, session_id: str | None) -> bool:
        """Return whether the user of a session proved who they are at most `max_age` ago.

        Without a session, as with an API key, there is no proof. A user with a second factor must
        have proven that: a password that someone else learned must not remove it.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        row = None if session_id is None else _PROOF.fetchone(session_id)
        if row is None:
            return False
        authenticated_at, methods, user_id = row
        age: int = int(self._now()) - authenticated_at
        is_recent = -CLOCK_SKEW <= age <= self.max_age
        return is_recent and (
            has_second_factor(methods) or not has_factor(User(id=user_id), self._settings)
        )


def methods_of(session_id: str) -> str:
    """Return by what the user of a session last proved who they are; nothing if it has ended.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    row = _PROOF.fetchone(session_id)
    return "" if row is None else str(row[1])


def confirm(
    session_id: str, user: User, tokens: Tokens, *, methods: str = PASSWORD
) -> Login | None:
    """Give a session a new proof, and report it; see `renew`."""
    with database.atomic():
        login = renew(session_id, user, tokens, methods=methods)
        if login is not None:
            events.emit("confirmed", user_id=user.id, reason=methods)
    return login


def renew(
    session_id: str,
    user: User,
    tokens: Tokens,
    *,
    methods: str | None = PASSWORD,
    stamp: int | None = None,
) -> Login | None:
    """Give a session a new proof and a new id (ASVS 5.0, 7.2.4); its ends stay.

    Tokens of the old id are not valid any more.

    Args:
        session_id: The session.
        user: Its user, as read before the proof was verified.
        tokens: Issues the token.
        methods: How the user proved who they are: names of RFC 8176 section 2, between spaces.
            None: the session keeps the proof that it has.
        stamp: The stamp that the user gets in the same transaction; None if it does not change.

    Returns:
        None if the session has ended meanwhile.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    renewed_id = secrets.token_urlsafe(16)
    stamp = user.security_stamp if stamp is None else stamp
    present_stamp = User.select(User.security_stamp).where(User.id == user.id)
    with database.atomic():
        now = int(tokens.now())  # after the wait for SQLite's lock, in which the login can end
        proof = {} if methods is None else {"authenticated_at": now, "methods": methods}
        # Both stamps are compared, so that a session that has ended does not become valid again.
        renewed = Session.update(
            id=renewed_id,
            stamp=stamp,
            **proof,
            generation=peewee.Case(None, [(Session.generation > 0, 1)], 0),
            refreshed_at=now,
        ).where(
            Session.id == session_id,
            Session.user == user.id,
            Session.stamp == user.security_stamp,
            Session.expires_at > now,
            present_stamp == stamp,
        )
        if not renewed.execute():
            return None
        row = Session.get_by_id(renewed_id)
    return issue(
        user.id,
        row.id,
        tokens,
        generation=row.generation,
        expires_at=row.expires_at,
        ends_at=row.ends_at,
    )
