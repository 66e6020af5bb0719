"""Sessions: a login creates a row and a token; each request with the token looks the row up.

On the way of a request, this is the only query: does the token's session still exist?
"""

import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.callers import CALLER, from_row
from wsgiauth.accounts.groups import Group, keep_group_names
from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.tables import Membership, Session, TrustedBrowser, end_trust
from wsgiauth.authentication.demands import Admission, Demand, DemandError
from wsgiauth.authentication.federated_logins import FederatedLogin
from wsgiauth.authentication.lifetimes import Lifetime
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.tokens import Claims, IssuedTokens, Tokens
from wsgiauth.events import kinds
from wsgiauth.storage import context, database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import utc_now
from wsgiauth.storage.statements import OrderedSelect, Statement, given, is_given
from wsgiauth.storage.upkeep import OptionalWrites, purge_expired, purge_some
from wsgiauth.web.clients import Client

_LATEST = 2**63 - 1  # the largest `expires_at`
_LAST_LOGIN_PRECISION = timedelta(hours=1)

_moves = OptionalWrites("the ends of sessions do not move for now")
_uses = OptionalWrites("the use of new tokens is not recorded for now")

NO_REFRESH = {"unused": 0, "reissued": 0, "reissued_for": 0}  # in rows before a first refresh

REUSED = -1  # the stamp of sessions that ended because a token was copied

# The effects of a token whose session was found.
_END_COPIED, _REFUSE, _RECORD_USE, _MOVE_END = 1, 2, 3, 4

_UNKNOWN = Client()


def start(
    user: User,
    tokens: Tokens,
    lifetime: Lifetime | None = None,
    *,
    methods: str = PASSWORD,
    client: Client = _UNKNOWN,
    federated_login: FederatedLogin | None = None,
    is_permitted: Callable[[], bool] | None = None,
    of_site: "Sessions | None" = None,
) -> IssuedTokens | None:
    """Start a session for `user`, as read before the password was verified.

    Return None if the user was deactivated or deleted, or the password changed, while it was being
    verified, if the federated login has ended, or if the session is not permitted.

    Args:
        lifetime: By default, the lifetime of a token.
        methods: See `methods`.
        federated_login: With which the session begins, if there was one.
        is_permitted: Called first in the transaction; locks the user.
        of_site: Asks the demands of the site, whether they are met or not.

    Raises:
        ClaimsError: The application has no claims for the token; no session has begun.
        DemandError: A demand failed; no session has begun.
    """
    claims = tokens.claims_for(user)  # before anything is written
    now = int(tokens.now())
    lifetime = lifetime or Lifetime(tokens.lifetime)
    ends_at = now + lifetime.total
    session = Session(
        id=secrets.token_urlsafe(16),
        user=user.id,
        stamp=user.security_stamp,
        created_at=utc_now(),
        expires_at=min(now + lifetime.idle, ends_at) if lifetime.idle else ends_at,
        last_seen_at=now,
        ends_at=ends_at,
        idle=lifetime.idle,
        authenticated_at=now if federated_login is None else federated_login.proven_at(now),
        methods=methods,
        generation=int(lifetime.is_refreshable),
        refreshed_at=now,
        address=client.address,
        agent=client.agent,
    )
    if not _insert(session, user, client, federated_login, is_permitted, of_site):
        return None
    if federated_login is not None and federated_login.has_ended():  # meanwhile
        revoke(session.id, user)
        return None
    purge_some(Session, now)
    return tokens.issue_for(session, claims)


@repeated_after_conflict
def _insert(
    session: Session,
    user: User,
    client: Client,
    federated_login: FederatedLogin | None,
    is_permitted: Callable[[], bool] | None,
    of_site: "Sessions | None",
) -> bool:
    """Insert a session unless the user has changed, and return whether it was inserted.

    Only a federated login, or one in a trusted browser, needs a lock. If the user changes at the
    same moment, the row has the old stamp, so it is not valid after the change.
    """
    try:
        # A transaction, because only its BEGIN is repeated if the connection is lost.
        with database.atomic():
            if is_permitted is not None and not is_permitted():
                return False
            if federated_login is not None and not federated_login.is_valid_for(user):
                return False
            _record_language(user, client)
            _record_login(user)
            if not _INSERT.execute(**session.__data__):
                return False
            if of_site is not None:
                of_site.lacks_nothing(session.id, user.id, session.last_seen_at)
            if federated_login is not None:
                federated_login.record(session.id, is_first=True)
            # The language from before this login, which can be a thief's.
            details = {"agent": session.agent, "language": user.language}
            events.emit(kinds.LOGIN, user_id=user.id, reason=session.methods, details=details)
            return True
    except peewee.IntegrityError:  # a foreign key's: the user or the identity was just deleted
        return False


def _record_language(user: User, client: Client) -> None:
    """Write the language that the reader has just chosen, or one that the user does not have yet.

    See `_record_login` for the order.
    """
    if client.chosen and client.chosen != user.language:
        seen = {"user": user.id, "stamp": user.security_stamp}
        if _CHANGE_LANGUAGE.execute(language=client.chosen, **seen):
            events.emit(kinds.LANGUAGE_CHANGED, user_id=user.id, reason=client.chosen)
    elif client.language and not user.language:
        _SET_LANGUAGE.execute(id=user.id, language=client.language)


def _record_login(user: User) -> None:
    """Write when a user last logged in, at most once an hour.

    Call this before the INSERT of the session, which on MariaDB locks the user's row in shared
    mode: of two logins that then write to that row, one would fail.
    """
    now = utc_now()
    if user.last_login_at is not None and user.last_login_at > now - _LAST_LOGIN_PRECISION:
        return
    seen = {"user": user.id, "stamp": user.security_stamp}
    _RECORD_LOGIN.execute(now=now, recent=now - _LAST_LOGIN_PRECISION, **seen)


def _is_due(now: Any) -> Any:
    """Return the condition that a use moves the end: a tenth of the idle time is gone.

    It is false for a fixed session, and for one with a refresh token: only a refresh moves its end.
    """
    gone = Session.idle - Session.expires_at + now
    # No values but `now`, because each would be another parameter of `find`.
    has_no_refresh_token = Session.generation == peewee.SQL("0")
    is_old = gone * peewee.SQL("10") >= Session.idle
    return (Session.expires_at < Session.ends_at) & has_no_refresh_token & is_old


def _is_first_use(generation: Any) -> Any:
    """Return the condition that no token of the current pair, with this number, was presented."""
    is_unused = (Session.unused > peewee.SQL("0")) & (Session.unused == Session.generation)
    return is_unused & (Session.unused == generation)


_NEWEST = 2**31 - 1  # a number that no access token has, so no use is recorded
_USES = 4  # how often the cases of `_uses_of` have the number


def _uses_of(generation: int) -> list[tuple[peewee.Expression, peewee.SQL]]:
    """Return the cases of `_accept` for an access token that has this number.

    `refresh` replaces a pair whose response seems lost. A token of that pair shows that a client
    got the response, so that the refresh token was copied. Older tokens are refused.
    """
    # A process of an earlier version that renews a session leaves `reissued` as it is.
    is_former = (Session.reissued > generation) & (Session.reissued <= Session.generation)
    return [
        (is_former & (Session.reissued_for < generation), peewee.SQL(f"{_END_COPIED}")),
        (is_former, peewee.SQL(f"{_REFUSE}")),
        (_is_first_use(generation), peewee.SQL(f"{_RECORD_USE}")),
    ]


def _accept(use: int | None, claims: Claims, now: int) -> bool:
    """Write the effect of an access token, by a case of `_uses_of`; return whether it counts."""
    if use == _END_COPIED:
        end_copied(claims.session_id, claims.user_id)
    elif use == _RECORD_USE:
        _record_use(claims, now)
    elif use == _MOVE_END:
        slide(claims.session_id, now)
    return use not in (_END_COPIED, _REFUSE)


_USE = len(CALLER)  # the index of the case of `_accept`
_FURTHER = _USE + 1


def _callers(which: peewee.Expression, *further: Any) -> Any:
    """Select the users of valid sessions, the cases of `_accept`, and further columns.

    If a demand has an aggregate as a column, there is a row without a user, of no session.
    """
    cases = [*_uses_of(0), (_is_due(0), peewee.SQL(f"{_MOVE_END}"))]
    return (
        User.select(*CALLER, peewee.Case(None, cases), *further)
        .join(Session, on=(Session.user == User.id))
        .where(which, Session.user == 0, Session.expires_at > 0, IS_VALID_SESSION)
    )


def _inserting() -> Any:
    columns: Any = Session._meta.sorted_fields
    unchanged = User.select(*map(given, columns)).where(_IS_SAME_USER)
    return Session.insert_from(unchanged, columns)


def _moving() -> Any:
    idle_end = Session.idle + _NOW
    moved = peewee.Case(None, [(idle_end < Session.ends_at, idle_end)], Session.ends_at)
    changes = {Session.expires_at: moved, Session.last_seen_at: _NOW}
    return Session.update(changes).where(is_given(Session.id), _is_due(_NOW))


_NOW = given(Session.expires_at, "now")
_IS_SAME_USER = is_given(User.id, "user") & is_given(User.security_stamp, "stamp") & User.is_active
_INSERT = Statement(_inserting)
_MOVE = Statement(_moving)
_RECORD = Statement(
    lambda: Session.update(unused=0).where(
        is_given(Session.id), _is_first_use(given(Session.generation))
    )
)
_RECORD_LOGIN = Statement(
    lambda: User.update(last_login_at=given(User.last_login_at, "now")).where(
        _IS_SAME_USER,
        User.last_login_at.is_null() | (User.last_login_at <= given(User.last_login_at, "recent")),
    )
)
_CHANGE_LANGUAGE = Statement(
    lambda: User.update(language=given(User.language)).where(_IS_SAME_USER)
)
_SET_LANGUAGE = Statement(
    lambda: User.update(language=given(User.language)).where(is_given(User.id), User.language == "")
)
_END_AS_COPIED = Statement(
    lambda: Session.update(stamp=REUSED).where(
        is_given(Session.id), is_given(Session.user), Session.stamp != REUSED
    )
)
_DELETE = Statement(lambda: Session.delete().where(is_given(Session.id), is_given(Session.user)))
_DELETE_OTHERS = Statement(
    lambda: Session.delete().where(
        is_given(Session.user),
        is_given(Session.stamp),
        Session.id != given(Session.id, "except_id"),
    )
)


class _Statements(NamedTuple):
    """The SELECTs of `Sessions`; the further columns begin with those of the demands."""

    find: OrderedSelect
    find_with_groups: OrderedSelect
    find_proven_at: OrderedSelect


@lru_cache(maxsize=16)  # the SQL of sites with the same demands is built once
def _statements(admission: Admission, _sql: tuple[str, ...]) -> _Statements:
    columns, is_named = admission.chain(Session).columns, Session.id == ""
    derived, is_proven = admission.derived_chain(Session).columns, Session.authenticated_at == 0
    return _Statements(
        OrderedSelect(lambda: _callers(is_named, *columns)),
        OrderedSelect(
            lambda: (
                _callers(is_named, *columns, Group.name)
                .join(Membership, peewee.JOIN.LEFT_OUTER, on=(Membership.user == User.id))
                .join(Group, peewee.JOIN.LEFT_OUTER, on=(Membership.group == Group.id))
                .order_by(Group.name_key)
            )
        ),
        OrderedSelect(lambda: _callers(is_proven, *derived, Session.id)),
    )


class Sessions:
    """Finds the sessions of a site, and what they lack. No other code decides this."""

    def __init__(self, tokens: Tokens, admission: Admission) -> None:
        self.admission: Admission = admission
        self._tokens = tokens
        self._chain = admission.chain(Session, after=_FURTHER)
        self._statements = _statements(admission, self._chain.sql)
        self._find = self._statements.find
        self._values = self._chain.parameters
        self._derived = admission.derived_chain(Session, after=_FURTHER)
        self._is_demanding = bool(admission.demands)

    def find(self, token: str, with_groups: bool = False) -> tuple[User, str, Demand | None] | None:
        """Return the user and the id of a token's session, and the demand that it does not meet.

        Return None if the token is not valid. Costs one SELECT, or none if the token itself is not
        valid; now and then an UPDATE: see `_uses_of`.

        Args:
            with_groups: Whether to read the user's groups for `group_names`, too.

        Raises:
            DemandError: A demand failed.
        """
        now = int(self._tokens.now())
        claims = self._tokens.verify(token, now)
        if claims is None:
            return None
        generation, user_id = claims.generation, claims.user_id
        parameters = *[generation] * _USES, now, *self._values, claims.session_id, user_id, now
        rows: list[tuple[Any, ...]] = []
        if with_groups:  # a row for each of them, or one without
            rows = self._statements.find_with_groups.fetchall(*parameters)
            row = rows[0] if rows else None
        else:
            row = self._find.fetchone(*parameters)
        if row is None or row[0] is None or (row[_USE] and not _accept(row[_USE], claims, now)):
            return None
        user = from_row(user_id, row)
        if with_groups:
            keep_group_names(user, [name for *_, name in rows if name is not None])
        session_id = claims.session_id
        try:
            if not self._is_demanding:
                return user, session_id, None
            return user, session_id, self._chain.unmet(user, row, further=int(with_groups))
        except DemandError as error:
            error.session_id = session_id
            raise

    def find_asked(self, claims: Claims, now: int) -> User | None:
        """Return the user of a session that lacks nothing, by claims; see `find`.

        The token was presented to another service, which does not move the end of the session.
        """
        named = claims.session_id, claims.user_id
        row = self._find.fetchone(*[claims.generation] * _USES, now, *self._values, *named, now)
        if row is None or row[0] is None:
            return None
        if row[_USE] not in (None, _MOVE_END) and not _accept(row[_USE], claims, now):
            return None
        user = from_row(claims.user_id, row)
        return user if self._chain.unmet(user, row) is None else None

    def lacks_nothing(self, session_id: str, user_id: int, now: int) -> bool:
        """Return whether a session that is valid, or was a moment ago, meets every demand."""
        if not self._is_demanding:
            return True
        return self.find_asked(Claims(user_id, session_id, _NEWEST), now) is not None

    def find_proven_at(
        self, user_id: int, authenticated_at: int, now: int
    ) -> Iterator[tuple[User, str]]:
        """Yield the user and the id of each valid session whose last proof was in one second.

        In practice, this is one session; a new proof also changes the id. A session is left out if
        it does not meet a demand that concerns what it has passed on.
        """
        parameters = *[0] * _USES, now, *self._derived.parameters, authenticated_at, user_id, now
        for row in self._statements.find_proven_at.fetchall(*parameters):
            if row[0] is None:
                continue
            user = from_row(user_id, row)
            if self._derived.unmet(user, row, further=1) is None:
                yield user, row[-1]


def slide(session_id: str, now: int) -> None:
    """Move the end of a session to `idle` seconds from `now`, if that is due.

    The UPDATE has the condition, so that a slow concurrent request does not move the end back. If
    the row is locked, or the request is in a transaction, a later request moves the end.
    """
    _moves.execute(lambda: _MOVE.execute(id=session_id, now=now), now)


def _record_use(claims: Claims, now: int) -> None:
    """Record the first use of the current pair, after which the previous one counts as copied."""
    used = {"id": claims.session_id, "generation": claims.generation}
    _uses.execute(lambda: _RECORD.execute(**used), now)


@repeated_after_conflict
def end_copied(session_id: str, user_id: int) -> None:
    """Revoke a session of which a token was copied; its row stays in the list of the owner."""
    with database.atomic():
        if _END_AS_COPIED.execute(id=session_id, user=user_id):
            events.emit(kinds.REFRESH_REUSED, user_id=user_id)


@repeated_after_conflict
def revoke(session_id: str, user: User) -> None:
    """Revoke a session of `user`, if it has not ended already."""
    with database.atomic():
        if _DELETE.execute(id=session_id, user=user.id):
            events.emit(kinds.LOGOUT, user_id=user.id)


@repeated_after_conflict
def revoke_all(user: User, *, except_id: str | None = None) -> int:
    """Revoke all sessions of a user but `except_id`, and return how many there were.

    No browser stays trusted, not even the one of `except_id`.
    """
    # The stamp as it was read: a session that began after a change of the password goes on.
    valid = {"user": user.id, "stamp": user.security_stamp, "except_id": except_id or ""}
    which = "all sessions" if except_id is None else "all other sessions"
    with database.atomic():
        lock_user(user.id)  # a login inserts several rows: on MariaDB, the two could deadlock
        revoked = _DELETE_OTHERS.execute(**valid)
        if revoked:
            events.emit(kinds.LOGOUT, user_id=user.id, reason=which)
        end_trust(user.id)
    return revoked


def end_sessions(user: User) -> int:
    """End all sessions of `user`, and return how many there were; API keys stay.

    No browser of the user stays trusted.

    Args:
        user: The user; the object can be outdated.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with context.using(user.database):
        stored = User.find_by_id(user.id)
        return 0 if stored is None else revoke_all(stored)


def revoke_every_session() -> int:
    """Revoke all sessions of all users, in batches that block no request; return their number.

    A session that starts in the meantime can remain. No browser stays trusted.
    """
    number = Session.select().join(User).where(IS_VALID_SESSION).count()
    if number:  # before the batches, each of which is a transaction: no batch lacks the event
        events.emit(kinds.LOGOUT, reason="all sessions of all users")
    purge_expired(Session, _LATEST)
    purge_expired(TrustedBrowser, _LATEST)
    return number
