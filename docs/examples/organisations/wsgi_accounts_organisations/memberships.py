"""Who is a member of what: the questions, of which none changes anything."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from wsgiauth import extend
from wsgiauth.extend import User, counted

from .roles import Role
from .tables import Member, Organisation

MOST_IN_CLAIM = 20  # a token has little space: the organisations that the user joined first


class Membership(NamedTuple):
    """A user's place in an organisation."""

    organisation_id: int
    slug: str
    name: str
    role: Role
    joined_at: datetime


def memberships_of(user: User, most: int | None = None) -> list[Membership]:
    """Return the memberships of a user, the oldest first."""
    return [_membership(each) for each in _select(user).order_by(Member.id).limit(most)]


def require_membership(user: User, slug: str) -> Membership:
    """Return the membership of a user; raise NotFoundError, also if there is no organisation."""
    row = _select(user).where(Organisation.slug == slug).first()
    if row is None:
        raise extend.NotFoundError
    return _membership(row)


def document(row: Any) -> dict[str, object]:
    """Return a named tuple, such as a membership, ready for JSON."""
    return extend.json_fields(row._asdict())


def own_memberships(user: User, settings: extend.Settings) -> Iterator[object]:
    """Yield the memberships for the file of a person's own data."""
    return (document(_membership(each)) for each in extend.rows_of(_select(user), Member.id))


def claim_of(user: User, app: object = None, scopes: Collection[str] = ("groups",)) -> object:
    """Return the roles by slug for a token, or for an app that can see the groups of a user."""
    roles = {each.slug: str(each.role) for each in memberships_of(user, MOST_IN_CLAIM)}
    return roles if roles and "groups" in scopes else None


def inactive_owners(site: extend.Site) -> Iterator[extend.Finding]:
    """Find organisations that no owner can change, for `python -m wsgiauth check`."""
    owners = Member.select(Member.organisation).join(User)
    active = owners.where(Member.role == Role.OWNER, User.is_active)
    count = Organisation.select().where(Organisation.id.not_in(active)).count()
    if count:
        yield extend.Finding(f"The owners of {counted(count, 'organisation')} are inactive.")


def _select(user: User) -> Any:
    return Member.select(Member, Organisation).join(Organisation).where(Member.user == user.id)


def _membership(row: Any) -> Membership:
    found, since = row.organisation, extend.from_timestamp(row.joined_at)
    return Membership(found.id, found.slug, found.name, Role(row.role), since)
