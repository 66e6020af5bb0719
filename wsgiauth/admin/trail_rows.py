"""Events of the audit trail as people read them, on the page of the trail and on that of a user."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.events import actors
from wsgiauth.events.trail import Entry

# What people read; programs and the log have the name.
TITLES = {
    "registration": "Account created",
    "login": "Logged in",
    "logout": "Logged out",
    "confirmed": "Entered the password again",
    "password_changed": "Password changed",
    "names_changed": "Name changed",
    "rights_changed": "Rights changed",
    "group_changed": "Group changed",
    "link_sent": "Link sent",
    "user_deleted": "Account deleted",
    "users_exported": "Users downloaded",
    "refresh_reused": "Refresh token used twice",
    "key_created": "API key created",
    "key_ended": "API key revoked",
    "factor_added": "Second factor added",
    "factor_removed": "Second factor removed",
    "factor_guessed": "Wrong second factors",
    "recovery_code_used": "Recovery code used",
    "passkey_cloned": "Passkey possibly copied",
}


class Person(NamedTuple):
    """A user in the trail.

    Attributes:
        id: The number of the user.
        username: Nothing if the user has been deleted.
        key: The id of the API key by which they did something, or nothing.
    """

    id: int
    username: str
    key: str = ""


class TrailRow(NamedTuple):
    """An event in a table.

    Attributes:
        time: The time of the event (UTC).
        title: What happened, in words.
        user: The account, or None.
        actor: The user who did it, or what did it, as in `Event.actor`, or None.
        address: The client's address, or nothing.
        reason: The cause or the detail, or nothing.
    """

    time: datetime
    title: str
    user: Person | None
    actor: Person | str | None
    address: str
    reason: str


def trail_rows(entries: list[Entry]) -> list[TrailRow]:
    """Return events with the names of their users, which are read with one query.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    events = [entry.event for entry in entries]
    acting = [actors.user_id_of(each.actor or "") for each in events]
    names = _names({each.user_id for each in events} | set(acting))
    return [
        TrailRow(
            time=event.time,
            title=TITLES.get(event.name, event.name),
            user=_person(event.user_id, names),
            actor=_person(actor_id, names, actors.key_of(event.actor or "")) or event.actor,
            address=event.address or "",
            reason=event.reason or "",
        )
        for event, actor_id in zip(events, acting, strict=True)
    ]


def _names(user_ids: Iterable[int | None]) -> dict[int, str]:
    wanted = sorted(each for each in user_ids if each is not None)
    if not wanted:
        return {}
    rows: Any = User.select(User.id, User.username).where(User.id.in_(wanted))
    return dict(rows.tuples())


def _person(user_id: int | None, names: dict[int, str], key: str = "") -> Person | None:
    return None if user_id is None else Person(user_id, names.get(user_id, ""), key)
