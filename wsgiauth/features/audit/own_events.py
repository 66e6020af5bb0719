"""The events in the file of a person's own data, without the data of other people.

Of a member of the staff who changed the account, the file says only that it was one. Of a change by
the user to another account, it says only what kind of change it was, and when.
"""

from collections.abc import Iterator

from wsgiauth.accounts.models import User
from wsgiauth.events import Event, actors
from wsgiauth.features.audit.trail import Filters, stream
from wsgiauth.settings import Settings
from wsgiauth.storage.models import json_fields

_SELF, _OTHER = "self", "other"


def own_events(user: User, settings: Settings) -> Iterator[object]:
    """Yield the changes of the account, then the user's changes of everything else."""
    actor = actors.user(user.id)
    for page in stream(Filters(user_id=user.id)):
        for _, event in page:
            yield _own(event, actor)
    for page in stream(Filters(actor=actor)):
        for _, event in page:
            if event.user_id != user.id:
                yield _of_other(event)


def _own(event: Event, own_actor: str) -> object:
    by, key = _who(event.actor or "", own_actor)
    # A login by the application's code is a login of this client.
    is_own_client = by == _SELF or event.name == "login"
    return json_fields(
        {
            "time": event.time,
            "event": event.name,
            "reason": event.reason,
            "account": _SELF,
            "by": by,
            "key": key,
            "address": event.address if is_own_client else None,
        }
    )


def _of_other(event: Event) -> object:
    return json_fields(
        {
            "time": event.time,
            "event": event.name,
            "reason": None,
            "account": _OTHER,
            "by": _SELF,
            "key": actors.key_of(event.actor or "") or None,
            "address": event.address,
        }
    )


def _who(actor: str, own_actor: str) -> tuple[str, str | None]:
    """Return who an actor is for the owner of the file, and the id of the owner's API key."""
    name, _ = actors.split(actor)
    if name == own_actor:
        return _SELF, actors.key_of(actor) or None
    if name == actors.COMMAND_LINE:
        return "operator", None
    return ("application", None) if actor == actors.CODE else ("staff", None)
