"""Changes of accounts by members of the staff, and the rights for them: see docs/staff.md.

Each change locks and reads the users again before it decides, because an earlier read can be
outdated.
"""

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import NamedTuple, Self, TypeVar

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.listing import permissions_by_user
from wsgiauth.accounts.locks import change_locked
from wsgiauth.accounts.models import User
from wsgiauth.events import kinds
from wsgiauth.exceptions import ForbiddenError
from wsgiauth.messages import _
from wsgiauth.storage import database

MANAGE_USERS = "wsgiauth.manage_users"

# Rights, in events.
TO_CHANGE_AN_ACCOUNT = "to change an account"
TO_CHANGE_A_GROUP = "to change a group"
TO_INVITE = "to invite"

ONLY_SUPERUSERS = _("Only superusers can change groups.")
_DELETED = _("Your account has been deleted.")

_Result = TypeVar("_Result")


class Right(Enum):
    """The right that a member of the staff needs for a change.

    Example:
        right = Right.MANAGE
    """

    SUPPORT = auto()  # to revoke sessions or to send a link, without a change of the account
    MANAGE = auto()  # to activate and deactivate an account
    GOVERN = auto()  # to change flags, permissions and groups, and to delete an account


class Party(NamedTuple):
    """A user who makes or undergoes a change, with their permissions."""

    user: User
    permissions: frozenset[str]  # also those of the user's groups

    @classmethod
    def read(cls, user_id: int) -> Self:
        """Return a user as stored, or raise User.DoesNotExist."""
        user = User.get_by_id(user_id)
        return cls(user, user.permissions)


def refusal_reason(right: Right, actor: Party, target: Party) -> str | None:
    """Return why `actor` cannot change `target`, for people, or None."""
    if not (actor.user.is_active and actor.user.is_staff):
        return _("Only members of the staff can change other accounts.")
    if actor.user.id == target.user.id:
        if right is Right.SUPPORT:
            return None
        return _("You cannot change your own account here: ask another superuser.")
    if actor.user.is_superuser:
        return None
    if right is Right.GOVERN:
        return _("Only superusers can make this change.")
    if MANAGE_USERS not in actor.permissions:
        return _("This change needs the permission %(permission)s.", permission=MANAGE_USERS)
    if target.user.is_staff or target.user.is_superuser:
        return _("Only superusers can change members of the staff and superusers.")
    if not target.permissions <= actor.permissions:
        return _("This user has permissions that you do not have: ask a superuser.")
    return None


def party_of(member: User) -> Party:
    """Return a member of the staff who makes a change."""
    # Do not read the permissions of a superuser: they do not matter.
    return Party(member, frozenset() if can_govern(member) else member.permissions)


def general_refusal(right: Right, member: User) -> str | None:
    """Return why a member of the staff cannot even change a user without rights, or None.

    Example:
        general_refusal(Right.MANAGE, user) is None
    """
    return refusal_reason(right, party_of(member), Party(User(), frozenset()))


def changeable(right: Right, actor: User, user_ids: Iterable[int]) -> frozenset[int]:
    """Return the ids of the users that `actor` can change; costs at most two queries."""
    ids = list(user_ids)
    party = party_of(actor)
    if not ids or can_govern(actor):
        return frozenset(ids)
    users = User.select().where(User.id.in_(ids))
    permissions = permissions_by_user(ids)
    targets = [Party(each, frozenset(permissions[each.id])) for each in users]
    return frozenset(each.user.id for each in targets if refusal_reason(right, party, each) is None)


def administer(
    actor: User,
    user: User,
    right: Right,
    change: Callable[[User], _Result],
    *,
    is_removal: bool = False,
) -> _Result:
    """Call `change` with the user as stored, in a transaction, and return its result.

    Args:
        actor: The member of the staff.
        is_removal: Whether `change` can take away a superuser.

    Raises:
        ForbiddenError: The actor does not have the right.
        LastSuperuserError: No active superuser would remain.
        User.DoesNotExist: The user has been deleted.

    Example:
        def give(stored: User) -> bool:
            return insert_new(Badge, user=stored.id, name="kind")

        is_given = administer(user, ada, Right.MANAGE, give)
    """

    def check() -> None:
        target = Party.read(user.id)
        try:
            reason = refusal_reason(right, Party.read(actor.id), target)
        except User.DoesNotExist:
            reason = _DELETED
        if reason is not None:
            raise refused(actor, TO_CHANGE_AN_ACCOUNT, reason)

    def change_stored() -> _Result:
        return change(User.get_by_id(user.id))

    return change_locked(user, change_stored, is_removal=is_removal, actor=actor, check=check)


def administer_groups(actor: User, change: Callable[[], _Result]) -> _Result:
    """Change groups in a transaction; raise ForbiddenError if the actor is not a superuser."""
    return govern(actor, change, right=TO_CHANGE_A_GROUP, reason=ONLY_SUPERUSERS)


def govern(actor: User, change: Callable[[], _Result], *, right: str, reason: str) -> _Result:
    """Call `change` in a transaction, for a superuser, and return its result.

    Args:
        actor: The member of the staff.
        right: Which right it needs, for the event about a refusal.
        reason: Why others cannot make the change, for people.

    Raises:
        ForbiddenError: The actor is not a superuser in the staff.
    """
    with database.atomic():
        present = lock_user(actor.id)
        if present is None or not can_govern(present):
            raise refused(actor, right, reason)
        return change()


def invitation_refusal(actor: Party, *, gives_rights: bool) -> str | None:
    """Return why `actor` cannot invite a person, for people, or None.

    `gives_rights`: whether the account joins the staff or groups, or gets permissions.
    """
    if not (actor.user.is_active and actor.user.is_staff):
        return _("Only members of the staff can invite people.")
    if actor.user.is_superuser:
        return None
    if MANAGE_USERS not in actor.permissions:
        return _("Inviting people needs the permission %(permission)s.", permission=MANAGE_USERS)
    if gives_rights:
        return _("Only superusers can invite members of the staff, or give permissions or groups.")
    return None


def administer_invitation(
    actor: User, change: Callable[[], _Result], *, gives_rights: bool
) -> _Result:
    """Insert or end invitations by `change` in a transaction, or raise ForbiddenError."""
    with database.atomic():
        reason = invitation_refusal_now(actor.id, gives_rights=gives_rights)
        if reason is not None:
            raise refused(actor, TO_INVITE, reason)
        return change()


def invitation_refusal_now(actor_id: int, *, gives_rights: bool) -> str | None:
    """Lock the user who invites, and return why they cannot invite now, for people, or None."""
    present = lock_user(actor_id)
    if present is None:
        return _DELETED
    return invitation_refusal(Party(present, present.permissions), gives_rights=gives_rights)


def refused(actor: User, right: str, detail: str) -> ForbiddenError:
    """Report that a user lacks a right, such as `TO_INVITE`; return the exception to raise."""
    events.emit(kinds.REFUSED, user_id=actor.id, reason=f"lacks the right {right}")
    return ForbiddenError(detail)


def can_govern(user: User) -> bool:
    """Return whether a user can make changes that need `Right.GOVERN`."""
    return user.is_active and user.is_staff and user.is_superuser
