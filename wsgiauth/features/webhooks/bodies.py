"""What a webhook says of an event."""

import json
from collections.abc import Mapping
from typing import Any

from wsgiauth.accounts.models import User
from wsgiauth.events import Event, actors, kinds
from wsgiauth.storage.models import utc_text
from wsgiauth.storage.statements import Statement, is_given

_NAMES = Statement(lambda: User.select(User.username, User.email).where(is_given(User.id)))


def body_of(event: Event, details: Mapping[str, str], *, has_emails: bool) -> str:
    """Return the body, in the transaction of the change.

    It has no address of a client, and not the name of the system's user who runs commands.
    """
    return written(
        {
            "type": event.name,
            "timestamp": utc_text(event.time),
            "data": {
                "user": _user(event, details, has_emails=has_emails),
                "reason": event.reason,
                "actor": _actor(event.actor),
            },
        }
    )


def written(document: object) -> str:
    """Return a document as compact JSON, in ASCII."""
    return json.dumps(document, separators=(",", ":"))


def _user(
    event: Event, details: Mapping[str, str], *, has_emails: bool
) -> dict[str, object] | None:
    if event.user_id is None:
        return None
    names: Any = (details.get("username"), details.get("email"))
    if event.name != kinds.USER_DELETED.name:
        names = _NAMES.fetchone(id=event.user_id) or (None, None)
    username, email = names
    document = {"id": event.user_id, "username": username}
    return {**document, "email": email} if has_emails else document


def _actor(actor: str | None) -> str | None:
    plain = actors.split(actor)[0]
    return plain if plain == actors.COMMAND_LINE else actor
