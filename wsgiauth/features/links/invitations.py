"""Invitations: links to create an account, which prove its email address.

People who register invite themselves; operators, staff and the application invite others. Before
the link is used, there is neither an account nor a password.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from wsgiauth import events, storage
from wsgiauth.accounts import NewAccount, check_names, names, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.accounts.tables import INVITATION, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.one_time import link_url
from wsgiauth.events import actors, kinds
from wsgiauth.settings import Settings
from wsgiauth.staff.administration import invitation_refusal_now
from wsgiauth.storage import database
from wsgiauth.storage.models import utc_now

HOURS = 72  # how long the link of an operator's invitation can be used


class InvitedGroup(NamedTuple):
    """A group that an invited user joins."""

    id: int  # another group can get the name meanwhile
    name: str  # at the time of the invitation, for events

    @classmethod
    def of(cls, group: Group) -> "InvitedGroup":
        """Return a stored group for an invitation."""
        return cls(group.id, group.name)


class Invitation(NamedTuple):
    """An account that its owner can create."""

    email: str
    username: str = ""  # empty: the user chooses one
    is_staff: bool = False
    permissions: tuple[str, ...] = ()
    groups: tuple[InvitedGroup, ...] = ()
    is_requested: bool = False  # the address was typed at /auth/register; otherwise `actor` invites
    actor: str = actors.OWNER  # gives the rights
    is_by_code: bool = False  # a code has proven the address, so that a password is optional
    is_of_staff: bool = False  # `actor` must still have the right to invite when the link is used

    @property
    def gives_rights(self) -> bool:
        """Whether the user becomes staff, gets permissions, or joins groups."""
        return self.is_staff or bool(self.permissions or self.groups)

    @property
    def names(self) -> dict[str, str]:
        """The known names of the account, by field."""
        return {"email": self.email} | ({"username": self.username} if self.username else {})

    def minutes(self, settings: Settings) -> int:
        """Return the lifetime of the link."""
        return settings.LINK_MINUTES if self.is_requested else HOURS * 60


def check_invitation(invitation: Invitation) -> Invitation:
    """Return the invitation with the actor of the context, and the present names of its groups.

    Raises:
        ValidationError: A name breaks a rule; `errors` also reports a taken name.
        TakenError: The address has an account, or another user has the username.
        ValueError: A permission is malformed.
        Group.DoesNotExist: A group was deleted.
    """
    for permission in invitation.permissions:
        names.check_permission(permission)
    groups = tuple(InvitedGroup.of(Group.get_by_id(each.id)) for each in invitation.groups)
    check_names(invitation.names)
    actor = actors.current(storage.current(), None) or actors.OWNER
    return invitation._replace(groups=groups, actor=actor)


def make_invitation_link(
    invitation: Invitation, settings: Settings, *, mount: str, now: float
) -> str:
    """Return a new link to create the account."""
    if not invitation.is_requested:
        one_time.end_about(names.key(invitation.email), INVITATION)  # an inviter can correct one
    secret = one_time.issue(
        INVITATION,
        None,
        now=now,
        lifetime=invitation.minutes(settings) * 60,
        subject=names.key(invitation.email),
        data=json.dumps(invitation._asdict()),
    )
    return link_url(settings, mount, "verify", secret)


def read_invitation(secret: OneTimeSecret) -> Invitation:
    """Return the invitation of a secret."""
    return parse_invitation(secret.data)


def parse_invitation(text: str) -> Invitation:
    """Return the invitation in the JSON of a secret, or of an email with further values."""
    stored = json.loads(text)
    data = {name: stored[name] for name in Invitation._fields if name in stored}
    groups = tuple(InvitedGroup(*each) for each in data.pop("groups", ()))
    return Invitation(**{**data, "permissions": tuple(data["permissions"]), "groups": groups})


def accept_invitation(
    invitation: Invitation,
    secret: OneTimeSecret,
    account: NewAccount,
    hashed_password: str,
    *,
    follow_up: Callable[[User], object] = lambda user: None,
    reason: str | None = None,
) -> User | None:
    """Create the account of an invitation, and end all invitations of its address.

    The actor of the invitation gives the rights, not the user, who has none. `on_registered` of the
    application then sees the rights.

    `follow_up` and `reason` are those of `NewAccount.register`.

    Returns:
        None if the secret was used in the meantime, or if the member of the staff who invited has
        lost the right to invite.

    Raises:
        ValidationError, TakenError, ApplicationError: An answer is refused, a name is taken, or the
            application failed. The secret can still be used.
    """
    with database.atomic():
        refusal = None
        if invitation.is_of_staff:
            actor_id = actors.user_id_of(invitation.actor) or 0
            refusal = invitation_refusal_now(actor_id, gives_rights=invitation.gives_rights)
        if not one_time.use(secret) or refusal is not None:
            return None
        user = account.insert(
            hashed_password,
            reason=reason,
            email_verified_at=utc_now(),
            email_verified_by=PROVEN_BY_LINK,
        )
        follow_up(user)
        with actors.acting(invitation.actor):
            if invitation.is_staff:
                update_user(user, is_staff=True)
            user.grant(*invitation.permissions)
            for group in invitation.groups:
                try:
                    user.join(Group.get_by_id(group.id))
                except Group.DoesNotExist:  # deleted since the invitation
                    reason = f"invited to the group {group.name}, now gone"
                    events.emit(kinds.REFUSED, user_id=user.id, reason=reason)
        account.answers.pass_on(user)
    # After the commit: two links of one address could otherwise wait for each other. If the process
    # is killed before, the account itself makes the links useless.
    one_time.end_about(names.key(invitation.email), INVITATION)
    return user
