"""Grants: what an app got from a user, from the use of a code until it ends.

A grant is valid by comparison: with the user's stamp, with the session in which it was allowed, and
with the consent of the user. So a logout, a new password or a revoked consent ends it at once, in
every process, and no code that changes these can forget it.
"""

import secrets
from typing import Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Membership, Session, insert_new
from wsgiauth.authentication.lifetimes import CLOCK_SKEW, DAY, MINUTE
from wsgiauth.features.oauth_server.scopes import OFFLINE
from wsgiauth.features.oauth_server.tables import Client, Consent, Grant
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.upkeep import purge_some

GRACE = 30  # seconds in which the previous refresh token gets the current one again
ENDED = -1  # the stamp of a grant that has ended
KEPT = 5 * MINUTE  # for how long its row stays: longer than its code can be used again

_IS_MEMBER = peewee.fn.EXISTS(
    Membership.select(peewee.SQL("1")).where(
        Membership.group == Client.group_id, Membership.user == User.id
    )
)
# Whether a user can use an app now.
_IS_ADMITTED = Client.group_id.is_null() | _IS_MEMBER
_IS_ALLOWED = (Client.is_trusted == True) | Consent.client.is_null(False)  # noqa: E712 - SQL


class Code(NamedTuple):
    """What a code grants, and to whom.

    Attributes:
        grant_id: The id of the row that its use inserts.
        stamp: The user's, when the code was made.
        session_id: In which the user allowed it.
        challenge: Of PKCE (RFC 7636 section 4.2).
    """

    grant_id: str
    client_id: str
    user_id: int
    stamp: int
    session_id: str
    redirect_uri: str
    challenge: str
    nonce: str
    scope: str
    resource: str

    def __repr__(self) -> str:
        return f"<Code for {self.client_id}>"


class Allowance(NamedTuple):
    """What a client and a user have to do with each other.

    Attributes:
        scopes: What the user has allowed; None: nothing yet.
        is_admitted: Whether the user is in the group of the client, if it has one.
    """

    scopes: frozenset[str] | None
    is_admitted: bool


def allowance(client: Client, user: User) -> Allowance:
    """Return what a user has allowed a client, and whether the client lets the user in."""
    row: Any = (
        User.select(Consent.scopes, _IS_ADMITTED.alias("is_admitted"))
        .join(Client, on=(Client.id == client.id))
        .join(Consent, peewee.JOIN.LEFT_OUTER, on=_is_consent())
        .where(User.id == user.id)
        .tuples()
        .first()
    )
    if row is None:  # one of them was just deleted
        return Allowance(None, is_admitted=False)
    scopes, is_admitted = row
    return Allowance(None if scopes is None else frozenset(scopes.split()), bool(is_admitted))


@repeated_after_conflict
def allow(client: Client, user: User, scopes: list[str], now: float) -> bool:
    """Record the consent of a user to some scopes, beside former ones.

    Return False if the client was removed, or if the user has changed since the request began.
    """
    with database.atomic():
        stored = lock_user(user.id)
        if stored is None or stored.security_stamp != user.security_stamp:
            return False
        own = (Consent.user == user.id) & (Consent.client == client.id)
        former = Consent.select().where(own).first()
        merged = {*scopes, *([] if former is None else former.scopes.split())}
        written = " ".join(sorted(merged))
        if former is not None:
            Consent.update(scopes=written).where(own).execute()
        elif not insert_new(
            Consent, user=user.id, client=client.id, scopes=written, created_at=int(now)
        ):
            return False
        details = {"client": client.name, "scopes": written}
        events.emit("consent_given", user_id=user.id, reason=client.id, details=details)
    return True


@repeated_after_conflict
def revoke(user: User, client_id: str) -> bool:
    """End all that a user has allowed a client, and return whether there was anything."""
    with database.atomic():
        lock_user(user.id)
        own = (Consent.user == user.id) & (Consent.client == client_id)
        is_allowed = bool(Consent.delete().where(own).execute())
        valid = (Grant.user == user.id) & (Grant.client == client_id) & (Grant.stamp != ENDED)
        is_granted = bool(Grant.update(stamp=ENDED).where(valid).execute())
        if is_allowed or is_granted:
            events.emit("consent_revoked", user_id=user.id, reason=client_id)
    return is_allowed or is_granted


def redeem(code: Code, settings: Settings, now: float) -> Grant | None:
    """Use a code, and return its grant; None if the code was used, or cannot be used any more.

    The grant that the first use of a code has made ends with the second one: one of the two uses
    was not by the app (RFC 6749 section 4.1.2).
    """
    grant = _insert(code, settings, now)
    if grant is None:
        end(code.grant_id, is_reused=True)
        return None
    purge_some(Grant, now)
    return grant


def find(grant_id: str, now: float) -> Grant | None:
    """Return a valid grant with its user and its client, or None."""
    is_in_session = (
        (Session.user == Grant.user)
        & (Session.stamp == User.security_stamp)
        & (Session.expires_at > int(now))
    )
    found: Grant | None = (
        Grant.select(Grant, User, Client)
        .join_from(Grant, User)
        .join_from(Grant, Client)
        .join_from(Grant, Session, peewee.JOIN.LEFT_OUTER)
        .join_from(Grant, Consent, peewee.JOIN.LEFT_OUTER, on=_is_consent())
        .where(
            Grant.id == grant_id,
            Grant.expires_at > int(now),
            Grant.stamp == User.security_stamp,
            User.is_active,
            (Grant.is_offline == True) | is_in_session,  # noqa: E712 - SQL
            _IS_ADMITTED,
            _IS_ALLOWED,
        )
        .first()
    )
    return found


@repeated_after_conflict
def refresh(grant: Grant, generation: int, settings: Settings, now: float) -> bool:
    """Replace the refresh token of a valid grant; return False if it cannot be used, and ends.

    The previous token gets the current one for `GRACE` seconds, because several processes of an
    app can refresh at once. `grant` then has the number of the current token.
    """
    changes: dict[str, Any] = {"generation": generation + 1, "refreshed_at": int(now)}
    if grant.is_offline:
        changes["expires_at"] = _end_of_offline(settings, now)
    is_current = (Grant.id == grant.id) & (Grant.generation == generation)
    with database.atomic():
        replaced = Grant.update(changes).where(is_current, Grant.stamp == grant.stamp).execute()
    if replaced:
        grant.generation = generation + 1
        return True
    row: Grant | None = Grant.get_or_none(Grant.id == grant.id, Grant.stamp == grant.stamp)
    if row is None:
        return False
    is_recent = -CLOCK_SKEW <= int(now) - row.refreshed_at <= GRACE
    if generation == row.generation - 1 and is_recent:
        grant.generation = row.generation
        return True
    end(grant.id, is_reused=True)
    return False


@repeated_after_conflict
def end(grant_id: str, *, is_reused: bool = False) -> None:
    """End a grant, if it is there. Its row stays, so that its code cannot be used again."""
    with database.atomic():
        row = Grant.get_or_none(Grant.id == grant_id, Grant.stamp != ENDED)
        if row is None:
            return
        ended = Grant.update(stamp=ENDED).where(Grant.id == grant_id, Grant.stamp != ENDED)
        if ended.execute() and is_reused:
            events.emit("grant_reused", user_id=row.user_id, reason=row.client_id)


def list_grants(user: User, now: float) -> list[Grant]:
    """Return the grants of a user that have not ended, with their clients; see `find` for one."""
    rows = (
        Grant.select(Grant, Client)
        .join(Client)
        .where(
            Grant.user == user.id,
            Grant.stamp == user.security_stamp,
            Grant.expires_at > int(now),
            (Grant.is_offline == True) | Grant.session.is_null(False),  # noqa: E712 - SQL
        )
        .order_by(Grant.refreshed_at.desc(), Grant.id)
    )
    return list(rows)


@repeated_after_conflict
def _insert(code: Code, settings: Settings, now: float) -> Grant | None:
    with database.atomic():
        user = lock_user(code.user_id)  # a consent that is revoked meanwhile waits, or has ended it
        if user is None or not user.is_active or user.security_stamp != code.stamp:
            return None
        session: Session | None = Session.get_or_none(
            Session.id == code.session_id,
            Session.user == user.id,
            Session.stamp == user.security_stamp,
            Session.expires_at > int(now),
        )
        if session is None or not _is_still_allowed(code):
            return None
        is_offline = OFFLINE in code.scope.split()
        ends_at = _end_of_offline(settings, now) if is_offline else session.ends_at
        row: dict[str, Any] = {
            "id": code.grant_id,
            "client": code.client_id,
            "user": user.id,
            "session": session.id,
            "sid": _sid_of(session),
            "stamp": user.security_stamp,
            "scopes": code.scope,
            "resource": code.resource,
            "is_offline": is_offline,
            "refreshed_at": int(now),
            "authenticated_at": session.authenticated_at,
            "methods": session.methods,
            "created_at": int(now),
            "expires_at": max(ends_at, int(now) + KEPT),
        }
        if not insert_new(Grant, **row):
            return None
    return Grant(**row)


def _is_still_allowed(code: Code) -> bool:
    """Return whether the client lets the user in, and has the user's consent to the scopes."""
    row: Any = (
        Client.select(Client.is_trusted, Consent.scopes)
        .join(User, on=(User.id == code.user_id))
        .join(Consent, peewee.JOIN.LEFT_OUTER, on=_is_consent())
        .where(Client.id == code.client_id, _IS_ADMITTED)
        .tuples()
        .first()
    )
    if row is None:
        return False
    is_trusted, scopes = row
    return bool(is_trusted) or set(code.scope.split()) <= set((scopes or "").split())


def _sid_of(session: Session) -> str:
    """Return the `sid` that the grants of this session have, or a new one."""
    found = Grant.select(Grant.sid).where(Grant.session == session.id).limit(1).scalar()
    return found or secrets.token_urlsafe(16)


def _end_of_offline(settings: Settings, now: float) -> int:
    return int(now) + settings.REMEMBER_DAYS * DAY


def _is_consent() -> Any:
    return (Consent.user == User.id) & (Consent.client == Client.id)
