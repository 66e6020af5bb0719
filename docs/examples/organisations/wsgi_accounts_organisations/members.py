"""Found organisations, change the roles of members, and remove them.

Each change locks its users, in the order of their ids, and then the organisation. So two admins who
demote each other, or the last two owners who leave, take turns.
"""

import re
from typing import Any

from wsgiauth import extend
from wsgiauth.extend import User, _, database, emit, repeated_after_conflict

from . import errors
from .changes import DELETED, FOUNDED, LEFT, ROLE_CHANGED
from .memberships import Membership, require_membership
from .roles import Role
from .settings import OrganisationsSettings
from .tables import Invitation, Member, Organisation

NAME_MAX, SLUG_MAX = 60, 40  # characters
SLUG = "[a-z0-9](-?[a-z0-9])+"  # ASCII alone, so that no letter looks like that of another script


@repeated_after_conflict
def found(user: User, name: str, slug: str, settings: extend.Settings) -> None:
    """Found an organisation, whose owner is `user`."""
    problems: dict[str, list[str]] = {}
    if not (1 <= len(name) <= NAME_MAX and name.isprintable()):
        problems["name"] = [_("Enter a name of at most 60 characters.")]
    if len(slug) > SLUG_MAX or slug == "join" or not re.fullmatch(SLUG, slug):  # join is a URL
        problems["slug"] = [_("Use 2 to 40 letters a to z and digits, and dashes between them.")]
    if problems:
        raise extend.ValidationError(problems)
    with database.atomic():
        extend.lock_user(user.id)
        now = int(extend.utc_now().timestamp())
        if not extend.insert_new(Organisation, slug=slug, name=name, founded_at=now):
            raise errors.refused("slug_taken")
        organisation: Any = Organisation.get(Organisation.slug == slug)
        add(user, organisation.id, Role.OWNER, settings)
        emit(FOUNDED, user_id=user.id, reason=slug)


def add(user: User, organisation_id: int, role: str, settings: extend.Settings) -> bool:
    """Add a user, whose row is locked; return False for a member."""
    most = OrganisationsSettings.of(settings).ORGANISATIONS_PER_USER
    if most and Member.select().where(Member.user == user.id).count() >= most:
        raise errors.refused("too_many_organisations")
    new = {"organisation": organisation_id, "user": user.id, "role": role}
    return extend.insert_new(Member, **new, joined_at=int(extend.utc_now().timestamp()))


def lock(slug: str, actor: User, *user_ids: int) -> Membership:
    """Lock users and an organisation in a transaction; return the actor's membership as stored."""
    for each in sorted({actor.id, *user_ids}):
        extend.lock_user(each)
    lock_where(Organisation.slug == slug)
    return require_membership(actor, slug)


def lock_where(condition: Any) -> None:
    """Lock an organisation until the transaction ends."""
    Organisation.update(locks=Organisation.locks + 1).where(condition).execute()


@repeated_after_conflict
def change_role(slug: str, actor: User, user_id: int, role: Role) -> None:
    """Give a member a role, or take one from them."""
    with database.atomic():
        own = lock(slug, actor, user_id)
        member = _require_member(own, user_id)
        own.role.require(Role(member.role), role)
        if role is not Role.OWNER:
            _require_other_owner(member)
        if role != member.role:
            Member.update(role=role).where(Member.id == member.id).execute()
            _end_invitations_by(member)  # even if the new role is higher: it is simple and safe
            emit(ROLE_CHANGED, user_id=user_id, reason=f"{slug} {role}")


@repeated_after_conflict
def remove(slug: str, actor: User, user_id: int) -> None:
    """Remove a member. All can remove themselves; with the only one, the organisation ends."""
    with database.atomic():
        own = lock(slug, actor, user_id)
        member = _require_member(own, user_id)
        if user_id != actor.id:
            own.role.require(Role(member.role))
        if _others(member).exists():
            _require_other_owner(member)
            Member.delete().where(Member.id == member.id).execute()
            _end_invitations_by(member)
            emit(LEFT, user_id=user_id, reason=slug)
        else:
            Organisation.delete().where(Organisation.id == own.organisation_id).execute()
            emit(DELETED, user_id=user_id, reason=slug)


def _require_member(own: Membership, user_id: int) -> Any:
    is_here = Member.organisation == own.organisation_id
    found = Member.get_or_none(is_here, Member.user == user_id)
    if found is None:
        raise errors.refused("no_such_member")
    return found


def _others(member: Any) -> Any:
    is_here = Member.organisation == member.organisation_id
    return Member.select().where(is_here, Member.id != member.id)


def _require_other_owner(member: Any) -> None:
    owners = _others(member).where(Member.role == Role.OWNER)
    if member.role == Role.OWNER and not owners.exists():
        raise errors.refused("last_owner")


def _end_invitations_by(member: Any) -> None:
    is_here = Invitation.organisation == member.organisation_id
    Invitation.delete().where(is_here, Invitation.inviter == member.user_id).execute()
