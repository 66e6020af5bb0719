"""Sessions that began at a provider: where, and when the user last logged in there.

The provider can end them, and logins that are not complete yet (OpenID Connect Back-Channel Logout
1.0). A user who has just logged in at the provider can set a first password.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.personal_data import pages_of
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.authentication import one_time
from wsgiauth.authentication.lifetimes import CLOCK_SKEW, HOST_SKEW, MINUTE
from wsgiauth.authentication.one_time import digest
from wsgiauth.events import kinds
from wsgiauth.features.providers.identities import Identity, identity_id
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import Model, from_timestamp, json_fields
from wsgiauth.storage.statements import (
    ModelStatement,
    Statement,
    given,
    insert_row,
    is_given,
    is_one_of,
    numbered,
)

if TYPE_CHECKING:
    from wsgiauth.features.providers.oidc.accounts import ProviderAccount

# Seconds for which a logout token is remembered. It could not be used later, and no login stays
# incomplete for longer.
REMEMBERED = 30 * MINUTE

_LOGOUT = "used logout token"


class ProviderSession(Model):
    """A login at a provider by which a session began, or was confirmed."""

    session_id: str
    # A renewed session has another id.
    session: peewee.ForeignKeyField[Session] = peewee.ForeignKeyField(
        Session, backref="+", on_delete="CASCADE", on_update="CASCADE", index=False
    )
    identity_id: str
    identity: peewee.ForeignKeyField[Identity] = peewee.ForeignKeyField(
        Identity, backref="+", on_delete="CASCADE"
    )
    # The digest of the session's id at the provider; empty without one.
    sid: peewee.CharField[str] = peewee.CharField(max_length=64, index=True)
    # Whether the session began by this login.
    is_first: peewee.BooleanField[bool] = peewee.BooleanField()
    # When the user logged in there, in seconds since the epoch; None if the provider does not say.
    authenticated_at: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True)

    class Meta:
        table_name = "wsgiauth_provider_session"
        primary_key = peewee.CompositeKey("session", "identity", "sid")


def own_logins(user: User, settings: Settings) -> Iterator[object]:
    """Yield the logins at providers for the file of a person's own data."""
    of_user = Session.select(Session.id).where(Session.user == user.id)
    for page in pages_of(of_user, Session.id):
        began = ProviderSession.select(ProviderSession, Identity).join(Identity)
        began = began.where(ProviderSession.session.in_([each.id for each in page]))
        for row in began.order_by(ProviderSession.session, Identity.created_at):
            proven = row.authenticated_at
            yield json_fields(
                {
                    "iss": row.identity.issuer,
                    "sub": row.identity.subject,
                    "auth_time": None if proven is None else from_timestamp(proven),
                    "began_session": row.is_first,
                }
            )


class ProviderLogin(NamedTuple):
    """A login at a provider, the `FederatedLogin` of a session; see `ProviderSession`."""

    identity_id: str
    sid: str
    authenticated_at: int | None
    asked_at: int = 0  # see `ProviderAccount`

    @classmethod
    def of(cls, account: ProviderAccount) -> ProviderLogin:
        """Return the login that has brought an account."""
        identity = identity_id(account.issuer, account.subject)
        sid = _digest(account.issuer, account.sid)
        return cls(identity, sid, account.authenticated_at, account.asked_at)

    def proven_at(self, now: int) -> int:
        """Return when the user proved their identity: now, if the provider does not say when."""
        return now if self.authenticated_at is None else min(now, self.authenticated_at)

    def record(self, session_id: str, *, is_first: bool) -> None:
        """Record that a session began with this login, or was confirmed by it."""
        key = {"session": session_id, "identity": self.identity_id, "sid": self.sid}
        # On MariaDB, a DELETE that finds no row locks the gap that other logins insert into.
        if _KNOWN.fetchone(**key) is None:
            proof = {"is_first": is_first, "authenticated_at": self.authenticated_at}
            insert_row(ProviderSession, **key, **proof)
        else:
            _PROVE_AGAIN.execute(**key, authenticated_at=self.authenticated_at)

    def has_ended(self) -> bool:
        """Return whether a logout token has named this login since the provider was asked."""
        named = [_named(self.identity_id, "")]
        if self.sid:
            named += [_named("", self.sid), _named(self.identity_id, self.sid)]
        # Another host, whose clock is behind, can have received the token.
        since = self.asked_at - HOST_SKEW + REMEMBERED
        subjects = numbered("subject", map(digest, named))
        return _tokens(len(named)).fetchone(since=since, **subjects) is not None

    def is_valid_for(self, user: User) -> bool:
        """Lock the user, as `revoke` does; return whether the login still identifies the user."""
        lock_user(user.id)
        identity = Identity.find_by_id(self.identity_id)
        return identity is not None and identity.user_id == user.id and not self.has_ended()


_IS_KEY = [
    is_given(ProviderSession.session),
    is_given(ProviderSession.identity),
    is_given(ProviderSession.sid),
]
_KNOWN = Statement(lambda: ProviderSession.select(ProviderSession.sid).where(*_IS_KEY))
_PROVE_AGAIN = Statement(
    lambda: ProviderSession.update(authenticated_at=given(ProviderSession.authenticated_at)).where(
        *_IS_KEY
    )
)


@cache
def _tokens(number: int) -> Statement:
    """Return the SELECT of the logout tokens with one of so many subjects."""
    expires_at = OneTimeSecret.expires_at
    return Statement(
        lambda: (
            OneTimeSecret.select(OneTimeSecret.id)
            .where(
                is_one_of(OneTimeSecret.subject, number),
                OneTimeSecret.purpose == _LOGOUT,
                expires_at >= given(expires_at, "since"),
            )
            .limit(1)
        )
    )


_PROVEN_AT = ProviderSession.authenticated_at
_PROVEN = Statement(
    lambda: ProviderSession.select(ProviderSession.sid).where(
        is_given(ProviderSession.session),
        _PROVEN_AT.between(given(_PROVEN_AT, "earliest"), given(_PROVEN_AT, "latest")),
    )
)


def was_proven_at_provider(session_id: str, now: float, max_age: int) -> bool:
    """Return whether the provider says that the user logged in there at most `max_age` ago."""
    period = {"earliest": int(now) - max_age, "latest": int(now) + CLOCK_SKEW}
    return _PROVEN.fetchone(session=session_id, **period) is not None


def provider_of(session_id: str) -> Identity | None:
    """Return the account of a provider by which a session began, or None."""
    found = _FIRST_LOGIN.first(session=session_id)
    return None if found is None else found.identity


def identities_by_session(user: User) -> dict[str, Identity]:
    """Return the accounts of providers by which sessions of a user began, by session id."""
    return {row.session_id: row.identity for row in _FIRST_LOGINS.all(user=user.id)}


def _first_logins(condition: peewee.Expression) -> peewee.ModelSelect[ProviderSession]:
    with_identity = ProviderSession.select(ProviderSession, Identity).join(Identity)
    return with_identity.where(condition, ProviderSession.is_first)


_FIRST_LOGIN = ModelStatement(lambda: _first_logins(is_given(ProviderSession.session)))
_FIRST_LOGINS = ModelStatement(lambda: _first_logins(is_given(Identity.user)))


def revoke(issuer: str, *, jti: str, subject: str, sid: str, now: float) -> int | None:
    """Revoke the sessions that a logout token names; return None if the token was used before.

    Logins that are not complete yet end, too: see `ProviderLogin.has_ended`.

    The users are locked first, so that no session gets another id meanwhile: see
    `freshness.renew`. They are looked up before the transaction: on MariaDB, its snapshot would
    hide changes that are committed while it waits.

    Args:
        subject: The account; empty for any account.
        sid: The session at the provider; empty for all. With a subject, sessions of the account
            whose session at the provider is not known end, too.
    """
    if not (subject or sid):  # which would name all sessions
        raise ValueError("a logout token names a subject, a session, or both")
    identity = identity_id(issuer, subject) if subject else ""
    session = _digest(issuer, sid)
    named = []
    if identity:
        named.append(ProviderSession.identity == identity)
    if session:
        named.append(ProviderSession.sid.in_([session, ""] if identity else [session]))
    owners = _owners(identity, session)
    with database.atomic():
        for user_id in owners:
            lock_user(user_id)
        is_new = one_time.record(
            json.dumps([issuer, jti]),
            _LOGOUT,
            subject=_named(identity, session),
            expires_at=int(now) + REMEMBERED,
        )
        if not is_new:
            return None
        revoked = _revoke(_sessions().where(*named), "provider")
    # Users whose first login was committed meanwhile. A login that is committed later than this
    # finds the token itself.
    missed = [user_id for user_id in _owners(identity, session) if user_id not in owners]
    if missed:
        with database.atomic():
            for user_id in missed:
                lock_user(user_id)
            revoked += _revoke(_sessions().where(*named), "provider")
    return revoked


def revoke_by(identity: Identity, *, except_id: str | None = None) -> int:
    """Revoke all sessions but one of an account of a provider, whose user must be locked."""
    sessions = _sessions().where(ProviderSession.identity == identity.id)
    return _revoke(sessions.where(Session.id != (except_id or "")), "identity disconnected")


def _owners(identity: str, session: str) -> list[int]:
    """Return the users of a logout token, in the order of their locks."""
    owners: Any = Identity.select(Identity.user)
    if identity:
        owners = owners.where(Identity.id == identity)
    else:
        owners = owners.join(ProviderSession).where(ProviderSession.sid == session)
    return sorted({user_id for (user_id,) in owners.tuples()})


def _sessions() -> peewee.ModelSelect[Session]:
    with_login = Session.select(Session.id, Session.user).join(ProviderSession)
    return with_login.join(User, on=(Session.user == User.id))


def _revoke(began: peewee.ModelSelect[Session], reason: str) -> int:
    with database.atomic():
        owners = {row.id: row.user_id for row in began.where(IS_VALID_SESSION)}
        if owners:
            Session.delete().where(Session.id.in_(list(owners))).execute()
        for user_id in dict.fromkeys(owners.values()):
            events.emit(kinds.LOGOUT, user_id=user_id, reason=reason)
    return len(owners)


def _named(identity: str, session: str) -> str:
    """Return the `subject` in the row of a logout token; one of both can be empty."""
    return json.dumps([identity, session])


def _digest(issuer: str, sid: str) -> str:
    return digest(json.dumps([issuer, sid])) if sid else ""
