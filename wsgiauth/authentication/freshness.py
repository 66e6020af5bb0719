"""The last proof of a session: how long ago it was, and a new one.

Guards and endpoints of sensitive changes ask for a recent proof (OWASP ASVS 5.0, 7.5.1 and 7.5.3).
This costs one more SELECT, or a few for a user whose last proof had no second factor.
"""

import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.federated_logins import FederatedLogin
from wsgiauth.authentication.lifetimes import CLOCK_SKEW, MINUTE
from wsgiauth.authentication.methods import PASSWORD, has_second_factor
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.authentication.tokens import IssuedTokens, Tokens
from wsgiauth.events import kinds
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given


class Proof(NamedTuple):
    """When and how the user of a session last proved their identity."""

    authenticated_at: int  # in seconds since the epoch
    methods: str  # see `methods`


_PROOF = Statement(
    lambda: Session.select(Session.authenticated_at, Session.methods, Session.user).where(
        is_given(Session.id)
    )
)


_NOW = given(Session.expires_at, "now")


def _renewing(**proof: object) -> Any:
    # Both stamps are compared, so that a session that has ended does not become valid again.
    new_stamp = given(Session.stamp, "new_stamp")
    present_stamp = User.select(User.security_stamp).where(is_given(User.id, "user"))
    return Session.update(
        id=given(Session.id, "new_id"),
        stamp=new_stamp,
        **proof,
        generation=peewee.Case(None, [(Session.generation > 0, 1)], 0),
        refreshed_at=_NOW,
        **sessions.NO_REFRESH,
    ).where(
        is_given(Session.id),
        is_given(Session.user),
        is_given(Session.stamp),
        Session.expires_at > _NOW,
        present_stamp == new_stamp,
    )


_RENEW = Statement(_renewing)
_RENEW_WITH_PROOF = Statement(
    lambda: _renewing(authenticated_at=_NOW, methods=given(Session.methods))
)
_RENEWED = ModelStatement(lambda: Session.select().where(is_given(Session.id)))


class Freshness:
    """Decides whether the last proof of a session is recent enough for a sensitive change."""

    def __init__(self, settings: Settings, tokens: Tokens, factors: SecondFactors) -> None:
        self.max_age: int = settings.FRESH_MINUTES * MINUTE  # of the proof, in seconds
        self._factors = factors
        self._now = tokens.now

    def is_fresh(self, session_id: str | None) -> bool:
        """Return whether the user of a session proved their identity at most `max_age` ago.

        An API key has no session, so it is no proof. A user with a second factor must have proven
        that factor: a password that someone else learned must not remove it.
        """
        row = None if session_id is None else _PROOF.fetchone(id=session_id)
        if row is None:
            return False
        authenticated_at, methods, user_id = row
        if not -CLOCK_SKEW <= int(self._now()) - authenticated_at <= self.max_age:
            return False
        # Not read, a user counts as one with a password, whose passkeys are a second factor.
        if has_second_factor(methods) or not self._factors.is_needed_by(User(id=user_id)):
            return True
        user = User.find_by_id(user_id)
        return user is not None and not self._factors.is_needed_by(user)


def proof_of(session_id: str) -> Proof | None:
    """Return the last proof of a session, or None if it has ended."""
    row = _PROOF.fetchone(id=session_id)
    return None if row is None else Proof(*row[:2])


def methods_of(session_id: str) -> str:
    """Return how the user of a session last proved their identity, or "" if it has ended."""
    proof = proof_of(session_id)
    return "" if proof is None else proof.methods


@repeated_after_conflict
def confirm(
    session_id: str,
    user: User,
    tokens: Tokens,
    *,
    methods: str = PASSWORD,
    federated_login: FederatedLogin | None = None,
) -> IssuedTokens | None:
    """Renew a session with a new proof, and emit the event.

    Return None if the session, or the federated login that is the proof, has ended meanwhile.
    """
    claims = tokens.claims_for(user)
    try:
        with database.atomic():
            if federated_login is not None and not federated_login.is_valid_for(user):
                return None
            issued = renew(session_id, user, tokens, claims, methods=methods)
            if issued is None:
                return None
            if federated_login is not None:
                federated_login.record(issued.session_id, is_first=False)
            details = {"former_session": session_id, "session": issued.session_id}
            events.emit(kinds.CONFIRMED, user_id=user.id, reason=methods, details=details)
    except peewee.IntegrityError:  # a foreign key's: the user or the identity was just deleted
        return None
    if federated_login is not None and federated_login.has_ended():  # meanwhile
        sessions.revoke(issued.session_id, user)
        return None
    return issued


def renew(
    session_id: str,
    user: User,
    tokens: Tokens,
    claims: Mapping[str, object],
    *,
    methods: str | None = PASSWORD,
    stamp: int | None = None,
) -> IssuedTokens | None:
    """Give a session a new proof and a new id (ASVS 5.0, 7.2.4), which ends its tokens.

    Return None if the session has ended meanwhile.

    Args:
        user: The session's user, as read before the proof was verified.
        claims: From `Tokens.claims_for`, called before any transaction.
        methods: See `methods`; None keeps the former proof.
        stamp: The new stamp of the user in the same transaction, if it changes.
    """
    renewed_id = secrets.token_urlsafe(16)
    stamp = user.security_stamp if stamp is None else stamp
    with database.atomic():
        lock_user(user.id)  # whoever revokes sessions by their ids must not miss the new one
        now = int(tokens.now())  # after the wait for the locks, in which the session can end
        seen = {"id": session_id, "user": user.id, "stamp": user.security_stamp}
        new: dict[str, object] = {"new_id": renewed_id, "new_stamp": stamp, "now": now}
        if methods is None:
            is_renewed = _RENEW.execute(**seen, **new)
        else:
            is_renewed = _RENEW_WITH_PROOF.execute(**seen, **new, methods=methods)
        row = _RENEWED.first(id=renewed_id) if is_renewed else None
    return None if row is None else tokens.issue_for(row, claims)
