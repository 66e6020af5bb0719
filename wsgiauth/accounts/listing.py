"""Lists of users and of groups; users as documents for JSON."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import peewee

from wsgiauth.accounts import names
from wsgiauth.accounts.domains import domain_of, is_at
from wsgiauth.accounts.groups import Group, groups_of
from wsgiauth.accounts.models import User, has_usernames, is_proven
from wsgiauth.accounts.tables import GroupPermission, Membership, Permission
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import utc_text

PAGE = 500  # users per query
_LAST = "\U0010ffff"  # after every character that a name can have
COUNTED = 1000  # members or permissions of one group, at most


class GroupSize(NamedTuple):
    """The numbers of members and permissions of a group; `COUNTED + 1` stands for more."""

    members: int
    permissions: int


def user_pages(
    prefix: str = "", *, limit: int | None = None, group: Group | None = None
) -> Iterator[list[tuple[User, list[str]]]]:
    """Yield pages of users with their sorted permissions, the oldest account first.

    Each page takes two queries. Memory does not grow with the number of users.

    Args:
        prefix: Only users whose username or email address begins with it, in any letter case, or
            whose address is at this domain; with an `@` before it, only at the domain. With
            USERNAMES=off, a username is found in full alone.
        limit: The maximum number of users.
        group: Only members of this group.
    """
    if len(prefix) > names.EMAIL_MAX_LENGTH or not prefix.isprintable():
        return  # no name can begin with this prefix
    beginning = names.key(prefix)
    query = User.select().order_by(User.id)
    if beginning:
        query = query.where(_matches(prefix, beginning))
    number: Any = User.id
    if group is not None:
        # By the membership, so that the database reads only a page of the index.
        number = Membership.user
        query = query.join(Membership).where(Membership.group == group.id).order_by(number)
    last_id = 0
    while limit is None or limit > 0:
        size = PAGE if limit is None else min(limit, PAGE)
        users = list(query.where(number > last_id).limit(size))
        if users:
            permissions = permissions_by_user([user.id for user in users])
            yield [(user, permissions[user.id]) for user in users]
        if len(users) < size:
            return
        last_id = users[-1].id
        limit = None if limit is None else limit - size


def profile(user: User, settings: Settings) -> dict[str, object]:
    """Return the document for JSON that a user sees about themselves."""
    return {
        **summary(user, sorted(user.permissions), settings),
        "groups": [name for _, name in groups_of(user)],
        "has_password": user.has_password,
        "language": user.language,
    }


def summary(user: User, permissions: list[str], settings: Settings) -> dict[str, object]:
    """Return a user as a document for JSON, with their sorted permissions, without a query."""
    return {
        "id": user.id,
        "username": user.username,
        "label": user.label,
        "email": user.email,
        "email_verified": is_proven(user, settings),
        "is_active": user.is_active,
        "is_staff": user.is_staff,
        "is_superuser": user.is_superuser,
        "created_at": utc_text(user.created_at),
        "permissions": permissions,
    }


def group_documents() -> list[dict[str, object]]:
    """Return all groups, by name, as documents for JSON; with three queries."""
    permissions: dict[int, list[str]] = {}
    for row in GroupPermission.select().order_by(GroupPermission.name):
        permissions.setdefault(row.group_id, []).append(row.name)
    counts: Any = Membership.select(Membership.group, peewee.fn.COUNT(peewee.SQL("*")))
    members: dict[int, int] = dict(counts.group_by(Membership.group).tuples())
    return [
        {
            "name": group.name,
            "members": members.get(group.id, 0),
            "permissions": permissions.get(group.id, []),
        }
        for group in Group.select().order_by(Group.name_key)
    ]


def group_sizes(group_ids: Sequence[int]) -> list[GroupSize]:
    """Return the sizes of groups, in the order given, with one query.

    The query reads at most `COUNTED + 1` entries of an index for each number.
    """
    indexes = (
        (Membership.group, Membership.user),
        (GroupPermission.group, GroupPermission.name),
    )
    counts = [_count(index, group_id) for group_id in group_ids for index in indexes]
    if not counts:
        return []
    row = database.execute(peewee.Select(columns=counts)).fetchone()
    return [GroupSize(*pair) for pair in zip(row[::2], row[1::2], strict=True)]


def _count(index: Sequence[Any], group_id: int) -> Any:
    group = index[0]
    rows = group.model.select(peewee.SQL("1")).where(group == group_id).limit(COUNTED + 1)
    # In the order of the index: otherwise, PostgreSQL can read the table and skip other groups.
    rows = rows.order_by(*index)
    return peewee.Select([rows.alias("counted")], [peewee.fn.COUNT(peewee.SQL("*"))])


def _matches(prefix: str, beginning: str) -> Any:
    domain = domain_of(prefix)
    if domain and prefix.startswith("@"):
        return is_at(domain)
    # A username that people do not see is found in full alone, as an application logs it.
    username = User.username_key
    of_username = _begins(username, beginning) if has_usernames() else username == beginning
    begins = of_username | _begins(User.email_key, beginning)
    return begins | is_at(domain) if "." in domain else begins


def _begins(column: Any, beginning: str) -> Any:
    return (column >= beginning) & (column < beginning + _LAST)


def permissions_by_user(user_ids: list[int]) -> dict[int, list[str]]:
    """Return the permissions of users, also those of their groups, in order; costs one query."""
    own = Permission.select(Permission.user, Permission.name)
    of_groups = Membership.select(Membership.user, GroupPermission.name).join(
        GroupPermission, on=GroupPermission.group == Membership.group
    )
    rows: Any = own.where(Permission.user.in_(user_ids)) | of_groups.where(
        Membership.user.in_(user_ids)
    )
    held: dict[int, list[str]] = {user_id: [] for user_id in user_ids}
    for user_id, name in sorted(rows.tuples()):
        held[user_id].append(name)
    return held
