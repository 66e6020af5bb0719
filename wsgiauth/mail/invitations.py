"""Invitations: a mail with a link to create an account, whose address the link so proves.

People invite themselves with `request_invitation`, or an operator or the staff with `invite`.
There is no account, and no password is asked for, before the link has been used.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

from wsgiauth import events, storage
from wsgiauth.accounts import find_user, names, update_user
from wsgiauth.accounts.administration import invitation_refusal_now
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User, refuse_names
from wsgiauth.accounts.new_account import NewAccount
from wsgiauth.authentication import one_time
from wsgiauth.authentication.one_time import OneTimeSecret
from wsgiauth.events import actors
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.mail import resets
from wsgiauth.mail.letters import Addressed, Letter, link_url
from wsgiauth.mail.models import Mail
from wsgiauth.mail.outbox import MINUTE, Outbox
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.columns import utc_now

INVITATION = "invitation"  # the kind of the mail, and the purpose of its secret
HOURS = 72  # how long the link of an operator's invitation can be used


class InvitedGroup(NamedTuple):
    """A group that a user is to join.

    Attributes:
        id: Its number. Another group can get its name before the invitation is accepted.
        name: Its name when it was invited to, for events.
    """

    id: int
    name: str

    @classmethod
    def of(cls, group: Group) -> "InvitedGroup":
        """Return that of a stored group."""
        return cls(group.id, group.name)


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """An account that its owner is to create.

    Attributes:
        email: The address that is invited, which becomes that of the account.
        username: The user's name; empty if the user is to choose one.
        is_staff: See `User`.
        permissions: Those that the user gets.
        groups: Those that the user joins, if they still exist then.
        is_requested: Whether someone typed the address at /auth/register. Otherwise an operator
            invites.
        actor: Who invites, and so gives the rights; see `events.actors`.
        is_of_staff: Whether `actor` is a member of the staff, who invites in the panel and must
            still have the right to when the link is used.
    """

    email: str
    username: str = ""
    is_staff: bool = False
    permissions: tuple[str, ...] = ()
    groups: tuple[InvitedGroup, ...] = ()
    is_requested: bool = False
    actor: str = actors.OWNER
    is_of_staff: bool = False

    @property
    def gives_rights(self) -> bool:
        """Whether the user is to be a member of the staff, gets permissions, or joins groups."""
        return self.is_staff or bool(self.permissions or self.groups)

    @property
    def names(self) -> dict[str, str]:
        """The names of the account that are known, by field."""
        return {"email": self.email} | ({"username": self.username} if self.username else {})


@dataclass(frozen=True, kw_only=True)
class InvitationLetter(Letter):
    """The mail with the link to create an account.

    It shows no username, because anyone can type one that mail software makes a link of.

    Attributes:
        link: The link.
        minutes: How long it can be used.
        is_requested: See `Invitation`.
    """

    template = "mail/invitation.txt"

    link: str = field(repr=False)
    minutes: int
    is_requested: bool


SAMPLES = (
    InvitationLetter(
        link="https://example.org/auth/verify?token=example", minutes=60, is_requested=True
    ),
    InvitationLetter(
        link="https://example.org/auth/verify?token=example",
        minutes=HOURS * MINUTE,
        is_requested=False,
    ),
)


def request_invitation(outbox: Outbox, username: str, email: str, *, mount: str) -> None:
    """Ask for an invitation to an address; nothing tells whether it has an account.

    Args:
        outbox: The site's.
        username, email: As typed; they keep the rules for names.
        mount: The path of /auth on the site.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    _enqueue(outbox, Invitation(email=email, username=username, is_requested=True), mount)


def invite(
    invitation: Invitation, outbox: Outbox | None, settings: Settings, *, mount: str, now: float
) -> str | None:
    """Invite an address that has no account, and report it.

    Args:
        invitation: The operator's.
        outbox: The site's; None if it sends no mail.
        settings: The source of `PUBLIC_URL`.
        mount: The path of /auth on the site.
        now: Seconds since the epoch.

    Returns:
        The link, for the operator to hand over; None if a mail is sent.

    Raises:
        ValidationError: A name breaks a rule; `errors` also reports a taken name.
        TakenError: The address has an account, or another user has the username.
        ValueError: A permission is malformed.
        Group.DoesNotExist: A group was deleted.
        ConfigurationError: There is no mail, and no PUBLIC_URL for a link.
        peewee.DatabaseError: The database failed.
    """
    if outbox is None and settings.PUBLIC_URL is None:
        raise ConfigurationError(
            "PUBLIC_URL must be set, because the link of the invitation begins with it."
        )
    for permission in invitation.permissions:
        names.check_permission(permission)
    groups = tuple(InvitedGroup.of(Group.get_by_id(each.id)) for each in invitation.groups)
    refuse_names(invitation.names, names.name_errors(invitation.names))
    actor = actors.current(storage.current(), None) or actors.OWNER
    invitation = replace(invitation, groups=groups, actor=actor)
    with database.atomic():
        _report(invitation, is_printed=outbox is None)
        if outbox is None:
            return _link(invitation, settings, mount=mount, now=now)
        _enqueue(outbox, invitation, mount)
        return None


def compose(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the mail to an address that was named.

    An account that has the address meanwhile gets nothing, or if someone typed the address, the
    mail to choose a new password.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    data = json.loads(mail.data)
    mount = data.pop("mount")
    invitation = Invitation(**data)
    if find_user(invitation.email) is not None:
        return resets.compose(mail, settings, now) if invitation.is_requested else None
    letter = InvitationLetter(
        link=_link(invitation, settings, mount=mount, now=now),
        minutes=_minutes(invitation, settings),
        is_requested=invitation.is_requested,
    )
    return Addressed(letter, invitation.email, None)


def read_invitation(secret: OneTimeSecret) -> Invitation:
    """Return the invitation that a secret was made for."""
    data = json.loads(secret.data.partition(" ")[2])
    groups = tuple(InvitedGroup(*each) for each in data.pop("groups", ()))
    return Invitation(**{**data, "permissions": tuple(data["permissions"]), "groups": groups})


def accept(invitation: Invitation, secret: OneTimeSecret, account: NewAccount) -> User | None:
    """Create the account of an invitation, and end all invitations of its address.

    The rights are given by who invited, and not by the user, who has none.

    Args:
        invitation: What `read_invitation` returned.
        secret: That of the link.
        account: The account, with the address of the invitation.

    Returns:
        None if the secret was used in the meantime, or if the member of the staff who invited does
        not have the right to any more.

    Raises:
        ValidationError: A rule is broken; the secret can still be used.
        TakenError: Another user has the name or the address; the secret can still be used.
        peewee.DatabaseError: The database failed.
    """
    account.check()
    hashed_password = account.hash_password()
    with database.atomic():
        is_revoked = invitation.is_of_staff and not _is_still_allowed(invitation)
        if not one_time.use(secret) or is_revoked:
            return None
        user = account.insert(hashed_password, email_verified_at=utc_now())
        with actors.acting(invitation.actor):
            if invitation.is_staff:
                update_user(user, is_staff=True)
            user.grant(*invitation.permissions)
            for group in invitation.groups:
                _join(user, group)
    # After the commit, because two links of one address could otherwise wait for each other. If
    # the process is killed before, the account itself makes the links useless.
    _end_invitations(invitation.email)
    return user


def _join(user: User, group: InvitedGroup) -> None:
    try:
        user.join(Group.get_by_id(group.id))
    except Group.DoesNotExist:  # deleted since the invitation
        reason = f"invited to the group {group.name}, now gone"
        events.emit("refused", user_id=user.id, reason=reason)


def _is_still_allowed(invitation: Invitation) -> bool:
    inviting_id = actors.user_id_of(invitation.actor) or 0
    return invitation_refusal_now(inviting_id, gives_rights=invitation.gives_rights) is None


def _report(invitation: Invitation, *, is_printed: bool) -> None:
    """Write who invites with which rights; the account is reported when its owner creates it."""
    rights = ["is_staff"] if invitation.is_staff else []
    rights += [*invitation.permissions, *(f"group {each.name}" for each in invitation.groups)]
    words = [INVITATION, *rights, *(["printed"] if is_printed else [])]
    events.emit("link_sent", reason=", ".join(words))


def _enqueue(outbox: Outbox, invitation: Invitation, mount: str) -> None:
    outbox.enqueue(INVITATION, name=invitation.email, data={**asdict(invitation), "mount": mount})


def _link(invitation: Invitation, settings: Settings, *, mount: str, now: float) -> str:
    """Return a new link to create the account."""
    if not invitation.is_requested:
        _end_invitations(invitation.email)  # the operator can correct one
    data = f"{_digest(invitation.email)} {json.dumps(asdict(invitation))}"
    lifetime = _minutes(invitation, settings) * MINUTE
    secret = one_time.issue(INVITATION, None, now=now, lifetime=lifetime, data=data)
    return link_url(settings, mount, "verify", secret)


def _minutes(invitation: Invitation, settings: Settings) -> int:
    return settings.LINK_MINUTES if invitation.is_requested else HOURS * 60


def _end_invitations(email: str) -> None:
    # By id, because MariaDB locks every row that a DELETE reads.
    of_address = OneTimeSecret.select(OneTimeSecret.id).where(
        OneTimeSecret.user.is_null(),
        OneTimeSecret.purpose == INVITATION,
        OneTimeSecret.data.startswith(_digest(email)),
    )
    ids = [row.id for row in of_address]
    if ids:
        with database.atomic():
            OneTimeSecret.delete().where(OneTimeSecret.id.in_(ids)).execute()


def _digest(email: str) -> str:
    return hashlib.sha256(names.key(email).encode()).hexdigest()
