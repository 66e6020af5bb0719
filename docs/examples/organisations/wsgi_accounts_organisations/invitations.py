"""Invite people by email.

An invitation is for one address: its link proves that a person reads emails there, and the account
must have exactly this address. To invite looks up no account, so all addresses get the same answer.
"""

import secrets
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from wsgiauth import extend
from wsgiauth.extend import User, database, emit, is_same_mailbox, one_time

from . import errors
from .changes import INVITED, JOINED, UNINVITED
from .members import add, lock, lock_where
from .roles import Role
from .settings import OrganisationsSettings
from .tables import Invitation, Member, Organisation

PURPOSE = "organisation"  # of the secrets
MAIL = "organisation invitation"  # the kind of the emails


class OpenInvitation(NamedTuple):
    """An invitation in the list for admins."""

    id: str
    email: str
    role: Role
    until: datetime


@extend.repeated_after_conflict
def invite(slug: str, actor: User, email: str, role: Role, site: extend.Site) -> None:
    """Send an invitation, which replaces an open one to the same address."""
    settings, now = OrganisationsSettings.of(site.settings), int(site.tokens.now())
    outbox, invitation_id = extend.require_part(site.outbox), secrets.token_hex(8)
    with database.atomic():
        own = lock(slug, actor)
        own.role.require(role)
        people: Any = Member.select(User.email).join(User)
        people = people.where(Member.organisation == own.organisation_id).tuples()
        invited = list_invitations(own.organisation_id, now)
        former = [each.id for each in invited if is_same_mailbox(each.email, email)]
        if any(is_same_mailbox(address, email) for (address,) in people):
            raise errors.refused("already_member")
        if len(people) + len(invited) - len(former) >= settings.ORGANISATIONS_MEMBERS:
            raise errors.refused("organisation_full")
        Invitation.delete().where(Invitation.id.in_(former)).execute()
        new = {"id": invitation_id, "organisation": own.organisation_id, "inviter": actor.id}
        ends_at = now + settings.ORGANISATIONS_INVITATION_HOURS * 3600
        Invitation.insert(**new, email=email, role=role, expires_at=ends_at).execute()
        data = {"invitation": invitation_id, "mount": site.pages.mount}
        extend.ask_for(outbox, MAIL, name=email, data=data)
        emit(INVITED, user_id=actor.id, reason=f"{slug} {role}")
    extend.purge_some(Invitation, now)


@extend.repeated_after_conflict
def revoke(slug: str, actor: User, invitation_id: str) -> None:
    """End an open invitation, whose link then expires."""
    with database.atomic():
        own = lock(slug, actor)
        is_here = Invitation.organisation == own.organisation_id
        row: Any = Invitation.get_or_none(Invitation.id == invitation_id, is_here)
        own.role.require()
        if row is None:
            raise errors.refused("no_such_invitation")
        own.role.require(Role(row.role))
        row.delete_instance()
        emit(UNINVITED, user_id=actor.id, reason=slug)


def require_offer(token: str, user: User, now: float) -> tuple[Any, one_time.OneTimeSecret]:
    """Return the invitation of a link for an account, and its secret, or raise RequestError."""
    secret = one_time.find(token, PURPOSE, now=now)
    row = None if secret is None else find_invitation(secret.data, now)
    if secret is None or row is None:
        raise errors.refused("link_expired")
    if not is_same_mailbox(user.email, row.email):
        raise errors.refused("other_account")
    return row, secret


@extend.repeated_after_conflict
def accept(token: str, user: User, site: extend.Site) -> str:
    """Let a user join by the secret of a link; return the slug of the organisation."""
    row, secret = require_offer(token, user, site.tokens.now())
    slug: str = row.organisation.slug
    with database.atomic():
        present = extend.lock_user(user.id)
        lock_where(Organisation.id == row.organisation_id)
        # Of concurrent requests, one deletes both rows; the others find nothing to accept.
        is_first = one_time.use(secret) and row.delete_instance()
        if not is_first or present is None or not is_same_mailbox(present.email, row.email):
            raise errors.refused("link_expired")
        if add(user, row.organisation_id, row.role, site.settings):
            emit(JOINED, user_id=user.id, reason=f"{slug} {row.role}")
    return slug


def find_invitation(invitation_id: str, now: float) -> Any:
    """Return an open invitation with its organisation, or None."""
    rows = Invitation.select(Invitation, Organisation).join(Organisation)
    return rows.where(Invitation.id == invitation_id, Invitation.expires_at > int(now)).first()


def list_invitations(organisation_id: int, now: float) -> list[OpenInvitation]:
    """Return the open invitations of an organisation, the newest last."""
    is_here = Invitation.organisation == organisation_id
    rows: Any = Invitation.select().where(is_here, Invitation.expires_at > int(now))
    return [
        OpenInvitation(each.id, each.email, Role(each.role), extend.from_timestamp(each.expires_at))
        for each in rows.order_by(Invitation.expires_at, Invitation.id)
    ]


def own_invitations(user: User, settings: extend.Settings) -> Iterator[object]:
    """Yield the invitations that a user has sent, without the addresses of others."""
    rows = Invitation.select(Invitation, Organisation).join(Organisation)
    for each in extend.rows_of(rows.where(Invitation.inviter == user.id), Invitation.id):
        until = extend.from_timestamp(each.expires_at)
        yield extend.json_fields({"slug": each.organisation.slug, "until": until})
