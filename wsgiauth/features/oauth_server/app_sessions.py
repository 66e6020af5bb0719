"""The sessions of users at apps, which get a logout token when a session ends.

A session ends by a comparison, as grants do: with the user's stamp, and with the group of the app.
After each change that can end one, one UPDATE marks the rows of the user whose session has ended.
The sender also marks rows whose session was deleted without a change of the user.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import peewee

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.personal_data import rows_of
from wsgiauth.accounts.tables import Membership, Session, insert_new
from wsgiauth.authentication.lifetimes import DAY, MINUTE
from wsgiauth.events import Event
from wsgiauth.features.oauth_server.tables import AppSession, Client
from wsgiauth.figures import Waiting
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given

LEASE = 2 * MINUTE  # longer than an app can take: see `logout_sending.DEADLINE`
LIFETIME = 1 * DAY  # how long a logout token is worth sending
KEPT = 365 * DAY  # after which `purge` deletes rows, where no server sends logout tokens any more
OVERDUE = 5 * MINUTE
BATCH = 100

# Frequent events that end no session.
_HARMLESS = frozenset(("registration", "login", "confirmed", "consent_given"))

_IS_IN_SESSION = peewee.fn.EXISTS(
    Session.select(peewee.SQL("1"))
    .join(User)
    .where(Session.id == AppSession.session, IS_VALID_SESSION)
)
_IS_OUTSIDE_GROUP = peewee.fn.EXISTS(
    Client.select(peewee.SQL("1"))
    .join(
        Membership,
        peewee.JOIN.LEFT_OUTER,
        on=(Membership.group == Client.group_id) & (Membership.user == AppSession.user_id),
    )
    .where(
        Client.id == AppSession.client,
        Client.group_id.is_null(False),
        Membership.user.is_null(),
    )
)
_OF_DELETED_GROUPS = Client.select(Client.id).where(Client.group_id.not_in(Group.select(Group.id)))
_IS_OF_GRANT = is_given(AppSession.client) & is_given(AppSession.sid)


def _marked(further: peewee.Expression) -> peewee.ModelUpdate:
    """Return the UPDATE of a user's sessions that have ended, and of further ones."""
    ended = ~_IS_IN_SESSION | _IS_OUTSIDE_GROUP | further
    return AppSession.update(
        due_at=given(AppSession.due_at), expires_at=given(AppSession.expires_at)
    ).where(AppSession.due_at.is_null(), is_given(AppSession.user_id), ended)


_MARK = Statement(lambda: _marked(_IS_OF_GRANT))
_MARK_OF_APP = Statement(lambda: _marked(is_given(AppSession.client)))
_BEGIN_AGAIN = Statement(
    lambda: AppSession.update(
        id=given(AppSession.id), due_at=None, attempts=0, expires_at=given(AppSession.expires_at)
    ).where(_IS_OF_GRANT, AppSession.due_at.is_null(False))
)


def begin(grant: Mapping[str, Any], ends_at: int) -> None:
    """Record that an app has a user in a session, in the transaction of its grant.

    An app that has been revoked and is allowed again, in the same session, gets no logout token for
    the revocation any more.

    Args:
        grant: The columns of the grant.
        ends_at: When the session ends in any case.
    """
    columns = {name: grant[name] for name in ("id", "client", "session", "sid")}
    expires_at = ends_at + LIFETIME + KEPT
    if not insert_new(AppSession, **columns, user_id=grant["user"].id, expires_at=expires_at):
        # With a new id, a process that still sends the former token changes nothing.
        again = {name: grant[name] for name in ("id", "client", "sid")}
        _BEGIN_AGAIN.execute(**again, expires_at=expires_at)


def mark_ended(event: Event, sid: str, now: int) -> bool:
    """Let apps get a logout token for each session that an event has ended; return whether any is.

    Args:
        sid: Of the grant that has ended; "" if the event is about none.
    """
    if event.name in _HARMLESS:
        return False
    if event.user_id is None:
        if event.name != "group_changed" or not (event.reason or "").startswith("deleted "):
            return False
        ended = AppSession.client.in_([each.id for each in _OF_DELETED_GROUPS.clone()])
        return bool(
            AppSession.update(_due(now)).where(AppSession.due_at.is_null(), ended).execute()
        )
    values = {**_due(now), "user_id": event.user_id, "client": event.reason}
    if event.name == "consent_revoked":
        return bool(_MARK_OF_APP.execute(**values))
    return bool(_MARK.execute(**values, sid=sid))  # no row has the `sid` ""


_IS_DELETED = AppSession.session.is_null() & AppSession.due_at.is_null()
_DELETED = Statement(lambda: AppSession.select(AppSession.id).where(_IS_DELETED).limit(BATCH))


@repeated_after_conflict
def mark_deleted(now: float) -> bool:
    """Mark rows whose session was deleted in another way than by a logout; return whether any is.

    For example, `purge` deletes the sessions that have expired.
    """
    ids = [each for (each,) in _DELETED.fetchall()]
    if not ids:
        return False
    with database.atomic():
        marked = AppSession.update(_due(int(now))).where(AppSession.id.in_(ids), _IS_DELETED)
        return bool(marked.execute())


_IS_DUE = AppSession.due_at <= given(AppSession.due_at, "now")
_IS_OF_CLIENT = AppSession.client == Client.id
_CLIENTS_DUE = Statement(
    lambda: Client.select(
        Client.id,
        AppSession.select(peewee.fn.MIN(AppSession.due_at)).where(_IS_OF_CLIENT, _IS_DUE),
    ).where(
        Client.expires_at.is_null(),  # no other client has a logout URI
        peewee.fn.EXISTS(AppSession.select(peewee.SQL("1")).where(_IS_OF_CLIENT, _IS_DUE)),
    )
)
_OLDEST_DUE = ModelStatement(
    lambda: (
        AppSession.select(AppSession, Client)
        .join(Client)
        .where(is_given(AppSession.client), _IS_DUE)
        .order_by(AppSession.due_at)
        .limit(1)
    )
)


def clients_due(now: float) -> list[tuple[str, int]]:
    """Return the ids of clients with rows that are due, and since when the oldest row is due.

    A lookup in an index for each client of an operator, because one client can have very many rows.
    """
    return _CLIENTS_DUE.fetchall(now=int(now))


def oldest_due(client_id: str, now: float) -> AppSession | None:
    """Return the row of a client that is due for longest, with the client."""
    return _OLDEST_DUE.first(client=client_id, now=int(now))


def is_too_late(row: AppSession, now: float) -> bool:
    """Return whether a logout token is not worth sending any more."""
    return row.expires_at - KEPT <= now


def next_due(without: Collection[str]) -> int | None:
    """Return when the next logout token is due, but for these clients; None: no row waits."""
    waiting = AppSession.select(peewee.fn.MIN(AppSession.due_at))
    if without:
        waiting = waiting.where(AppSession.client.not_in(sorted(without)))
    earliest: int | None = waiting.scalar()
    return earliest


_CLAIM = Statement(
    lambda: AppSession.update(
        due_at=given(AppSession.due_at), attempts=given(AppSession.attempts)
    ).where(is_given(AppSession.id), is_given(AppSession.due_at, "was_due_at"))
)
_IS_CLAIMED = is_given(AppSession.id) & is_given(AppSession.attempts)
_POSTPONE = Statement(lambda: AppSession.update(due_at=given(AppSession.due_at)).where(_IS_CLAIMED))
_DELETE = Statement(lambda: AppSession.delete().where(_IS_CLAIMED))


@repeated_after_conflict
def claim(row: AppSession, now: float) -> bool:
    """Compare and set; return whether this process sends the logout token."""
    claimed = {"due_at": int(now) + LEASE, "attempts": row.attempts + 1}
    with database.atomic():
        if not _CLAIM.execute(id=row.id, was_due_at=row.due_at, **claimed):
            return False
    row.attempts += 1
    return True


@repeated_after_conflict
def postpone(row: AppSession, due_at: int) -> None:
    """Send the logout token of a claimed row again at a later time."""
    with database.atomic():
        _POSTPONE.execute(id=row.id, attempts=row.attempts, due_at=due_at)


@repeated_after_conflict
def delete(row: AppSession) -> None:
    """Delete a claimed row, unless the user is logged in to the app again, in the same session."""
    with database.atomic():
        _DELETE.execute(id=row.id, attempts=row.attempts)


def count_overdue(now: float) -> int:
    """Return how many logout tokens should have been sent a while ago."""
    return int(AppSession.select().where(AppSession.due_at <= int(now) - OVERDUE).count())


def waiting() -> Waiting:
    """Return how many logout tokens wait to be sent, and since when the oldest one does."""
    # `due_at` moves with each attempt.
    rows: Any = AppSession.select(
        peewee.fn.COUNT(peewee.SQL("*")), peewee.fn.MIN(AppSession.expires_at)
    )
    number, expires_at = rows.where(AppSession.due_at.is_null(False)).tuples().get()
    return Waiting(int(number), None if expires_at is None else expires_at - KEPT - LIFETIME)


def own_app_sessions(user: User, settings: Settings) -> Iterator[object]:
    """Yield the sessions of a user at apps that get logout tokens."""
    of_user = AppSession.select(AppSession, Client).join(Client)
    for row in rows_of(of_user.where(AppSession.user_id == user.id), AppSession.id):
        yield json_fields({"app": row.client.name, "expires_at": from_timestamp(row.expires_at)})


def _due(now: int) -> dict[str, int]:
    return {"due_at": now, "expires_at": now + LIFETIME + KEPT}
