"""Open invitations of staff, operators and the application: their list, and their end.

A link that people asked for themselves at /auth/register is theirs, and is no part of the list.
Before an invitation has a link, its email waits in the outbox.
"""

import operator
from datetime import datetime
from typing import Any, NamedTuple

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.accounts.tables import INVITATION, OneTimeSecret
from wsgiauth.authentication.one_time import digest
from wsgiauth.events.kinds import Change
from wsgiauth.features.links.invitations import parse_invitation
from wsgiauth.mail.outbox import Mail
from wsgiauth.messages import _
from wsgiauth.storage import database
from wsgiauth.storage.models import from_timestamp, json_fields

INVITATION_ENDED = Change("invitation_ended", _("Invitation revoked"), icon="mail")

# In `data`, which is JSON. A string of a client cannot contain it: JSON escapes quotes.
_OF_INVITER = '"is_requested": false'


class OpenInvitation(NamedTuple):
    """An invitation whose link can be used."""

    email: str
    username: str  # empty: the person chooses one
    is_staff: bool
    permissions: tuple[str, ...]
    groups: tuple[str, ...]  # their names at the time of the invitation
    actor: str  # who invites; see `events.actors`
    until: datetime | None  # in UTC; None: the email has not been sent yet

    @property
    def gives_rights(self) -> bool:
        """Whether the user becomes staff, gets permissions, or joins groups."""
        return self.is_staff or bool(self.permissions or self.groups)

    def document(self) -> dict[str, object]:
        """Return the invitation, ready for JSON."""
        return json_fields(self._asdict())


def open_invitations(now: float, limit: int | None = None) -> list[OpenInvitation]:
    """Return at most `limit` open invitations, one of each address: the newest first.

    The secrets are in no order, so that an index finds them: few have no user.
    """
    secrets: Any = OneTimeSecret.select(OneTimeSecret.data, OneTimeSecret.expires_at)
    secrets = secrets.where(OneTimeSecret.user.is_null(), _is_secret(), _is_valid(now))
    mails: Any = Mail.select(Mail.data).where(_is_mail()).order_by(Mail.due_at.desc())
    listed = [_listed(data, None) for (data,) in mails.limit(limit).tuples()]
    sent = [_listed(data, ends) for data, ends in secrets.limit(limit).tuples()]
    listed += sorted(sent, key=operator.attrgetter("until"), reverse=True)
    newest: dict[str, OpenInvitation] = {}
    for each in listed:
        newest.setdefault(names.key(each.email), each)
    return [*newest.values()][:limit]


def count_invitations(now: int) -> int:
    """Return how many invitations are open, or wait to be sent."""
    secrets = OneTimeSecret.select().where(
        OneTimeSecret.user.is_null(), _is_secret(), _is_valid(now)
    )
    return int(secrets.count()) + int(Mail.select().where(_is_mail()).count())


def find_invitations(email: str, now: float) -> list[OpenInvitation]:
    """Return the open invitations of an address."""
    rows: Any = OneTimeSecret.select(OneTimeSecret.data, OneTimeSecret.expires_at)
    rows = rows.where(_is_secret(email), _is_valid(now)).tuples()
    waiting = [_listed(row.data, None) for row in _mails_to(email)]
    return [_listed(data, ends) for data, ends in rows] + waiting


def end_invitations(email: str) -> None:
    """End all open invitations of an address.

    An email that is being sent is found, too: it gets its link only while its row is there
    (`letters`), so either the row has gone before, or the link is found here.
    """
    with database.atomic():
        mails = [row.id for row in _mails_to(email)]
        if mails:
            Mail.delete().where(Mail.id.in_(mails)).execute()
        # Not by listed ids: a snapshot of MariaDB could hide the link that was just made.
        OneTimeSecret.delete().where(_is_secret(email)).execute()
        events.emit(INVITATION_ENDED)


def _is_secret(email: str | None = None) -> Any:
    """Return the condition for secrets of inviters, for an address or for all."""
    of_inviter = (OneTimeSecret.purpose == INVITATION) & (OneTimeSecret.data.contains(_OF_INVITER))
    return of_inviter if email is None else _is_about(email) & of_inviter


def _is_about(email: str) -> Any:
    return OneTimeSecret.subject == digest(names.key(email))


def _is_valid(now: float) -> Any:
    return OneTimeSecret.expires_at > int(now)


def _is_mail() -> Any:
    return (Mail.kind == INVITATION) & (Mail.data.contains(_OF_INVITER))


def _mails_to(email: str) -> list[Mail]:
    key = names.key(email)
    return [row for row in Mail.select().where(_is_mail()) if names.key(row.name) == key]


def _listed(data: str, expires_at: int | None) -> OpenInvitation:
    invitation = parse_invitation(data)
    return OpenInvitation(
        email=invitation.email,
        username=invitation.username,
        is_staff=invitation.is_staff,
        permissions=invitation.permissions,
        groups=tuple(each.name for each in invitation.groups),
        actor=invitation.actor,
        until=None if expires_at is None else from_timestamp(expires_at),
    )
