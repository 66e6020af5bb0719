"""What the file of a person's own data lists of the tables of the kernel: see `Feature`.

Digests, random ids and `security_stamp` are left out: they say nothing about a person.
"""

import time
from collections.abc import Iterator
from datetime import MAXYEAR, UTC, datetime

from wsgiauth.accounts import names
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import Records, rows_of
from wsgiauth.accounts.tables import Membership, OneTimeSecret, Permission, Session
from wsgiauth.authentication.one_time import digest
from wsgiauth.authentication.session_list import ListedSession
from wsgiauth.events.models import RecordedEvent
from wsgiauth.mail.outbox import Mail
from wsgiauth.settings import Settings
from wsgiauth.storage.models import from_timestamp, json_fields, utc_text
from wsgiauth.throttling.failed_logins import KEPT_FOR, STORED
from wsgiauth.throttling.throttle import Throttle

_LAST_MOMENT = int(datetime(MAXYEAR, 1, 1, tzinfo=UTC).timestamp())  # later: never


def _groups(user: User, settings: Settings) -> Iterator[object]:
    of_user = Group.select().join(Membership).where(Membership.user == user.id)
    return (row.name for row in rows_of(of_user, Group.id))


def _permissions(user: User, settings: Settings) -> Iterator[object]:
    of_user = Permission.select().where(Permission.user == user.id)
    return (row.name for row in rows_of(of_user, Permission.name))


def _sessions(user: User, settings: Settings) -> Iterator[object]:
    """Yield also the sessions that have ended, as long as their rows stay."""
    for row in rows_of(Session.select().where(Session.user == user.id), Session.id):
        listed = ListedSession.of(row)  # which rounds times that only the owner may know exactly
        yield json_fields(
            {
                "created_at": listed.created_at,
                "auth_time": from_timestamp(row.authenticated_at),
                "amr": row.methods.split(),
                "last_seen_at": listed.last_seen_at,
                "expires_at": listed.expires_at,
                "ends_at": listed.ends_at,
                "is_revoked": row.stamp != user.security_stamp,
                "address": row.address or None,
                "user_agent": row.agent or None,
            }
        )


def _one_time_secrets(user: User, settings: Settings) -> Iterator[object]:
    """Yield the secrets of the user, and those sent to the address before it had an account."""
    subjects = [digest(each) for each in {user.email, names.key(user.email)}]
    without_user = OneTimeSecret.user.is_null() & OneTimeSecret.subject.in_(subjects)
    for condition in (OneTimeSecret.user == user.id, without_user):
        for row in rows_of(OneTimeSecret.select().where(condition), OneTimeSecret.id):
            ends = from_timestamp(row.expires_at) if row.expires_at < _LAST_MOMENT else None
            yield json_fields({"purpose": row.purpose, "expires_at": ends})


def _emails(user: User, settings: Settings) -> Iterator[object]:
    """Yield the emails that wait for the user, also those that were asked for by a name."""
    own_names = {names.key(user.username), names.key(user.email)}
    for condition in (Mail.user == user.id, Mail.user.is_null()):
        for row in rows_of(Mail.select().where(condition), Mail.id):
            if row.user_id == user.id or names.key(row.name) in own_names:
                yield {
                    "kind": row.kind,
                    "name": row.name or None,
                    "locale": row.language or None,
                    "expires_at": utc_text(from_timestamp(row.expires_at)),
                }


def _failed_logins(user: User, settings: Settings) -> Iterator[object]:
    """Yield the failures since the user has both names, which others can have had before.

    An import sets `created_at`, so the event of the registration counts, too.
    """
    named: RecordedEvent | None = (
        RecordedEvent.select()
        .where(
            RecordedEvent.user_id == user.id,
            RecordedEvent.time >= int(time.time()) - KEPT_FOR,
            (RecordedEvent.name == "registration")
            | (RecordedEvent.name == "names_changed")
            & RecordedEvent.reason.in_(("username", "email")),
        )
        .order_by(RecordedEvent.time.desc())
        .first()
    )
    since = user.created_at if named is None else from_timestamp(named.time)
    for each in Throttle(settings).failed_logins(user, most=STORED):
        if each.time > since:
            yield json_fields(each._asdict())


def _waits(user: User, settings: Settings) -> Iterator[object]:
    """Yield the waits of all clients; the counts of each client are stored under its digest."""
    for each in Throttle(settings).waits(user, ()):
        yield json_fields({"reason": each.reason, "name": each.name, "until": each.until})


TABLES = {
    "wsgiauth_membership": Records("groups", _groups),
    "wsgiauth_permission": Records("permissions", _permissions),
    "wsgiauth_session": Records("sessions", _sessions),
    "wsgiauth_one_time": Records("one_time_secrets", _one_time_secrets),
    "wsgiauth_mail": Records("emails", _emails),
    "wsgiauth_failed_logins": Records("failed_logins", _failed_logins),
    "wsgiauth_attempt_count": Records("waits", _waits),
}
