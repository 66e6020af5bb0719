"""Grants: what an app got from a user, from the use of a code until it ends.

A grant is valid by comparison: with the user's stamp, with the session in which it was allowed, and
with the consent of the user. So a logout, a new password or a revoked consent ends it at once, in
every process, and no code that changes these can forget it.
"""

import secrets
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.callers import CALLER, from_row
from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.tables import Membership, Session, insert_new
from wsgiauth.authentication.demands import Admission
from wsgiauth.authentication.lifetimes import CLOCK_SKEW, DAY, MINUTE
from wsgiauth.authentication.scopes import OFFLINE
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.features.oauth_server import app_sessions, renewed_sessions
from wsgiauth.features.oauth_server.client_uses import note_use
from wsgiauth.features.oauth_server.clients import shown_name
from wsgiauth.features.oauth_server.event_kinds import (
    CONSENT_GIVEN,
    CONSENT_REVOKED,
    GRANT_REUSED,
    OFFLINE_ACCESS_GIVEN,
)
from wsgiauth.features.oauth_server.registration import (
    keep_client,
    keep_no_longer,
    store_described,
)
from wsgiauth.features.oauth_server.scopes import (
    bound,
    combinations_of,
    granted_in,
    unbound,
    with_combination,
)
from wsgiauth.features.oauth_server.tables import Client, Consent, DeviceRequest, Grant, values_of
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import utc_now
from wsgiauth.storage.statements import ModelStatement, OrderedSelect, Statement, given, is_given
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.web.uris import find_equal

GRACE = 30  # seconds in which the previous refresh token gets the current one again
ENDED = -1  # the stamp of a grant that has ended
KEPT = 15 * MINUTE  # for how long its row stays: longer than its code can be used again
MOST = 100  # grants of a user at a client: one login after the other makes as many as it likes

_IS_MEMBER = peewee.fn.EXISTS(
    Membership.select(peewee.SQL("1")).where(
        Membership.group == Client.group_id, Membership.user == User.id
    )
)
# Whether a user can use an app now.
_IS_ADMITTED = Client.group_id.is_null() | _IS_MEMBER
_IS_CONSENT = (Consent.user == User.id) & (Consent.client == Client.id)

_ALLOWANCE = Statement(
    lambda: (
        User.select(Consent.scopes, Consent.combinations, _IS_ADMITTED)
        .join(Client, on=is_given(Client.id, "client"))
        .join(Consent, peewee.JOIN.LEFT_OUTER, on=_IS_CONSENT)
        .where(is_given(User.id, "user"))
    )
)

_GRANT: Any = Grant._meta.sorted_fields
_CLIENT: Any = Client._meta.sorted_fields


def _valid(now: Any, *columns: Any) -> Any:
    """Select columns of valid grants, with their users, their clients and their consents."""
    is_in_session = (
        (Session.user == Grant.user)
        & (Session.stamp == User.security_stamp)
        & (Session.expires_at > now)
    )
    return (
        Grant.select(*columns)
        .join_from(Grant, User)
        .join_from(Grant, Client)
        .join_from(Grant, Session, peewee.JOIN.LEFT_OUTER)
        .join_from(Grant, Consent, peewee.JOIN.LEFT_OUTER, on=_IS_CONSENT)
        .where(
            Grant.expires_at > now,
            Grant.stamp == User.security_stamp,
            User.is_active,
            Grant.is_offline | is_in_session,
            _IS_ADMITTED,
            Client.is_trusted | Consent.client.is_null(False),
            Client.expires_at.is_null() | (Client.expires_at > now),
        )
    )


_OF_GRANT = slice(len(CALLER), len(CALLER) + len(_GRANT))
_OF_CLIENT = slice(_OF_GRANT.stop, _OF_GRANT.stop + len(_CLIENT))

# The `sid` of the session's grants, unless a new password has ended them: an app can remember the
# `sid` of a logout token. Stamps only grow, and `ENDED` is below all of them.
_LATEST = peewee.fn.MAX(Grant.stamp)
_SID = (
    Grant.select(Grant.sid)
    .where(Grant.session == Session.id)
    .group_by(Grant.sid)
    .having(_LATEST.in_([Session.stamp, ENDED]))
    .order_by(_LATEST.desc())
    .limit(1)
)

# What a session, with its user locked, and a client have to do with each other.
_BEGINNING = Statement(
    lambda: (
        Session.select(
            Session.ends_at,
            Session.authenticated_at,
            Session.methods,
            Client.is_trusted,
            Consent.scopes,
            _SID,
        )
        .join_from(Session, User)
        .join_from(Session, Client, on=is_given(Client.id, "client"))
        .join_from(Session, Consent, peewee.JOIN.LEFT_OUTER, on=_IS_CONSENT)
        .where(
            is_given(Session.id),
            is_given(Session.user),
            Session.expires_at > given(Session.expires_at, "now"),
            IS_VALID_SESSION,
            _IS_ADMITTED,
        )
    )
)


class Code(NamedTuple):
    """What a code grants, and to which client and user.

    Attributes:
        grant_id: The id of the row that its use inserts.
        stamp: The user's, when the code was made.
        session_id: In which the user allowed it.
        challenge: Of PKCE (RFC 7636 section 4.2); "" for a request without PKCE, and for a device.
        scope: See `scopes.recorded`.
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
        combinations: The sets of bound scopes that the user has allowed; empty: none yet.
        is_admitted: Whether the user is in the group of the client, if it has one.
    """

    combinations: Sequence[frozenset[str]]
    is_admitted: bool

    def covers(self, scopes: Iterable[str], resource: str) -> bool:
        """Return whether the user has allowed all of some scopes together, for a service."""
        wanted = bound(scopes, resource)
        return any(each.issuperset(wanted) for each in self.combinations)


def allowance(client: Client, user: User) -> Allowance:
    """Return what a user has allowed a client, and whether the client lets the user in."""
    row = _ALLOWANCE.fetchone(client=client.id, user=user.id)
    if row is None:  # one of them was just deleted, or no user has allowed the document yet
        return Allowance((), is_admitted=client.document_url is not None)
    scopes, combinations, is_admitted = row
    allowed = () if scopes is None else combinations_of(scopes, combinations)
    return Allowance(allowed, bool(is_admitted))


def named(client: Client) -> dict[str, str]:
    """Return how an email names a client: one that registered itself by its host."""
    host = "" if client.expires_at is None else shown_name(client)
    return {"client": client.name, "client_host": host}


def _is_own(model: Any) -> Any:
    return is_given(model.user) & is_given(model.client)


_CONSENT = Statement(
    lambda: Consent.select(Consent.scopes, Consent.combinations).where(_is_own(Consent))
)
_CHANGE_CONSENT = Statement(
    lambda: Consent.update(
        scopes=given(Consent.scopes), combinations=given(Consent.combinations)
    ).where(_is_own(Consent))
)
_DELETE_CONSENT = Statement(lambda: Consent.delete().where(_is_own(Consent)))
_END_OF_APP = Statement(
    lambda: Grant.update(stamp=ENDED).where(_is_own(Grant), Grant.stamp != ENDED)
)
_DELETE_DEVICES = Statement(lambda: DeviceRequest.delete().where(_is_own(DeviceRequest)))
_ALLOWED = Statement(lambda: Consent.select(Consent.client).where(is_given(Consent.user)))


@repeated_after_conflict
def allow(client: Client, user: User, scopes: list[str], now: float, *, resource: str = "") -> bool:
    """Record the consent of a user, and report it if it is new; see `record`."""
    with database.atomic():
        allowed = record(client, user, scopes, now, resource=resource)
        if allowed:
            details = {**named(client), "scopes": " ".join(allowed)}
            events.emit(CONSENT_GIVEN, user_id=user.id, reason=client.id, details=details)
    return allowed is not None


def record(
    client: Client, user: User, scopes: list[str], now: float, *, resource: str
) -> list[str] | None:
    """Record the consent of a user to some scopes for a service, beside former ones.

    Return all that the user has now allowed, or nothing if these were allowed before; None if the
    client was removed, or if the user has changed since the request began. The caller has a
    transaction.
    """
    stored = lock_user(user.id)
    if stored is None or stored.security_stamp != user.security_stamp:
        return None
    if client.document_url is not None and not store_described(client, now):
        return None
    own = {"user": user.id, "client": client.id}
    row = _CONSENT.fetchone(**own)
    former = [] if row is None else combinations_of(*row)
    wanted = frozenset(bound(scopes, resource))
    if any(each >= wanted for each in former):
        return []
    combinations = with_combination(former, wanted)
    merged = sorted(frozenset().union(*combinations))
    columns = {
        "scopes": " ".join(merged),
        "combinations": "\n".join(" ".join(sorted(each)) for each in combinations),
    }
    if row is not None:
        _CHANGE_CONSENT.execute(**own, **columns)
    elif not insert_new(Consent, **own, created_at=int(now), **columns):
        return None
    return unbound(merged)


@repeated_after_conflict
def revoke(user: User, client_id: str, now: float) -> bool:
    """End all that a user has allowed a client, and return whether there was anything."""
    with database.atomic():
        lock_user(user.id)
        own = {"user": user.id, "client": client_id}
        is_allowed = bool(_DELETE_CONSENT.execute(**own))
        if is_allowed:
            keep_no_longer(client_id, now)
        is_granted = bool(_END_OF_APP.execute(**own))
        # A device that was allowed, and has not asked for its tokens yet.
        _DELETE_DEVICES.execute(**own)
        if is_allowed or is_granted:
            events.emit(CONSENT_REVOKED, user_id=user.id, reason=client_id)
    return is_allowed or is_granted


def revoke_all(user: User) -> None:
    """End all that was allowed for a user before the first proof of the address.

    Grants without a consent, of trusted clients, end with the stamp of the user.
    """
    for (client_id,) in _ALLOWED.fetchall(user=user.id):
        revoke(user, client_id, utc_now().timestamp())


class Grants:
    """Makes and finds the grants of a site, if its demands are met."""

    def __init__(self, settings: Settings, sessions: Sessions) -> None:
        self._settings = settings
        self._sessions = sessions
        self._chain = sessions.admission.derived_chain(Grant, after=_OF_CLIENT.stop)
        self._find = _statement(sessions.admission, self._chain.sql)

    def redeem(self, code: Code, client: Client, now: float) -> Grant | None:
        """Use a code, and return its grant; None if the code was used, or cannot be any more.

        The grant that the first use of a code has made ends with the second one: one of the two
        uses was not by the app (RFC 6749 section 4.1.2).
        """
        grant = _insert(code, client, self._settings, self._sessions, now)
        if grant is None:
            end(code.grant_id, client, is_reused=True)
            return None
        purge_some(Grant, now)
        keep_client(client, code.user_id, now)
        note_use(client, now)
        return grant

    def find(self, grant_id: str, now: float) -> Grant | None:
        """Return a valid grant with its user and its client, or None. Costs one SELECT.

        A grant is not valid if it does not meet a demand of the site that concerns grants, nor if
        it is for a service that has left SERVICES.
        """
        times = int(now), int(now), int(now)
        row = self._find.fetchone(*self._chain.parameters, *times, grant_id)
        if row is None or row[0] is None:  # see `sessions`
            return None
        values = values_of(Grant, row[_OF_GRANT])
        values["user"] = from_row(values["user"], row)
        values["client"] = Client.of_row(row[_OF_CLIENT])
        granted = values["resource"]
        values["resource"] = find_equal(granted, self._settings.SERVICES)
        is_offered = not granted or values["resource"]
        if not is_offered or self._chain.unmet(values["user"], row) is not None:
            return None
        return Grant(**values)


@lru_cache(maxsize=16)  # see `Sessions`
def _statement(admission: Admission, _sql: tuple[str, ...]) -> OrderedSelect:
    columns = *CALLER, *_GRANT, *_CLIENT, *admission.derived_chain(Grant).columns
    return OrderedSelect(lambda: _valid(0, *columns).where(Grant.id == ""))


_IS_PRESENT = is_given(Grant.id) & is_given(Grant.stamp)
_REFRESH = Statement(
    lambda: Grant.update(
        generation=given(Grant.generation, "next"),
        refreshed_at=given(Grant.refreshed_at),
        expires_at=given(Grant.expires_at),
    ).where(_IS_PRESENT, is_given(Grant.generation))
)
_CURRENT = Statement(lambda: Grant.select(Grant.generation, Grant.refreshed_at).where(_IS_PRESENT))


@repeated_after_conflict
def refresh(grant: Grant, generation: int, settings: Settings, now: float) -> bool:
    """Replace the refresh token of a valid grant; return False if it cannot be used, and ends.

    The previous token gets the current one for `GRACE` seconds, because several processes of an
    app can refresh at once. `grant` then has the number of the current token.
    """
    if grant.is_offline and not settings.REMEMBER_DAYS:  # nothing outlives the browser
        end(grant.id, grant.client)
        return False
    present = {"id": grant.id, "stamp": grant.stamp}
    with database.atomic():
        replaced = _REFRESH.execute(
            **present,
            generation=generation,
            next=generation + 1,
            refreshed_at=int(now),
            expires_at=_end_of_offline(settings, now) if grant.is_offline else grant.expires_at,
        )
    if replaced:
        keep_client(grant.client, grant.user_id, now)
        note_use(grant.client, now)
        grant.generation = generation + 1
        return True
    row = _CURRENT.fetchone(**present)
    if row is None:
        return False
    current, refreshed_at = row
    is_recent = -CLOCK_SKEW <= int(now) - refreshed_at <= GRACE
    if generation == current - 1 and is_recent:
        grant.generation = current
        return True
    end(grant.id, grant.client, is_reused=True)
    return False


_IS_OPEN = is_given(Grant.id) & is_given(Grant.client) & (Grant.stamp != ENDED)
_OPEN = Statement(lambda: Grant.select(Grant.user, Grant.sid).where(_IS_OPEN))
_END = Statement(lambda: Grant.update(stamp=ENDED).where(_IS_OPEN))


@repeated_after_conflict
def end(grant_id: str, client: Client, *, is_reused: bool = False) -> None:
    """End a grant of a client, if it is there.

    Its row stays, so that its code cannot be used again.
    """
    own = {"id": grant_id, "client": client.id}
    with database.atomic():
        row = _OPEN.fetchone(**own)
        if row is not None and _END.execute(**own) and is_reused:
            user_id, sid = row
            details = {**named(client), "sid": sid}
            events.emit(GRANT_REUSED, user_id=user_id, reason=client.id, details=details)


def _valid_of_user(*columns: Any) -> Any:
    return _valid(given(Grant.expires_at, "now"), *columns).where(is_given(Grant.user))


_GRANTS = ModelStatement(lambda: _valid_of_user(Grant, Client))
_OFFLINE_CLIENTS = ModelStatement(
    lambda: (
        _valid_of_user(Client)
        .where(Grant.is_offline)
        .distinct()
        .order_by(Client.name_key, Client.id)
        .limit(given(Grant.generation, "most"))
        .objects(Client)
    )
)
_HAS_BEGUN_IN = Statement(
    lambda: (
        Grant.select(Grant.id)
        .where(is_given(Grant.session), is_given(Grant.client), is_given(Grant.sid))
        .limit(1)
    )
)


def list_grants(user: User, now: float) -> list[Grant]:
    """Return the valid grants of a user, with their clients."""
    return _GRANTS.all(user=user.id, now=int(now))


def list_offline_clients(user: User, now: float, most: int) -> list[Client]:
    """Return clients whose access to a user's account outlasts every session, by name."""
    return _OFFLINE_CLIENTS.all(user=user.id, now=int(now), most=most)


def has_begun_in(client: Client, sid: str, session_id: str) -> bool:
    """Return whether a client got an ID token with this `sid` in a session that has not ended."""
    own = {"session": session_id, "client": client.id, "sid": sid}
    return _HAS_BEGUN_IN.fetchone(**own) is not None


@repeated_after_conflict
def _insert(
    code: Code, client: Client, settings: Settings, sessions: Sessions, now: float
) -> Grant | None:
    with database.atomic():
        user = lock_user(code.user_id)  # a consent that is revoked meanwhile waits, or has ended it
        if user is None or user.security_stamp != code.stamp:
            return None
        session_id, place = code.session_id, {"user": user.id, "now": int(now)}
        beginning = _BEGINNING.fetchone(client=client.id, id=session_id, **place)
        if beginning is None:
            session_id = renewed_sessions.present_id(code.session_id, user.id, int(now))
            beginning = _BEGINNING.fetchone(client=client.id, id=session_id, **place)
        if beginning is None:
            return None
        session_ends_at, authenticated_at, methods, is_trusted, allowed, sid = beginning
        scopes = set(granted_in(code.scope))
        wanted = bound(scopes, code.resource)
        if not (is_trusted or set((allowed or "").split()).issuperset(wanted)):
            return None
        if not sessions.lacks_nothing(session_id, user.id, int(now)):
            return None
        if not _has_room(user, client, now):
            return None
        is_offline = OFFLINE in scopes and settings.REMEMBER_DAYS > 0
        ends_at = _end_of_offline(settings, now) if is_offline else session_ends_at
        row: dict[str, Any] = {
            "id": code.grant_id,
            "client": client,
            "user": user,
            "session": session_id,
            "sid": sid or secrets.token_urlsafe(16),
            "stamp": user.security_stamp,
            "scopes": code.scope,
            "resource": code.resource,
            "is_offline": is_offline,
            "refreshed_at": int(now),
            "authenticated_at": authenticated_at,
            "methods": methods,
            "created_at": int(now),
            "expires_at": max(ends_at, int(now) + KEPT),
        }
        if not insert_new(Grant, **row):
            return None
        if client.logout_uri and client.expires_at is None:  # see promise 93 in docs/promises.md
            app_sessions.begin(row, session_ends_at)
        if is_offline:
            details = {**named(client), "scopes": " ".join(sorted(scopes))}
            events.emit(OFFLINE_ACCESS_GIVEN, user_id=user.id, reason=client.id, details=details)
    return Grant(**row)


_NUMBER = Statement(lambda: Grant.select(peewee.fn.COUNT(peewee.SQL("*"))).where(_is_own(Grant)))
_OLDEST = Statement(
    lambda: (
        Grant.select(Grant.id)
        .where(_is_own(Grant), Grant.created_at < given(Grant.created_at, "until"))
        .order_by(Grant.refreshed_at)
        .limit(1)
    )
)
_DELETE = Statement(lambda: Grant.delete().where(is_given(Grant.id)))


def _has_room(user: User, client: Client, now: float) -> bool:
    """Return whether a user can have another grant at a client.

    Instead of the one that was used longest ago, unless its code could still be used again.
    """
    own = {"user": user.id, "client": client.id}
    ((number,),) = _NUMBER.fetchall(**own)
    if number < MOST:
        return True
    oldest = _OLDEST.fetchone(**own, until=int(now) - KEPT)
    return oldest is not None and bool(_DELETE.execute(id=oldest[0]))


def _end_of_offline(settings: Settings, now: float) -> int:
    return int(now) + settings.REMEMBER_DAYS * DAY
